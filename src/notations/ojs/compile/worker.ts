/** Reads and checks what workers send: requests for jobs, reports of their outcomes, heartbeats. */

import { LONGEST_MS } from '../../../kernel/duration.ts'
import { MAX_BUILD_LENGTH } from '../../../kernel/limits.ts'
import { kindOf, type Part } from '../../../kernel/reading/part.ts'
import { parseTypeFilter, TypeFilterError } from '../../../kernel/type-filters.ts'
import type { LeaseBeat, LeaseFetch, LeaseReport } from '../../../model/leases.ts'
import type { RunRow } from '../../../model/rows.ts'
import type { Failure } from '../../../net/marking.ts'
import type { Json } from '../../../net/net.ts'
import { keptMeta } from '../project/envelope.ts'
import { isQueueName, readWorkerId, UNNAMED } from './names.ts'

/** Long enough for work without heartbeats; a worker that sends them is found dead much sooner. */
export const DEFAULT_VISIBILITY_MS = 1_800_000
/** A worker whose last heartbeat is older than this is dead. */
export const WORKER_TTL_MS = 30_000
const MOST_FETCHED = 1000
const LONGEST_WAIT_MS = 60_000

export type FetchAsked = Omit<LeaseFetch, 'tenant' | 'signal'>

/**
 * `{ queues, count?, worker_id?, visibility_timeout_ms?, wait_ms?, runtime?, types? }`. `wait_ms`: how long the reply
 * may wait for a first job; 0 answers at once.
 */
export function readFetch(part: Part): FetchAsked {
  const visibility = part.get('visibility_timeout_ms').whole('visibility_timeout_ms', { least: 1, most: LONGEST_MS })
  return {
    queues: readQueues(part.get('queues')),
    types: readTypes(part.get('types')),
    limit: part.get('count').whole('count', { least: 1, most: MOST_FETCHED }) ?? 1,
    holder: readWorkerId(part.get('worker_id')) ?? UNNAMED,
    runtime: part.get('runtime').text('runtime'),
    leaseMs: (run) => visibility ?? visibilityOf(run) ?? DEFAULT_VISIBILITY_MS,
    waitMs: part.get('wait_ms').whole('wait_ms', { least: 0, most: LONGEST_WAIT_MS }) ?? 0,
  }
}

/** As the client that enqueued the job requested. */
function visibilityOf(run: RunRow): number | null {
  if (run.meta === null || !run.meta.includes('"visibilityTimeoutMs"')) return null
  return keptMeta(run.meta).envelope.visibilityTimeoutMs ?? null
}

function readQueues(part: Part): readonly string[] {
  const items = part.items('queues')
  if (items.length === 0 && (!part.given || Array.isArray(part.value))) {
    part.wrong('queues names at least one queue', 'such as ["default"]; the first is emptied first')
  }
  return items.flatMap((item) => {
    if (typeof item.value === 'string' && isQueueName(item.value)) return item.value
    item.wrong(`a queue must be a name in lower case, not ${kindOf(item.value)}`)
    return []
  })
}

/** Types, or prefixes such as `billing.%`. */
function readTypes(part: Part): readonly string[] | null {
  if (!part.given) return null
  return part.items('types').flatMap((item) => {
    const text = item.text('a type')
    if (text === null) return []
    try {
      parseTypeFilter(text)
      return text
    } catch (error) {
      if (!(error instanceof TypeFilterError)) throw error
      item.wrong(error.message)
      return []
    }
  })
}

/** `{ job_id, result?, worker_id?, attempt? }` */
export function readAck(part: Part): LeaseReport {
  const result = part.get('result').value
  return { ...readHold(part), outcome: { kind: 'succeeded', result: (result ?? null) as Json } }
}

/** `{ job_id, error, requeue?, result?, worker_id?, attempt? }` */
export function readNack(part: Part): LeaseReport {
  const requeue = part.get('requeue').flag('requeue') ?? false
  const error = part.get('error')
  const hold = readHold(part)
  if (requeue) {
    return { ...hold, outcome: error.given ? { kind: 'requeue', error: readError(error) } : { kind: 'requeue' } }
  }
  const result = part.get('result')
  const failure = readError(error)
  return {
    ...hold,
    outcome: {
      kind: 'failed',
      error: failure,
      how: HOW[failure.code] ?? 'policy',
      ...(result.given ? { result: result.value as Json } : {}),
    },
  }
}

/** Codes by which a handler overrides its policy. RETRY is what the policy does anyway. */
const HOW: { readonly [code: string]: 'discard' | 'dead_letter' } = {
  DISCARD: 'discard',
  FAIL: 'discard',
  DEAD_LETTER: 'dead_letter',
}

