/** The fields for submitting a run to the inbox. */
import type { EnqueueParams } from '../../model/enqueue.ts'
import type { DebounceParams } from '../../model/schedules/debounce.ts'
import type { Json } from '../../net/net.ts'
import { type Body, checked } from '../mistaken.ts'
import { anything, asked, named, optional, type Value } from '../schema.ts'
import { Debounce, debounceGiven } from './debounce.ts'
import { FAIR_KEY, key, MAX_ATTEMPTS, moment, momentAt, PRIORITY, QUEUE, TYPE } from './fields.ts'

export const SubmitRequest = named(
  'SubmitRequest',
  asked('a run', {
    type: TYPE,
    payload: anything({ description: 'Any JSON value.', hint: 'any JSON value, such as {}' }),
    idempotency_key: optional(key('A second submit with the same key returns the first run.')),
    priority: optional(PRIORITY),
    run_at: optional(moment('The earliest start; RFC 3339 with a time zone.')),
    max_attempts: optional(MAX_ATTEMPTS),
    queue: optional(QUEUE),
    fair_key: optional(FAIR_KEY),
    debounce: optional(Debounce),
  }),
)

/** For a body that has not been checked. */
export function readSubmit(body: Body): EnqueueParams {
  return submitAsked(checked(SubmitRequest, body))
}

/** For a body that has not been checked. */
export function readSubmitDebounce(body: Body): DebounceParams | null {
  return submitDebounce(checked(SubmitRequest, body))
}

/** null: it is enqueued at once. A key of its own, or a time, contradicts it. */
export function submitDebounce(body: Value<typeof SubmitRequest>): DebounceParams | null {
  return debounceGiven(body, ['idempotency_key', 'run_at'])
}

export function submitAsked(body: Value<typeof SubmitRequest>): EnqueueParams {
  const { idempotency_key: taken, priority, run_at: runAt, max_attempts: maxAttempts, queue, fair_key: fairKey } = body
  return {
    type: body.type,
    payload: body.payload as Json,
    ...(taken == null ? {} : { idempotencyKey: taken }),
    ...(priority == null ? {} : { priority }),
    ...(runAt == null ? {} : { runAt: momentAt(runAt) }),
    ...(maxAttempts == null ? {} : { maxAttempts }),
    ...(queue == null ? {} : { queue }),
    ...(fairKey == null ? {} : { fairKey }),
  }
}
