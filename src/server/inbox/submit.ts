/** A run comes in: checked, and written once however often it is sent. */

import type { EngineApi } from '../../engine/api.ts'
import { inputError, PetrelError } from '../../kernel/errors.ts'
import type { Enqueued, EnqueueParams } from '../../model/enqueue.ts'
import type { Json } from '../../net/net.ts'
import { boundsOf } from '../../operations/queues/bounds.ts'
import { type Body, checked } from '../../wire/mistaken.ts'
import { key, MAX_ATTEMPTS, moment, momentAt, PRIORITY, QUEUE, TYPE } from '../../wire/requests/fields.ts'
import { anything, asked, named, optional, type Value } from '../../wire/schema.ts'

export const SubmitRequest = named(
  'SubmitRequest',
  asked('a run', {
    type: TYPE,
    payload: anything({ description: 'Any JSON value.', hint: 'any JSON value, such as {}' }),
    idempotency_key: optional(key('A second submit under it answers with the first run.')),
    priority: optional(PRIORITY),
    run_at: optional(moment('Not before then; RFC 3339 with a time zone.')),
    max_attempts: optional(MAX_ATTEMPTS),
    queue: optional(QUEUE),
  }),
)

/** Of a body that has not been checked. */
export function readSubmit(body: Body): EnqueueParams {
  return submitParams(checked(SubmitRequest, body))
}

export function submitParams(body: Value<typeof SubmitRequest>): EnqueueParams {
  const { idempotency_key: taken, priority, run_at: runAt, max_attempts: maxAttempts, queue } = body
  return {
    type: body.type,
    payload: body.payload as Json,
    inbox: true,
    ...(taken == null ? {} : { idempotencyKey: taken }),
    ...(priority == null ? {} : { priority }),
    ...(runAt == null ? {} : { runAt: momentAt(runAt) }),
    ...(maxAttempts == null ? {} : { maxAttempts }),
    ...(queue == null ? {} : { queue }),
  }
}

export interface Submitter {
  readonly tenant: string | null
  readonly actor: string | null
}

/** Written, or found under its key. A bounded queue that is full refuses it, as it refuses jobs. */
export async function submit(
  engine: EngineApi,
  { tenant, actor }: Submitter,
  params: EnqueueParams,
  tell: (headers: Readonly<Record<string, string>>) => void,
): Promise<Enqueued> {
  const own = { ...params, ...(tenant === null ? {} : { tenant }), ...(actor === null ? {} : { actor }) }
  const one = new Map([[params.queue ?? 'default', 1]])
  const [made] = await boundsOf(engine)
    .admit(one, () => engine.enqueue([own]), tell)
    .catch((error: unknown) => Promise.reject(inBody(error)))
  if (made === undefined) throw new Error('one run in, none out')
  return made
}

const PLACE = 'enqueue[0].'

/** The engine names the place in its list of one; here it is the body. */
function inBody(error: unknown): unknown {
  if (!(error instanceof PetrelError)) return error
  const { path, problem, ...details } = error.details
  if (problem === undefined || path?.startsWith(PLACE) !== true) return error
  const field = path.slice(PLACE.length)
  return inputError(error.code, field, problem, { ...details, field })
}
