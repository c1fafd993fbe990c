/**
 * Which state of an instance may follow which. Every change of state is checked here (`Draft.enter`), and so is every
 * request for one; nothing else decides it.
 *
 *   idle ──► queued ──► running ◄──► waiting          waits to be started, for a quota, at work, for an answer
 *                          ├──► cancelling ──► cancelled
 *                          ├──► compensating ──► compensated
 *                          └──► completed, failed
 *
 * An instance that never began may be cancelled at once, and one in the queue can miss its deadline. An instance that
 * undoes its work never returns to running, and an ended one keeps its state. The one exception is not in the table: an
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

/**
 * Only an instance that stopped at a doubt, or whose net would have, continues in place; any other failed instance is
 * retried as a new one.
 */
export function mayResume(
  net: Net,
  { state, reason, outcome }: Pick<Marking, 'state' | 'reason' | 'outcome'>,
): boolean {
  if (state !== 'failed') return false
  return outcome === 'rolled_back_partial' ? undoesInPlace(net) : stopsResumably(net, reason)
}

/**
 * Whether a stopped rollback of this net can continue in place. Its work may be in doubt, so work that is not known to
 * be undone is remembered. A child has reported its end to its parent, finals have run, and a budget for the undo has
 * passed: none of these can be taken back.
 */
export function undoesInPlace(net: Net): boolean {
  const stops = net.unknown === 'stop' || net.nodes.some((node) => node.unknown === 'stop')
  return stops && net.finals.length === 0 && net.undoTimeoutMs === null && !hasChildren(net)
}

/**
 * Past its deadline such a net at once undoes all work known to be done, while it still waits for answers: work in
 * doubt has its own deadline.
 */
export function undoesAtOnce(net: Net, { reason }: Pick<Marking, 'reason'>): boolean {
  return reason === 'deadline' && undoFollows(net, { reason }) && undoesInPlace(net)
}

/** Whether an instance that drains for this reason undoes its work. */
export function undoFollows(net: Net, { reason }: Pick<Marking, 'reason'>): boolean {
  return reason === 'compensate' || (reason === 'deadline' && net.onFailure === 'compensate')
}

export function hasChildren(net: Net): boolean {
  return net.nodes.some(({ work }) => work.kind === 'child' || (work.kind === 'each' && work.body?.kind !== 'run'))
}

/** Whether an instance that drains for this reason may continue in place once it has ended. */
export function stopsResumably(net: Net, reason: DrainReason | null): boolean {
  const ended = reason === 'failure' || (reason === 'deadline' && !undoFollows(net, { reason }))
  const stops = reason === 'stop' || (ended && net.unknown === 'stop')
  return stops && net.finals.length === 0
}

/** It occupies its quota from when it begins until it has ended. */
export function isExecuting(state: InstanceState): boolean {
  return state === 'running' || state === 'waiting' || state === 'cancelling' || state === 'compensating'
}
