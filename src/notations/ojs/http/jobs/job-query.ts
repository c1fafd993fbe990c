/** Filters of lists of jobs and of bulk operations, in the words of OJS. */

import { RequestError } from '../../../../http/request-error.ts'
import type { RunQuery, RunWait } from '../../../../model/queries/queries.ts'
import type { RunStatus } from '../../../../model/rows.ts'
import { isQueueName } from '../../compile/names.ts'
import { JOB_STATES, type JobState } from '../../project/state.ts'

/** Names that a filter may have. */
export const JOB_FILTERS = ['queue', 'state', 'states', 'type', 'since', 'until'] as const

export type JobFilter = Omit<RunQuery, 'limit' | 'before' | 'offset'>

const STATUSES: Partial<Record<JobState, RunStatus>> = {
  active: 'leased',
  completed: 'succeeded',
  discarded: 'failed',
  cancelled: 'cancelled',
}
const WAITS: Partial<Record<JobState, RunWait>> = {
  available: 'available',
  scheduled: 'scheduled',
  retryable: 'retryable',
  pending: 'held',
}

export const WAITING: readonly JobState[] = ['available', 'scheduled', 'retryable', 'pending']

/** Runs in these states; null: in any. */
export function inStates(states: readonly JobState[] | null): Pick<RunQuery, 'status' | 'wait'> {
  if (states === null) return { status: null, wait: null }
  const wait = states.flatMap((state) => WAITS[state] ?? [])
  return { status: states.flatMap((state) => STATUSES[state] ?? []), wait: wait.length === 0 ? null : wait }
}

/** From a query string or a body; other names in it are the caller's affair. */
export function readJobFilter(
  given: { readonly [name: string]: unknown },
  how: {
    readonly tenant: string | null
    /** States that make sense here; the first group is meant if none is named. */
    readonly states?: readonly JobState[]
  },
): { readonly filter: JobFilter; readonly states: readonly JobState[] | null } {
  const states = readStates(given['states'] ?? given['state'], how.states ?? JOB_STATES) ?? how.states ?? null
  const queue = readText(given['queue'], 'queue')
  if (queue !== null && !isQueueName(queue)) throw wrong('queue', `'${queue}' is no name of a queue`)
  return {
    states,
    filter: {
      ...inStates(states),
      queue,
      type: readText(given['type'], 'type'),
      deadLetter: null,
      tenant: how.tenant,
      createdFrom: readTime(given['since'], 'since'),
      createdBefore: readTime(given['until'], 'until'),
    },
  }
}

function readStates(value: unknown, allowed: readonly JobState[]): readonly JobState[] | null {
  if (value === undefined || value === null || value === '') return null
  const words = (Array.isArray(value) ? value : [value]).flatMap((text) => String(text).split(','))
  const odd = words.find((word) => !(allowed as readonly string[]).includes(word))
  if (odd !== undefined)
    throw wrong('state', `state cannot be '${odd.slice(0, 50)}' here; one of ${allowed.join(', ')}`)
  return words as JobState[]
}

function readText(value: unknown, field: string): string | null {
  if (value === undefined || value === null || value === '') return null
  if (typeof value === 'string' && value.length <= 255) return value
  throw wrong(field, `${field} is a text`)
}

export function readTime(value: unknown, field: string): number | null {
  if (value === undefined || value === null || value === '') return null
  const at = typeof value === 'string' ? Date.parse(value) : Number.NaN
  if (Number.isNaN(at)) throw wrong(field, `${field} is a time such as 2026-02-13T12:00:00Z`)
  return at
}

function wrong(field: string, message: string): RequestError {
  return new RequestError('invalid_request', message, { details: { field, parameter: field } })
}
