/**
 * What an action would refuse, as far as the row of an instance or a run shows it: for previews. The action itself decides
 * again, by the state at that time.
 */
import type { Action, Target } from '../../model/bulk/rows.ts'
import type { InstanceRow, RunRow } from '../../model/rows.ts'
import { TERMINAL } from '../../net/marking.ts'

/** null: nothing speaks against it. */
export function refusalOfInstance(action: Action, row: InstanceRow): string | null {
  const { state, phase, outcome, parentId, parentNode, paused } = row
  const ended = TERMINAL.has(state)
  switch (action) {
    case 'cancel':
      if (ended || state === 'cancelling') return `it is already ${state}`
      return phase === 'undo' || state === 'compensating' ? 'it is undoing its work' : null
    case 'roll_back':
      if (ended) return `it is already ${state}`
      return phase === 'forward' ? null : 'it is ending already'
    case 'retry':
      if (!ended) return `it is still ${state}`
      if (state === 'completed' && outcome === 'success') return 'it completed'
      return parentNode === null ? null : 'it is nested'
    case 'delete':
      if (!ended) return `it is still ${state}`
      return parentId === null ? null : 'it is nested'
    case 'pause':
      if (ended) return `it is already ${state}`
      if (paused !== null) return 'it is paused already'
      return parentId === null ? null : 'it is nested'
    case 'resume':
      if (paused === null) return 'it is not paused'
      return parentId === null ? null : 'it is nested'
    default:
      return null
  }
}

export function refusalOfRun(action: Action, row: RunRow): string | null {
  const { status, deadLetter } = row
  switch (action) {
    case 'cancel':
      return status === 'pending' || status === 'leased' ? null : `it is already ${status}`
    case 'redrive':
      return status === 'failed' || status === 'cancelled' ? null : `it is ${status}`
    case 'delete':
      return status === 'leased' ? 'a worker holds it' : null
    case 'dismiss':
      return deadLetter ? null : 'it is no dead letter'
    default:
      return null
  }
}

export const ACTIONS: Readonly<Record<Target, readonly Action[]>> = {
  instances: ['cancel', 'roll_back', 'retry', 'pause', 'resume', 'delete'],
  runs: ['cancel', 'redrive', 'delete', 'dismiss'],
}
