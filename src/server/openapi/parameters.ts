/** Query parameters that several lists share. */
import type { Parameter } from './operation.ts'
import { text, whole } from './schema.ts'

export const PAGE: readonly Parameter[] = [
  {
    name: 'limit',
    description: 'Entries on a page.',
    schema: whole(undefined, { minimum: 1, maximum: 200, default: 50 }),
  },
  { name: 'cursor', description: '`next_cursor` of the page before.', schema: text() },
  {
    name: 'offset',
    description: 'Entries to pass over; a cursor is cheaper.',
    schema: whole(undefined, { minimum: 0 }),
  },
  { name: 'page', description: 'Instead of an offset: which page, from 1.', schema: whole(undefined, { minimum: 1 }) },
  { name: 'per_page', description: 'Another word for limit.', schema: whole(undefined, { minimum: 1, maximum: 200 }) },
]

export const EVENT_FILTERS: readonly Parameter[] = [
  { name: 'types', description: 'Only these types: `job.completed,workflow.*`. `event_types` means the same.' },
  { name: 'queues', description: 'Only jobs of these queues.' },
  { name: 'job_types', description: 'Only jobs of these types.' },
  { name: 'after', description: 'Go on behind this event id or cursor.' },
]

export const LAST_EVENT_ID: Parameter = {
  name: 'Last-Event-ID',
  description: 'Id of the last event seen on a stream that broke off; what came since is sent first.',
}
