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
 * instance whose net stops at a doubt is sent on in place by an operator (`mayResume`).
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
export function mayResume(net: Net, { state, reason }: Pick<Marking, 'state' | 'reason'>): boolean {
  return state === 'failed' && stopsResumably(net, reason)
}

/** Whether what drains for this reason may go on in place once it has ended. */
export function stopsResumably(net: Net, reason: DrainReason | null): boolean {
  const stops = reason === 'stop' || (reason === 'failure' && net.unknown === 'stop')
  return stops && net.finals.length === 0
}

/** It holds its slot from when it begins until it has ended. */
export function isExecuting(state: InstanceState): boolean {
  return state === 'running' || state === 'waiting' || state === 'cancelling' || state === 'compensating'
}
