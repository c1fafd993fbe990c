/** Workflows, events, and the server's information about itself. */
import { flag, list, nullable, object, ref, text, time, word } from './schema.ts'

const TYPES = ['chain', 'group', 'batch']
const _STATES = ['pending', 'running', 'completed', 'failed', 'cancelled']

export const WORKFLOW_SCHEMAS = {
  Event: object(
    {
      specversion: text(),
      id: text('evt_ and a UUIDv7; send it as `after` or Last-Event-ID to continue after it.'),
      type: text('job.enqueued, job.started, job.completed, workflow.completed …'),
      source: text(),
      time: time(),
      subject: text('Id of the job or workflow, name of the queue.'),
      data: { type: 'object' },
      event: text('For workflow events: the type again.'),
      workflow_id: text(),
      workflow_type: word(TYPES),
      workflow_name: nullable(text()),
    },
    { required: ['specversion', 'id', 'type', 'source', 'time', 'subject', 'data'] },
  ),
  EventPage: object(
    {
      events: list(ref('Event'), 'Oldest first.'),
      cursor: text('Send it as `after` to continue; the last page has one too.'),
      has_more: flag(),
    },
    { required: ['events', 'cursor', 'has_more'] },
  ),
}
