/**
 * A job as a client requests it: `{ type, args, id?, meta?, options?, … }`, checked and converted to the engine's
 * terms.
 */

import { kindOf, type Part } from '../../../kernel/reading/part.ts'
import type { EnqueueParams, UniqueParams } from '../../../model/enqueue.ts'
import type { Json } from '../../../net/net.ts'
import { tagsAmong } from '../../source/tags.ts'
import { type Envelope, type JsonObject, readMeta, runMeta, unknownAttributes } from '../project/envelope.ts'
import { refuseDependencies } from './dependencies.ts'
import { readId, readType } from './names.ts'
import { type OptionsAsked, optionOf, readJobOptions } from './options.ts'
import type { JobTree } from './tree.ts'
import { readUnique, type UniqueAsked } from './unique.ts'

export interface JobAsked {
  readonly id: string | null
  readonly type: string
  readonly args: readonly Json[]
  /** The client's own. */
  readonly meta: JsonObject
  readonly options: OptionsAsked
  readonly unique: UniqueAsked | null
  readonly envelope: Envelope
}

/** Every mistake is noted; the result may be used only if there are none. */
export function readJob(part: Part, now: number): JobAsked {
  if (!part.isObject) {
    part.wrong(`a job must be an object, not ${kindOf(part.value)}`, '{ "type": "email.send", "args": [] }')
  }
  refuseDependencies(part, 'a job')
  const id = readId(part.get('id'))
  const type = readType(part.get('type'))
  const args = readArgs(part.get('args'))
  const meta = readMeta(part.get('meta'))
  const { options, envelope } = readJobOptions(part, now)
  const unique = readUnique(optionOf(part, 'unique'), { type, queue: options.queue, args, meta })
  const rest = unknownAttributes(part)
  return { id, type, args, meta, options, unique, envelope: rest === null ? envelope : { ...envelope, rest } }
}

function readArgs(part: Part): readonly Json[] {
  if (Array.isArray(part.value)) return part.value as Json[]
  part.wrong(
    part.value === undefined ? 'args is missing' : `args must be a list, not ${kindOf(part.value)}`,
    'a handler without arguments gets []',
  )
  return []
}

/** As a run outside any workflow. */
export function enqueueParams(
  job: JobAsked,
  by: { readonly tenant: string | null; readonly initiator: string | null },
): EnqueueParams {
  const { options } = job
  // The row has its policy in a column.
  const { retry: _, ...envelope } = job.envelope
  const meta = runMeta(job.meta, envelope, {
    ...(by.initiator === null ? {} : { initiator: by.initiator }),
    ...(options.graceMs === 0 ? {} : { grace_ms: options.graceMs }),
  })
  const tags = tagsAmong(envelope.tags)
  return {
    ...(job.id === null ? {} : { id: job.id }),
    type: job.type,
    payload: job.args,
    queue: options.queue,
    priority: options.priority,
    retry: options.retry,
    ...dueOf(options),
    ...expiryOf(options),
    ...(options.timeoutMs === null ? {} : { timeoutMs: options.timeoutMs }),
    ...(options.limitKey === null ? {} : { limitKey: options.limitKey }),
    ...(options.fairKey === null ? {} : { fairKey: options.fairKey }),
    ...(options.limits.length === 0 ? {} : { limits: options.limits }),
    ...(job.unique === null ? {} : { unique: uniqueParams(job.unique, by.tenant) }),
    ...(meta === null ? {} : { meta }),
    ...(tags.length === 0 ? {} : { tags }),
    ...(by.tenant === null ? {} : { tenant: by.tenant }),
  }
}

function dueOf({ runAt, runInMs, delayMs }: JobAsked['options']): Pick<EnqueueParams, 'runAt' | 'delayMs'> {
  if (runAt !== null) return { runAt, ...(runInMs === null ? {} : { delayMs: runInMs }) }
  return delayMs === null ? {} : { delayMs }
}

function expiryOf({ expiresAt, expiresInMs }: JobAsked['options']): Pick<EnqueueParams, 'expiresAt' | 'expiresInMs'> {
  if (expiresInMs !== null) return { expiresInMs }
  return expiresAt === null ? {} : { expiresAt }
}

/**
 * As a part of a workflow. Times are absolute: a job that is enqueued after its time is due at once, or has expired.
 */
export function jobTree(job: JobAsked): JobTree {
  const { queue, priority, runAt, delayMs, expiresAt, timeoutMs, graceMs, retry, limitKey, fairKey } = job.options
  return {
    kind: 'job',
    type: job.type,
    args: job.args,
    options: {
      queue,
      priority,
      retry,
      ...(runAt === null ? {} : { runAt }),
      ...(delayMs === null ? {} : { delayMs }),
      ...(expiresAt === null ? {} : { expiresAt }),
      ...(timeoutMs === null ? {} : { timeoutMs }),
      ...(graceMs === 0 ? {} : { graceMs }),
      ...(limitKey === null ? {} : { limitKey }),
      ...(fairKey === null ? {} : { fairKey }),
      ...(Object.keys(job.meta).length === 0 ? {} : { meta: job.meta }),
      ...(Object.keys(job.envelope).length === 0 ? {} : { envelope: job.envelope as unknown as Json }),
    },
  }
}

/** All but one of the parts of the engine's `pending` have the names that OJS gives them. */
const STATES = {
  scheduled: 'scheduled',
  available: 'available',
  pending: 'held',
  retryable: 'retryable',
  active: 'leased',
  completed: 'succeeded',
  cancelled: 'cancelled',
  discarded: 'failed',
} as const

/** Keys of different tenants never collide. */
function uniqueParams(unique: UniqueAsked, tenant: string | null): UniqueParams {
  return {
    key: `ojs:${tenant ?? ''}:${unique.key}`,
    ...(unique.periodMs === null ? {} : { periodMs: unique.periodMs }),
    states: unique.states.map((state) => STATES[state]),
    onConflict: unique.onConflict,
  }
}
