/** What helps against a reason for waiting: the same commands that `petrel why` prints. */
import { quoted } from '../../../ui/shell.ts'
import type { Reason, Wait } from '../model.ts'

type Facts = Readonly<Record<string, unknown>>

/** `id`: of the instance that waits. null: nothing but time, or work, helps. */
export function commandFor(reason: Reason, id: string): string | null {
  const facts = reason as Facts
  const word = (name: string): string => quoted(String(facts[name] ?? ''))
  switch (reason.kind) {
    case 'idle':
      return `petrel start ${id}`
    case 'gate':
      return `petrel approve ${word('gate')}`
    case 'admission':
      return `petrel context ${word('instance')} NAME=JSON`
    case 'disabled':
      return `petrel registry enable ${word('type')}`
    case 'retry':
    case 'scheduled':
      return `petrel retry-now ${id}`
    case 'completion':
    case 'activation':
      return `petrel show ${word('run')}`
    case 'worker':
      return `petrel worker --handlers MODULE --types ${word('type')}`
    case 'paused':
      return resumeCommand(facts, word)
    default:
      return null
  }
}

function resumeCommand({ what }: Facts, word: (name: string) => string): string {
  if (what === 'instance') return `petrel resume ${word('instance')}`
  if (what === 'definition') return `petrel definitions resume ${word('definition')}`
  if (what === 'type') return `petrel registry resume ${word('type')}`
  return `petrel queues --resume ${word('queue')}`
}

/** The nested workflow that a step waits for, with the first of its own waits; null: it waits for something else. */
export function nestedIn(reason: Reason): { readonly id: string; readonly waits: readonly Wait[] } | null {
  if (reason.kind !== 'child') return null
  const { child, waits } = reason as unknown as {
    readonly child: { readonly id: string }
    readonly waits: readonly Wait[]
  }
  return { id: child.id, waits }
}
