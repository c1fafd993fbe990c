/** The name of a boundary event. The notation has had several for each: they all compare equal to it. */
import { Alias, type Face } from '../../../expr/index.ts'

const ALIASES: ReadonlyMap<string, readonly string[]> = new Map([
  ['step.done', ['step.done', 'call.done', 'step.exit']],
  ['step.failed', ['step.failed', 'call.error']],
])

export function eventName(name: string): Face {
  const names = ALIASES.get(name)
  return names === undefined ? name : new EventName(name, names)
}

class EventName extends Alias {
  readonly plain: string
  override readonly names: readonly string[]

  constructor(name: string, names: readonly string[]) {
    super()
    this.plain = name
    this.names = names
  }

  key(): Face {
    return undefined
  }
}
