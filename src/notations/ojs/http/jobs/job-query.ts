/** Filters of lists of jobs and of changes of many, in the words of OJS. */

import type { RunWait } from '../../../../model/queries/queries.ts'
import type { RunStatus } from '../../../../model/rows.ts'
import type { RunFilter } from '../../../../operations/runs/search.ts'
import { parsed, storedText, wordsOf } from '../../../../wire/requests/params.ts'
import {
  list,
  nullable,
  type Optional,
  object,
  oneOf,
  optional,
  type Schema,
  text,
  type Value,
} from '../../../../wire/schema.ts'
import { isQueueName, QUEUE_NAME } from '../../compile/names.ts'
import { JOB_STATES, type JobState } from '../../project/state.ts'
import { isTime, TIME_EXPECTED, timeOf } from './time-param.ts'

const STATUSES: Partial<Record<JobState, RunStatus>> = {
  active: 'leased',
  completed: 'succeeded',
  discarded: 'failed',
  cancelled: 'cancelled',
}
/** A job of a paused workflow is pending: it waits for an operator. */
const WAITS: Partial<Record<JobState, readonly RunWait[]>> = {
  available: ['available'],
  scheduled: ['scheduled'],
  retryable: ['retryable'],
  pending: ['held', 'paused'],
}

export const WAITING: readonly JobState[] = ['available', 'scheduled', 'retryable', 'pending']

export const ONLY_QUEUE = parsed(
  'Only of this queue.',
  text(),
  (given) => (isQueueName(given) ? given : null),
  'the name of a queue',
)

export const ONLY_TYPE = storedText('Only of this type.')

/** Of a list. */
export const JOB_FILTERS = {
  queue: ONLY_QUEUE,
  state: wordsOf(JOB_STATES, 'Only in these states: `available,scheduled`.'),
  states: wordsOf(JOB_STATES, 'An alias of state.'),
  type: ONLY_TYPE,
  since: timeOf('Created at this time or later.'),
  until: timeOf('Created before.'),
}

export const ANY_JOB: RunFilter = { status: null, queue: null, type: null, deadLetter: null }

export function filterOf(query: {
  readonly queue: string | null
  readonly state: readonly JobState[] | null
  readonly states: readonly JobState[] | null
  readonly type: string | null
  readonly since: number | null
  readonly until: number | null
}): RunFilter {
  const { queue, type, since: createdFrom, until: createdBefore } = query
  return { ...ANY_JOB, ...inStates(query.states ?? query.state), queue, type, createdFrom, createdBefore }
}

/** Jobs in these states; null: in any. */
function inStates(states: readonly JobState[] | null): Pick<RunFilter, 'status' | 'wait'> {
  if (states === null) return { status: null, wait: null }
  const wait = states.flatMap((state) => WAITS[state] ?? [])
  return { status: states.flatMap((state) => STATUSES[state] ?? []), wait: wait.length === 0 ? null : wait }
}

/** Fields of a body. An empty text means none. */
function fieldsFor(allowed: readonly JobState[]) {
  const states = statesIn(allowed)
  return {
    queue: maybe(
      text({ is: QUEUE_NAME.is, hint: QUEUE_NAME.hint, fits: (value: string) => value === '' || isQueueName(value) }),
    ),
    state: states,
    states,
    type: maybe(text({ maxLength: 255 })),
    since: maybe(TIME),
    until: maybe(TIME),
  }
}

const TIME = text({ is: TIME_EXPECTED, fits: (value: string) => value === '' || isTime(value) })

/** The filter of a change of many jobs that are in one of these states: beside the other fields, or under `filter`. */
export function bulkFields(allowed: readonly JobState[]) {
  const fields = fieldsFor(allowed)
  return { ...fields, filter: maybe(object(fields)), older_than: maybe(TIME) }
}

type Fields = ReturnType<typeof fieldsFor>
type FieldValues = { readonly [K in keyof Fields]?: Value<Fields[K]> | null }
export type BulkAsked = FieldValues & { readonly filter?: FieldValues | null; readonly older_than?: string | null }

/** `fallback`: states that are meant if none is named. */
export function bulkFilter(
  body: BulkAsked,
  fallback: readonly JobState[],
): { readonly filter: RunFilter; readonly states: readonly JobState[] } {
  const given = body.filter ?? body
  const states = wordsIn(given.states) ?? wordsIn(given.state) ?? fallback
  const filter = {
    ...ANY_JOB,
    ...inStates(states),
    queue: wordIn(given.queue),
    type: wordIn(given.type),
    createdFrom: timeIn(given.since),
    createdBefore: timeIn(body.older_than) ?? timeIn(given.until),
  }
  return { filter, states }
}

function statesIn(allowed: readonly JobState[]): Optional<string | readonly string[] | null> {
  const wrong = (words: readonly string[]): string | undefined =>
    words.find((word) => !(allowed as readonly string[]).includes(word))
  const state = text({ fits: (value: string) => wrong([value]) === undefined || refusal(value) })
  const several = text({
    fits: (value: string) => {
      const odd = value === '' ? undefined : wrong(value.split(','))
      return odd === undefined || refusal(odd)
    },
  })
  const refusal = (word: string): string => `state cannot be '${word.slice(0, 50)}' here; one of ${allowed.join(', ')}`
  return maybe(oneOf([several, list(state)], `Any of ${allowed.join(', ')}: a list, or one text with commas.`))
}

function maybe<T>(schema: Schema<T>): Optional<T | null> {
  return optional(nullable(schema))
}

function wordsIn(given: string | readonly string[] | null | undefined): readonly JobState[] | null {
  if (given == null || given.length === 0) return null
  return (typeof given === 'string' ? given.split(',') : given) as readonly JobState[]
}

function wordIn(given: string | null | undefined): string | null {
  return given == null || given === '' ? null : given
}

function timeIn(given: string | null | undefined): number | null {
  const word = wordIn(given)
  return word === null ? null : Date.parse(word)
}
