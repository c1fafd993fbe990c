/** Commands for their publishers: those in the store, and notifications of new ones. */
import type { Commands, EngineCommands } from '../../model/commands.ts'

export class StoredCommands implements EngineCommands {
  readonly take: Commands['take']
  readonly confirm: Commands['confirm']
  readonly renew: Commands['renew']
  readonly nextDueAt: Commands['nextDueAt']
  readonly of: Commands['of']
  readonly ofInstance: Commands['ofInstance']
  readonly refused: Commands['refused']
  readonly #listeners = new Set<() => void>()

  constructor(commands: Commands) {
    this.take = (p) => commands.take(p)
    this.confirm = (p) => commands.confirm(p)
    this.renew = () => commands.renew()
    this.nextDueAt = () => commands.nextDueAt()
    this.of = (p) => commands.of(p)
    this.ofInstance = (p) => commands.ofInstance(p)
    this.refused = commands.refused
  }

  onStored(listener: () => void): () => void {
    // A function of its own, so that a listener that is added twice is called twice.
    const entry = (): void => listener()
    this.#listeners.add(entry)
    return () => this.#listeners.delete(entry)
  }

  announce(): void {
    for (const listener of this.#listeners) listener()
  }
}
