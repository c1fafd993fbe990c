/** A run comes in: read, checked, and written once however often it is sent. */
import type { EngineApi } from '../../engine/api.ts'
import type { Body } from '../../http/body.ts'
import { inputError, PetrelError } from '../../kernel/errors.ts'
import type { Enqueued, EnqueueParams } from '../../model/enqueue.ts'
import { boundsOf } from '../../notations/ojs/http/admin/backpressure.ts'
import {
  needPayload,
  readBody,
  readKey,
  readMaxAttempts,
  readPriority,
  readQueue,
  readTime,
  readType,
} from './fields.ts'

const SUBMITTED = ['type', 'payload', 'idempotency_key', 'priority', 'run_at', 'max_attempts', 'queue']

export function readSubmit(body: Body): EnqueueParams {
  return readBody(body, SUBMITTED, 'a run', (part) => {
    const key = readKey(part.get('idempotency_key'))
    const priority = readPriority(part.get('priority'))
    const runAt = readTime(part.get('run_at'), 'run_at')
    const maxAttempts = readMaxAttempts(part.get('max_attempts'))
    const queue = readQueue(part.get('queue'))
    return {
      type: readType(part.get('type')),
      payload: needPayload(part.get('payload')),
      inbox: true,
      ...(key === null ? {} : { idempotencyKey: key }),
      ...(priority === null ? {} : { priority }),
      ...(runAt === null ? {} : { runAt }),
      ...(maxAttempts === null ? {} : { maxAttempts }),
      ...(queue === null ? {} : { queue }),
    }
  })
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
    .catch((error: unknown) => Promise.reject(named(error)))
  if (made === undefined) throw new Error('one run in, none out')
  return made
}

const PLACE = 'enqueue[0].'

/** The engine names the place in its list of one; here it is the body. */
function named(error: unknown): unknown {
  if (!(error instanceof PetrelError)) return error
  const { path, problem, ...details } = error.details
  if (problem === undefined || path?.startsWith(PLACE) !== true) return error
  const field = path.slice(PLACE.length)
  return inputError(error.code, field, problem, { ...details, field })
}
