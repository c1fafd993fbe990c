/**
 * What the seven states do not express: that a completed workflow was rolled back, a failed one cancelled, timed out or
 * partly rolled back, and which people a blocked one waits for. A condition exists only while it has something to
 * report.
 */

import type { InstanceRow } from '../../../model/rows.ts'
import type { Failure } from '../../../net/marking.ts'
import type { StepView } from '../../../views/steps.ts'

export interface Condition {
  readonly type: 'Blocked' | 'TimedOut' | 'Cancelled' | 'RolledBack' | 'PartiallyRolledBack'
  /** Unknown: in progress. */
  readonly status: 'True' | 'False' | 'Unknown'
  readonly reason: string
  readonly message: string
  readonly lastTransitionTime: string
}

/** The most names in one message. */
const MOST_NAMED = 10

export interface Circumstances {
  readonly instance: InstanceRow
  readonly steps: readonly StepView[]
  readonly error: (Failure & { readonly node?: string | null }) | null
  readonly undoError: (Failure & { readonly node?: string | null }) | null
  /** When a cancel was requested. */
  readonly cancelledAt: number | null
}

export function conditionsOf(c: Circumstances): readonly Condition[] {
  const { instance } = c
  const found: Condition[] = []
  const add = (type: Condition['type'], status: Condition['status'], reason: string, message: string, at: number) =>
    found.push({ type, status, reason, message, lastTransitionTime: new Date(at).toISOString() })
  const ended = instance.endedAt
  if (instance.state === 'waiting') {
    const open = c.steps.filter(({ gate }) => gate?.state === 'open')
    const names = listed(open.map(({ node }) => node.key))
    add('Blocked', 'True', 'ApprovalRequired', `waits for a decision: ${names}`, lastMove(c))
  }
  if (instance.reason === 'deadline' || instance.outcome === 'timed_out') {
    const message = c.error?.message ?? 'it did not end by its deadline'
    add('TimedOut', 'True', 'DeadlineExceeded', message, ended ?? lastMove(c))
  }
  if (instance.state === 'cancelling') {
    const message = `cancelled; ${instance.open} active have to end first`
    add('Cancelled', 'Unknown', 'Cancelling', message, c.cancelledAt ?? instance.createdAt)
  }
  if (instance.state === 'cancelled') {
    add('Cancelled', 'True', 'CancelRequested', 'cancelled on request', c.cancelledAt ?? ended ?? instance.createdAt)
  }
  const { undone, left } = rollback(c.steps)
  if (instance.state === 'compensating') {
    const message = `${failedAt(c)}; undone so far: ${listed(undone)}`
    add('RolledBack', 'Unknown', 'Compensating', message, lastMove(c))
  }
  if (instance.outcome === 'rolled_back') {
    add('RolledBack', 'True', 'Compensated', `${failedAt(c)}; undone: ${listed(undone)}`, ended ?? instance.createdAt)
  }
  if (instance.outcome === 'rolled_back_partial') {
    const at = ended ?? instance.createdAt
    const second = c.undoError
    const undoing = second?.node == null ? 'the rollback failed' : `the undo of ${second.node} failed`
    const message =
      `${failedAt(c)}; undone: ${listed(undone)}; ${undoing}: ${second?.message ?? 'unknown reason'}; ` +
      `not undone: ${listed(left)}`
    add('RolledBack', 'False', 'CompensationFailed', message, at)
    add('PartiallyRolledBack', 'True', 'CompensationFailed', message, at)
  }
  return found
}

/** Steps that were undone, in that order, and completed ones that have a compensation but were not undone. */
export function rollback(steps: readonly StepView[]): {
  readonly undone: readonly string[]
  readonly left: readonly string[]
} {
  const done = steps.filter(({ undo }) => undo?.status === 'succeeded')
  // One at a time, so in the order of creation, which ids show even within a millisecond.
  done.sort((a, b) => ((a.undo?.id ?? '') < (b.undo?.id ?? '') ? -1 : 1))
  const left = steps.filter(
    ({ node, state, undo }) => state === 'completed' && node.undo !== null && undo?.status !== 'succeeded',
  )
  return { undone: done.map(({ node }) => node.key), left: left.map(({ node }) => node.key) }
}

function failedAt({ error }: Circumstances): string {
  if (error === null) return 'stopped'
  return error.node == null ? error.message : `${error.node} failed: ${error.message}`
}

/** The time of the last known change. */
function lastMove({ instance, steps }: Circumstances): number {
  const times = steps.flatMap(({ gate, endedAt, undo }) => [gate?.createdAt ?? 0, endedAt ?? 0, undo?.createdAt ?? 0])
  return times.reduce((latest, at) => Math.max(latest, at), instance.createdAt)
}

function listed(names: readonly string[]): string {
  if (names.length === 0) return 'nothing'
  const more = names.length - MOST_NAMED
  return names.slice(0, MOST_NAMED).join(', ') + (more > 0 ? ` and ${more} more` : '')
}
