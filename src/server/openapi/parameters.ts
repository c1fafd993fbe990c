/** Query parameters that several lists share. */
import type { Parameter } from './operation.ts'
import { text, whole } from './schema.ts'

export const PAGE: readonly Parameter[] = [
  {
    name: 'limit',
    description: 'Entries per page.',
    schema: whole(undefined, { minimum: 1, maximum: 200, default: 50 }),
  },
  { name: 'cursor', description: '`next_cursor` of the previous page.', schema: text() },
  {
    name: 'offset',
    description: 'Entries to skip; a cursor is cheaper.',
    schema: whole(undefined, { minimum: 0 }),
  },
  { name: 'page', description: 'Instead of an offset: the page, from 1.', schema: whole(undefined, { minimum: 1 }) },
  { name: 'per_page', description: 'An alias of limit.', schema: whole(undefined, { minimum: 1, maximum: 200 }) },
]

export const EVENT_FILTERS: readonly Parameter[] = [
  { name: 'types', description: 'Only these types: `job.completed,workflow.*`. `event_types` means the same.' },
  { name: 'queues', description: 'Only jobs of these queues.' },
  { name: 'job_types', description: 'Only jobs of these types.' },
  { name: 'after', description: 'Continue after this event id or cursor.' },
]

export const LAST_EVENT_ID: Parameter = {
  name: 'Last-Event-ID',
  description: 'Id of the last event received on an interrupted stream; later events are sent first.',
}