function readHold(part: Part): Pick<LeaseReport, 'runId' | 'holder' | 'attempt'> {
  const id = part.get('job_id')
  if (!id.given) id.wrong('job_id is missing', 'the id of the fetched job')
  return {
    runId: id.text('job_id') ?? '',
    holder: readWorkerId(part.get('worker_id')),
    attempt: part.get('attempt').whole('attempt', { least: 1 }),
  }
}

/** `{ code?, type?, message?, category?, retryable?, details? }`: some clients send code, others type. */
function readError(part: Part): Failure {
  if (!part.isObject) {
    part.wrong(
      part.given ? `error must be an object, not ${kindOf(part.value)}` : 'error is missing',
      '{ "code": "handler_error", "message": "what went wrong" }',
    )
    return { code: 'handler_error', message: '' }
  }
  const details = part.get('details')
  const type = part.get('type').text('type') ?? errorClass(details)
  const code = part.get('code').text('code') ?? 'handler_error'
  const message = part.get('message')
  if (message.given && typeof message.value !== 'string') message.text('message')
  const retryable = part.get('retryable').flag('retryable')
  const category = part.get('category').text('category')
  // A handler may know better than its policy when to try again.
  const delay = details.get('retry_delay_ms')
  if (typeof delay.value === 'number') delay.number('retry_delay_ms', 0, LONGEST_MS)
  return {
    code,
    message: typeof message.value === 'string' ? message.value : (type ?? code),
    ...(type === null ? {} : { type }),
    ...(category === null ? {} : { category }),
    ...(retryable === null ? {} : { retryable }),
    ...(details.given ? { details: details.value as Json } : {}),
  }
}

function errorClass(details: Part): string | null {
  const { value } = details.get('error_class')
  return typeof value === 'string' && value !== '' ? value : null
}

export type BeatAsked = Omit<LeaseBeat, 'tenant'>

/**
 * `{ worker_id, active_jobs? (ids, or only how many), active_job_ids?, state?, visibility_timeout_ms?, hostname?, pid?,
 * queues?, concurrency?, … }`
 */
export function readBeat(part: Part): BeatAsked {
  const id = part.get('worker_id')
  if (!id.given) id.wrong('worker_id is missing', 'any name the worker keeps for its life')
  const listed = Array.isArray(part.get('active_jobs').value) ? part.get('active_jobs') : part.get('active_job_ids')
  const visibility = part.get('visibility_timeout_ms').whole('visibility_timeout_ms', { least: 1, most: LONGEST_MS })
  const concurrency = part.get('concurrency').whole('concurrency', { least: 0, most: 1_000_000 })
  return {
    holder: readWorkerId(id) ?? '',
    host: textOf(part.get('hostname')) ?? 'unknown',
    pid: part.get('pid').whole('pid', { least: 0, most: 2 ** 31 - 1 }) ?? 0,
    runtime: textOf(part.get('runtime')) ?? 'http',
    build: textOf(part.get('build'))?.slice(0, MAX_BUILD_LENGTH) ?? null,
    queues: part
      .get('queues')
      .items('queues')
      .flatMap((item) => item.text('a queue') ?? []),
    types: [],
    concurrency: concurrency ?? 1,
    state: workerState(part.get('state')),
    runIds: listed.items('active_jobs').flatMap((item) => item.text('a job id') ?? []),
    leaseMs: visibility,
    // A worker that requests long leases may send heartbeats as rarely.
    ttlMs: Math.max(WORKER_TTL_MS, visibility ?? 0),
  }
}

const STATES: { readonly [word: string]: BeatAsked['state'] } = {
  quiet: 'quiet',
  drain: 'quiet',
  draining: 'quiet',
  shutting_down: 'terminate',
  terminate: 'terminate',
  terminating: 'terminate',
  terminated: 'terminate',
}

/** In any other state (running, active, idle) it takes work. */
function workerState(part: Part): BeatAsked['state'] {
  return (typeof part.value === 'string' ? STATES[part.value] : undefined) ?? 'running'
}

function textOf(part: Part): string | null {
  return typeof part.value === 'string' && part.value !== '' ? part.value.slice(0, 255) : null
}

/**
 * options.metadata.test_directive of active jobs: with it, a test makes the server send a directive. Terminate takes
 * precedence.
 */
export function testDirective(runs: readonly RunRow[]): 'quiet' | 'terminate' | null {
  let found: 'quiet' | null = null
  for (const run of runs) {
    if (run.status !== 'leased' || run.meta === null || !run.meta.includes('"test_directive"')) continue
    const { metadata } = keptMeta(run.meta).envelope
    const { test_directive: directive } = (metadata ?? {}) as { readonly test_directive?: unknown }
    if (directive === 'terminate') return 'terminate'
    if (directive === 'quiet') found = 'quiet'
  }
  return found
}
