/** Workflows, events, and what the server says of itself. */
import { anything, flag, list, nullable, object, ref, text, time, whole, word } from './schema.ts'

const TYPES = ['chain', 'group', 'batch']
const STATES = ['pending', 'running', 'completed', 'failed', 'cancelled']

export const WORKFLOW_SCHEMAS = {
  WorkflowRequest: object(
    {
      type: word(TYPES, 'chain: one after another. group: all at once. batch: all at once, then callbacks.'),
      name: text(),
      id: text('A name of your own; made by the server otherwise.'),
      steps: list(ref('WorkflowStep'), 'Of a chain.'),
      jobs: list(ref('WorkflowStep'), 'Of a group or batch.'),
      callbacks: object(
        { on_complete: ref('JobRequest'), on_success: ref('JobRequest'), on_failure: ref('JobRequest') },
        { description: 'Of a batch: at least one. Each is made exactly once.' },
      ),
      options: { type: 'object' },
      meta: { type: 'object' },
    },
    { required: ['type'] },
  ),
  WorkflowStep: {
    anyOf: [ref('JobRequest'), ref('WorkflowRequest')],
    description: 'A job, or another workflow: up to 10 levels.',
  },
  Workflow: object(
    {
      id: text(),
      type: word(TYPES),
      name: nullable(text()),
      state: word(STATES),
      steps: list(ref('WorkflowPlace'), 'Of a chain.'),
      jobs: list(ref('WorkflowPlace'), 'Of a group or batch; of long lists a part.'),
      callbacks: { type: 'object', additionalProperties: ref('WorkflowPlace') },
      steps_total: whole(),
      steps_completed: whole(),
      jobs_total: whole(),
      jobs_completed: whole(),
      jobs_truncated: flag('Not all jobs are shown.'),
      jobs_next_offset: whole('Send it as `jobs_offset` for the next part.'),
      retry_of: text('The workflow that this one tries again.'),
      tenant: text(),
      created_at: time(),
      metadata: ref('WorkflowMetadata'),
    },
    { required: ['type', 'state', 'metadata'] },
  ),
  WorkflowPlace: object({
    index: whole('Place in the list; callbacks have none.'),
    id: text('What its author called the step or job, else its place in the list.'),
    name: text("The author's name for it, if it has one."),
    type: text('Of the job, or of the nested workflow.'),
    state: word(['waiting', 'pending', 'active', 'completed', 'failed', 'cancelled']),
    job_id: nullable(text('null: not enqueued yet, or a nested workflow.')),
    workflow_id: nullable(text('Of a nested workflow.')),
    workflow: ref('Workflow'),
    result: anything('What it returned.'),
    result_ref: text('Where to read a result that is left out here.'),
    error: ref('WorkflowError'),
    started_at: time(),
    completed_at: time(),
    cancelled_at: time(),
  }),
  WorkflowError: object(
    {
      job_id: nullable(text()),
      code: text(),
      message: text(),
      attempt: whole('On which attempt it failed for good.'),
      callback: text('Of a callback: which.'),
    },
    { required: ['code', 'message', 'attempt'] },
  ),
  WorkflowMetadata: object({
    created_at: time(),
    started_at: time(),
    completed_at: time(),
    cancelled_at: time(),
    job_count: whole('Jobs in it, those of nested workflows too, callbacks not.'),
    completed_count: whole(),
    failed_count: whole(),
    failed_step_index: whole(),
    failed_job_ids: list(text()),
    errors: list(ref('WorkflowError'), 'At most 100.'),
    errors_truncated: flag(),
    callback_errors: list(ref('WorkflowError')),
    initiator: text('Who created it.'),
  }),
  WorkflowReply: object(
    { workflow: ref('Workflow') },
    { required: ['workflow'], description: 'The fields of the workflow stand at the top as well.' },
  ),
  WorkflowList: object(
    { workflows: list(ref('Workflow')), pagination: ref('Pagination') },
    { required: ['workflows', 'pagination'] },
  ),
  Event: object(
    {
      specversion: text(),
      id: text('evt_ and a UUIDv7; send it as `after` or Last-Event-ID to go on behind it.'),
      type: text('job.enqueued, job.started, job.completed, workflow.completed …'),
      source: text(),
      time: time(),
      subject: text('Id of the job or workflow, name of the queue.'),
      data: { type: 'object' },
      event: text('Of workflow events: the type again.'),
      workflow_id: text(),
      workflow_type: word(TYPES),
      workflow_name: nullable(text()),
    },
    { required: ['specversion', 'id', 'type', 'source', 'time', 'subject', 'data'] },
  ),
  EventPage: object(
    {
      events: list(ref('Event'), 'Oldest first.'),
      cursor: text('Send it as `after` to go on; there is one on the last page too.'),
      has_more: flag(),
    },
    { required: ['events', 'cursor', 'has_more'] },
  ),
}
