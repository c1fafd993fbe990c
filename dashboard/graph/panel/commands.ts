/** The command that helps with a reason to wait, where there is one. docs/why.md lists the kinds of reasons. */
import { quoted } from '../../ui/actions.tsx'

export interface Reason {
  readonly kind: string
  readonly text: string
  readonly [fact: string]: unknown
}

export interface ReasonLine {
  readonly text: string
  readonly command: string | null
  /** How many nested workflows it is inside. */
  readonly depth: number
}

/** A nested workflow waits for something itself, and so on: the reasons inside follow their own. */
export function reasonLines(reasons: readonly Reason[], depth = 0): readonly ReasonLine[] {
  return reasons.flatMap((reason) => {
    const line = { text: reason.text, command: commandFor(reason), depth }
    if (reason.kind !== 'child' || !Array.isArray(reason['waits'])) return [line]
    const inside = (reason['waits'] as readonly Wait[]).flatMap(({ node, reasons: own }) =>
      reasonLines(own, depth + 1).map((one) => (one.depth === depth + 1 ? named(one, node) : one)),
    )
    return [line, ...inside]
  })
}

interface Wait {
  readonly node: string | null
  readonly reasons: readonly Reason[]
}

function named(line: ReasonLine, node: string | null): ReasonLine {
  return node === null ? line : { ...line, text: `${node}: ${line.text}` }
}

export function commandFor(reason: Reason): string | null {
  const fact = (name: string): string | null => {
    const value = reason[name]
    return typeof value === 'string' && value !== '' ? quoted(value) : null
  }
  const command = (words: string, name: string): string | null => {
    const value = fact(name)
    return value === null ? null : `petrel ${words} ${value}`
  }
  switch (reason.kind) {
    case 'gate':
      return command('approve', 'gate')
    case 'admission':
      return fact('instance') === null ? null : `petrel context ${fact('instance')} NAME=JSON`
    case 'paused':
      return resume(reason['what'], fact)
    case 'disabled':
      return command('registry enable', 'type')
    case 'retry':
    case 'scheduled':
      return command('retry-now', 'run')
    case 'lease':
      return command('cancel', 'run')
    case 'child': {
      const child = reason['child'] as { readonly id?: unknown } | undefined
      return typeof child?.id === 'string' ? `petrel why ${child.id}` : null
    }
    default:
      return null
  }
}

function resume(what: unknown, fact: (name: string) => string | null): string | null {
  switch (what) {
    case 'instance':
      return `petrel resume ${fact('instance')}`
    case 'definition':
      return `petrel definitions resume ${fact('definition')}`
    case 'type':
      return `petrel registry resume ${fact('type')}`
    case 'queue':
      return `petrel queues --resume ${fact('queue')}`
    default:
      return null
  }
}
