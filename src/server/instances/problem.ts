/** Refusals of the engine about an instance, with its state and the operations possible in that state. */

import { RequestError } from '../../http/request-error.ts'
import { PetrelError } from '../../kernel/errors.ts'

export type Verb = 'start' | 'cancel' | 'retry' | 'fork' | 'retry now' | 'patch' | 'pause' | 'resume'

export async function refusing<T>(verb: Verb, id: string, work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    throw instanceProblem(error, verb, id)
  }
}

function instanceProblem(error: unknown, verb: Verb, id: string): unknown {
  if (!(error instanceof PetrelError)) return error
  if (error.code !== 'conflict') return error
  const { hint, kind: _, ...details } = error.details
  const { state } = details
  return new RequestError('conflict', error.message, {
    details: { instance_id: id, ...details },
    hint: hint ?? hintOf(verb, typeof state === 'string' ? state : '', details),
  })
}

const ENDED: ReadonlySet<string> = new Set(['completed', 'failed', 'cancelled', 'compensated'])

function hintOf(verb: Verb, state: string, { root, paused, stopped }: PetrelError['details']): string {
  if (typeof root === 'string' && (verb === 'pause' || verb === 'resume'))
    return `Do it to its root: /v1/instances/${root}`
  if (typeof root === 'string') return `Do it to its root: /v1/instances/${root}; or name one of its steps with from.`
  if (verb === 'pause' && !ENDED.has(state))
    return 'Resume it, and pause it again to change the reason or the timeouts.'
  if (verb === 'resume') {
    if (stopped === true) return 'It stopped by itself: continue it with POST /v1/sagas/ID/resume.'
    return ENDED.has(state)
      ? 'It has ended; retry it with POST /v1/instances/ID/retry.'
      : 'Only a paused instance is resumed.'
  }
  if (verb === 'start' && paused === true) return 'Resume it with POST /v1/instances/ID/resume.'
  if (verb === 'start') {
    return ENDED.has(state)
      ? 'What has ended stays as it is; retry it, or start a new one with POST /v1/instances.'
      : 'Only an idle instance is started; this one has been.'
  }
  if (verb === 'retry' || verb === 'fork') {
    return ENDED.has(state)
      ? 'Start a new one with POST /v1/instances.'
      : 'Wait until it has ended, or cancel it; then retry it.'
  }
  if (state === 'compensating') return 'Wait until its work is undone.'
  return state === 'completed'
    ? 'What has ended stays as it is.'
    : 'What has ended stays as it is; a retry makes a new instance of it.'
}
