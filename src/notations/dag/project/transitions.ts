/**
 * The seven states of a workflow of steps, and which may follow which: exactly the specification's own table.
 *
 *   idle ──► queued ──► executing ──► completed, failed, compensating
 *                        ▲   │
 *                        │   ▼
 *                       blocked ──► failed
 *   compensating ──► completed (rolled back), failed (in part)
 *
 * The engine has ten states. A cancelled instance is failed here, a compensated one completed; conditions distinguish
 * them (conditions.ts). While a cancel waits for active steps the workflow is still executing.
 */

import { isInstanceEvent } from '../../../model/events/events.ts'
import type { StoredEvent } from '../../../model/rows.ts'
import type { InstanceState } from '../../../net/marking.ts'

export const DAG_STATES = ['idle', 'queued', 'executing', 'blocked', 'completed', 'failed', 'compensating'] as const
export type DagState = (typeof DAG_STATES)[number]

const WORDS: { readonly [S in InstanceState]: DagState } = {
  idle: 'idle',
  queued: 'queued',
  running: 'executing',
  waiting: 'blocked',
  cancelling: 'executing',
  compensating: 'compensating',
  completed: 'completed',
  failed: 'failed',
  cancelled: 'failed',
  compensated: 'completed',
}

export function dagState(state: InstanceState): DagState {
  return WORDS[state]
}

const FOLLOWERS: { readonly [S in DagState]: readonly DagState[] } = {
  idle: ['queued'],
  queued: ['executing'],
  executing: ['blocked', 'completed', 'failed', 'compensating'],
  blocked: ['executing', 'failed'],
  completed: [],
  failed: [],
  compensating: ['completed', 'failed'],
}

export function isTransition(from: DagState, to: DagState): boolean {
  return FOLLOWERS[from].includes(to)
}

export interface Transition {
  readonly state: DagState
  readonly at: number
}

export interface Life {
  /** The events of one instance, oldest first; those that do not concern its state are skipped. */
  readonly events: readonly StoredEvent[]
  /** The current state. */
  readonly state: InstanceState
  /** The failure policy is compensate: then a deadline undoes completed steps. */
  readonly compensates: boolean
}

/** The states an instance has been in, each with the time it was entered. */
export function transitionsOf({ events, state, compensates }: Life): readonly Transition[] {
  const path = new Path()
  for (const event of events) follow(path, event, compensates)
  if (state !== 'idle' && state !== 'queued') path.begin()
  return path.steps
}

function follow(path: Path, event: StoredEvent, compensates: boolean): void {
  const { type, at } = event
  if (type === 'gate.rejected' && event.actor === null) path.clockAt = at
  if (!isInstanceEvent(type)) return
  switch (type) {
    case 'instance.created':
      return path.enter('idle', at)
    case 'instance.queued':
      return path.enter('queued', at)
    case 'instance.dequeued':
    case 'instance.resumed':
      return path.enter('executing', at)
    case 'instance.waiting':
      return path.enter('blocked', at)
    case 'instance.compensating':
      return path.enter('compensating', at)
    case 'instance.started':
      return path.begin()
    case 'instance.draining': {
      path.begin()
      const reason = reasonOf(event)
      if (reason === 'deadline') path.clockAt = at
      if (reason === 'compensate' || (reason === 'deadline' && compensates)) path.enter('compensating', at)
      return
    }
    case 'instance.completed':
    case 'instance.compensated':
      return path.enter('completed', at)
    case 'instance.failed':
    case 'instance.cancelled':
      return path.enter('failed', at)
    case 'instance.retries':
    case 'instance.forks':
    case 'instance.patched':
    case 'instance.cancel_requested':
    case 'instance.resume_requested':
    case 'instance.paused':
    case 'instance.unpaused':
      return
    default:
      return type satisfies never
  }
}

function reasonOf(event: StoredEvent): unknown {
  return event.data === null ? null : (JSON.parse(event.data) as { readonly reason?: unknown }).reason
}

class Path {
  readonly steps: Transition[] = []
  /** When a deadline last decided something. */
  clockAt: number | null = null

  get #last(): Transition | undefined {
    return this.steps.at(-1)
  }

  /** An instance that never had to wait only records its creation: it went through the queue at that very moment. */
  begin(at = this.#last?.at ?? 0): void {
    if (this.#last?.state === 'idle') this.steps.push({ state: 'queued', at })
    if (this.#last?.state === 'queued') this.steps.push({ state: 'executing', at })
  }

  enter(state: DagState, at: number): void {
    if (this.#last === undefined || state === 'queued') return this.#push(state, at)
    if (state === 'executing') return this.#last.state === 'queued' ? this.#push(state, at) : this.#resume(at)
    /*
     * A cancel or a deadline may end an instance that never began. The table has no way from idle or queued to failed,
     * and a reader that knows only the table must not see one: it passes through executing, in no time.
     */
    this.begin(state === 'failed' ? at : this.#last.at)
    // Rejecting a gate is an input: blocked → executing, and only then to the state that follows.
    if (this.#last.state === 'blocked' && state !== 'failed') this.#push('executing', at)
    if (state === 'failed') this.#forgetResumption(at)
    this.#push(state, at)
  }

  #resume(at: number): void {
    this.begin()
    if (this.#last?.state === 'blocked') this.#push('executing', at)
  }

  /** It timed out while it was blocked: no input came, so it did not resume before it failed. */
  #forgetResumption(at: number): void {
    const before = this.steps.at(-2)?.state
    const resumed = before === 'blocked' && this.#last?.state === 'executing' && this.#last.at === at
    if (resumed && this.clockAt === at) this.steps.pop()
  }

  #push(state: DagState, at: number): void {
    if (this.#last?.state !== state) this.steps.push({ state, at })
  }
}
