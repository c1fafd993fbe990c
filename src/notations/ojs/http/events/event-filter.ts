/** Which events a reader wants: a channel, types, queues, job types; and never those of another tenant. */

import { RequestError } from '../../../../http/request-error.ts'
import { type Query, textParam } from '../../../../wire/requests/query.ts'
import { type MappedEvent, UNREADABLE } from '../../project/events.ts'

export interface EventFilter {
  readonly channel: string
  readonly types: readonly string[] | null
  readonly queues: readonly string[] | null
  readonly jobTypes: readonly string[] | null
  readonly tenant: string | null
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

/** From the query of a GET. `event_types` is another word for `types`. */
export function readFilter(query: Query, tenant: string | null, channel?: string): EventFilter {
  return {
    channel: channel ?? readChannel(textParam(query, 'channel') ?? 'all'),
    types: readTypes(names(query, 'types') ?? names(query, 'event_types') ?? names(query, 'type')),
    queues: names(query, 'queues'),
    jobTypes: names(query, 'job_types'),
    tenant,
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
    (filter.tenant === null || event.tenant === filter.tenant) &&
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
function names(query: Query, parameter: string): readonly string[] | null {
  const value = query[parameter]
  if (value === undefined || value === '') return null
  const list = (Array.isArray(value) ? value : [value]).flatMap((text) => String(text).split(',')).filter(Boolean)
  if (list.length <= MOST) return list
  throw new RequestError('invalid_request', `${parameter} has ${list.length} entries; at most ${MOST}`, {
    details: { parameter },
  })
}
