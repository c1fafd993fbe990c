/** Which events a reader wants: a channel, types, queues, job types. */

import { RequestError } from '../../../../http/request-error.ts'
import type { Given, Param } from '../../../../wire/requests/params.ts'
import { type Query, textParam } from '../../../../wire/requests/query.ts'
import { text } from '../../../../wire/schema.ts'
import { type MappedEvent, UNREADABLE } from '../../project/events.ts'

export interface EventFilter {
  readonly channel: string
  readonly types: readonly string[] | null
  readonly queues: readonly string[] | null
  readonly jobTypes: readonly string[] | null
}

const ENDS: ReadonlySet<string> = new Set(['job.completed', 'job.discarded', 'job.cancelled'])
const MOST = 100
const TYPE = /^[a-z][a-z_]*(?:\.[a-z_]+)*(?:\.\*)?$/
const ID = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,199}$/

/** `all`, `job:ID`, `queue:NAME`, `workflow:ID`. */
export function readChannel(text: string): string {
  const [kind, ...rest] = text.split(':')
  const name = rest.join(':')
  if (text === 'all') return text
  if ((kind === 'job' || kind === 'workflow') && ID.test(name)) return text
  if (kind === 'queue' && name.length <= 128 && ID.test(name)) return text
  throw new RequestError('invalid_request', `there is no channel '${text.slice(0, 100)}'`, {
    details: { parameter: 'channel' },
    hint: 'A channel is all, job:ID, queue:NAME or workflow:ID.',
  })
}

const TYPES = namesOf('Only these types: `job.completed,workflow.*`.', readTypes)

/** Of each list and stream of events. */
export const EVENT_FILTERS = {
  types: TYPES,
  event_types: { ...TYPES, description: 'Another word for types.' },
  type: { ...TYPES, description: 'Another word for types.' },
  queues: namesOf('Only jobs of these queues.'),
  job_types: namesOf('Only jobs of these types.'),
}

export const CHANNEL: Param<string> = {
  description: '`all`, `job:ID`, `queue:NAME` or `workflow:ID`.',
  schema: text({ default: 'all' }),
  read: (query, name) => readChannel(textParam(query, name) ?? 'all'),
}

export function filterOf(query: Given<typeof EVENT_FILTERS>, channel: string): EventFilter {
  return {
    channel,
    types: query.types ?? query.event_types ?? query.type,
    queues: query.queues,
    jobTypes: query.job_types,
  }
}

export function readTypes(types: readonly string[] | null): readonly string[] | null {
  const wrong = types?.find((type) => !TYPE.test(type))
  if (wrong === undefined) return types
  throw new RequestError('invalid_request', `'${wrong.slice(0, 100)}' is no type of event`, {
    details: { parameter: 'types' },
    hint: 'Such as job.completed, or job.* for all of job.',
  })
}

export function matches(filter: EventFilter, event: MappedEvent): boolean {
  return (
    (filter.types === null || filter.types.some((type) => typeMatches(type, event.wire.type)) || isUnreadable(event)) &&
    (filter.queues === null || (event.queue !== null && filter.queues.includes(event.queue))) &&
    (filter.jobTypes === null || (event.jobType !== null && filter.jobTypes.includes(event.jobType))) &&
    inChannel(filter.channel, event)
  )
}

/** Of which type it is, is not known. */
function isUnreadable({ wire }: MappedEvent): boolean {
  return wire.type === UNREADABLE
}

/** Nothing follows it. */
export function endsJob({ wire }: MappedEvent): boolean {
  return ENDS.has(wire.type)
}

function typeMatches(wanted: string, type: string): boolean {
  return wanted === type || (wanted.endsWith('.*') && type.startsWith(wanted.slice(0, -1)))
}

function inChannel(channel: string, event: MappedEvent): boolean {
  if (channel === 'all') return true
  const at = channel.indexOf(':')
  const name = channel.slice(at + 1)
  if (channel.startsWith('job:')) return event.jobId === name
  if (channel.startsWith('queue:')) return event.queue === name
  return event.workflowId === name || event.rootWorkflowId === name
}

/** `a,b` or repeated. */
function namesOf(
  description: string,
  check: (names: readonly string[] | null) => readonly string[] | null = (names) => names,
): Param<readonly string[] | null> {
  return { description, schema: text(), read: (query, name) => check(names(query, name)) }
}

function names(query: Query, parameter: string): readonly string[] | null {
  const value = query[parameter]
  if (value === undefined || value === '') return null
  const list = (Array.isArray(value) ? value : [value]).flatMap((text) => String(text).split(',')).filter(Boolean)
  if (list.length <= MOST) return list
  throw new RequestError('invalid_request', `${parameter} has ${list.length} entries; at most ${MOST}`, {
    details: { parameter },
  })
}
