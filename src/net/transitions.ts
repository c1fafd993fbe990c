/**
 * Which state of an instance may follow which. Every change of state asks here (`Draft.enter`), and so do callers that
 * want one; nothing else decides it.
 *
 *   idle ──► queued ──► running ◄──► waiting          waits to be started, for a slot, at work, for somebody's word
 *                          ├──► cancelling ──► cancelled
 *                          ├──► compensating ──► compensated
 *                          └──► completed, failed
 *
 * An instance that never began may be cancelled at once, and one in the queue runs into its deadline. What is undoing
 * its work never goes back to work, and what has ended stays as it ended. The one exception is not in the table: an
 * instance whose net stops at a doubt is continued in place, forward or back, by an operator (`mayResume`) or by the
 * answer that removes the doubt (resume.ts).
 */
import type { DrainReason, InstanceState, Marking } from './marking.ts'
import type { Net } from './net.ts'

const FOLLOWERS: { readonly [S in InstanceState]: readonly InstanceState[] } = {
  idle: ['queued', 'cancelled'],
  queued: ['running', 'cancelled', 'failed'],
  running: ['waiting', 'cancelling', 'compensating', 'completed', 'failed'],
  waiting: ['running', 'cancelling'],
  cancelling: ['cancelled', 'failed'],
  compensating: ['compensated', 'failed'],
  completed: [],
  failed: [],
  cancelled: [],
  compensated: [],
}

export function followersOf(state: InstanceState): readonly InstanceState[] {
  return FOLLOWERS[state]
}

export function mayFollow(from: InstanceState, to: InstanceState): boolean {
  return FOLLOWERS[from].includes(to)
}

/** Only what stopped at a doubt, or whose net would have, goes on in place; any other failed instance is retried as a new one. */
export function mayResume(
  net: Net,
  { state, reason, outcome }: Pick<Marking, 'state' | 'reason' | 'outcome'>,
): boolean {
  if (state !== 'failed') return false
  return outcome === 'rolled_back_partial' ? undoesInPlace(net) : stopsResumably(net, reason)
}

/**
 * Whether a rollback of this net that stopped can continue in place. Its work may be in doubt, so what is not known to
 * be undone is remembered. A child has told its parent how it ended, finals have run, and a budget for the undo has
 * passed: none of these goes back.
 */
export function undoesInPlace(net: Net): boolean {
  const stops = net.unknown === 'stop' || net.nodes.some((node) => node.unknown === 'stop')
  return stops && net.finals.length === 0 && net.undoTimeoutMs === null && !hasChildren(net)
}

/**
 * Past its deadline such a net undoes at once what is known to be done, while it still waits for answers: work in doubt
 * has its own deadline.
 */
export function undoesAtOnce(net: Net, { reason }: Pick<Marking, 'reason'>): boolean {
  return reason === 'deadline' && undoFollows(net, { reason }) && undoesInPlace(net)
}

/** Whether what drains for this reason undoes its work. */
export function undoFollows(net: Net, { reason }: Pick<Marking, 'reason'>): boolean {
  return reason === 'compensate' || (reason === 'deadline' && net.onFailure === 'compensate')
}

export function hasChildren(net: Net): boolean {
  return net.nodes.some(({ work }) => work.kind === 'child' || (work.kind === 'each' && work.body?.kind !== 'run'))
}

/** Whether what drains for this reason may go on in place once it has ended. */
export function stopsResumably(net: Net, reason: DrainReason | null): boolean {
  const ended = reason === 'failure' || (reason === 'deadline' && !undoFollows(net, { reason }))
  const stops = reason === 'stop' || (ended && net.unknown === 'stop')
  return stops && net.finals.length === 0
}

/** It holds its slot from when it begins until it has ended. */
export function isExecuting(state: InstanceState): boolean {
  return state === 'running' || state === 'waiting' || state === 'cancelling' || state === 'compensating'
}
