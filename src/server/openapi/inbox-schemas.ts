/** Runs of the inbox, their workers' words, the registry and schedules. */
import { anything, flag, list, nullable, object, ref, text, time, uuid, whole, word } from './schema.ts'

const STATUS = ['pending', 'leased', 'succeeded', 'failed', 'cancelled']

const RUN = {
  id: uuid(),
  type: text('Dotted, and its last word is a version: `billing.invoice.v1`.'),
  payload: anything('What it was submitted with.'),
  status: word(STATUS),
  priority: whole('Smaller is earlier; 100 is the default.'),
  run_at: time('Not before then.'),
  idempotency_key: nullable(text('Taken for ever.')),
  attempt: whole('Executions that failed so far.'),
  max_attempts: whole('Executions in all.'),
  leased_by: nullable(text('Who holds it.')),
  lease_until: nullable(time('It is taken back then unless a heartbeat comes; null while a session holds it.')),
  last_error: nullable(text()),
  result: anything('What its worker returned.'),
  created_at: time(),
  deleted_at: nullable(time('Since then nobody takes it, and lists do not show it.')),
  queue: text(),
  tenant: nullable(text()),
  instance_id: nullable(uuid('The workflow it is a step of.')),
  node: nullable(text('Which step.')),
  cancel_requested: flag('Its worker should stop.'),
  error: anything('The last error: code, message, details.'),
}

const RUN_FIELDS = ['id', 'type', 'payload', 'status', 'priority', 'run_at', 'attempt', 'max_attempts', 'queue']

const HOLD = {
  worker_id: text('As it was claimed with.', { minLength: 1, maxLength: 255 }),
  epoch: whole('As it came with the run; under another one nothing is changed.', { minimum: 0 }),
}

const SAID = {
  set: {
    type: 'object',
    description:
      'Entries of the context of its workflow, by name (1 to 128 characters); null removes one. Written before what follows is ' +
      'decided; not if the run is to be tried again. A run of no workflow has no context.',
    additionalProperties: true,
  },
  notes: list(
    anything('Any JSON'),
    'For the history: kept in `data.notes` of the event that tells of this. 64 KiB in all; what is beyond is dropped and counted ' +
      'in `data.notes_dropped`.',
  ),
}

const LEASE_SECONDS = { type: 'number', minimum: 1, maximum: 86_400 }

export const INBOX_SCHEMAS = {
  InboxRun: object(RUN, { required: RUN_FIELDS }),
  InboxRunReply: object({ run: ref('InboxRun') }, { required: ['run'] }),
  InboxRunList: object(
    { runs: list(ref('InboxRun')), next_before: nullable(text('Send it as `before`; null: there is no more.')) },
    { required: ['runs', 'next_before'] },
  ),
  SubmitRequest: object(
    {
      type: text('Dotted, and its last word is a version.', {
        pattern: '^[^.\\s]+(\\.[^.\\s]+)*\\.v[0-9]+$',
        maxLength: 255,
      }),
      payload: anything('Any JSON value.'),
      idempotency_key: text('A second submit under it answers with the first run.', { minLength: 1, maxLength: 512 }),
      priority: whole('Smaller is earlier.', { default: 100 }),
      run_at: time('Not before then; RFC 3339 with a time zone.'),
      max_attempts: whole('Executions in all.', { minimum: 1, maximum: 1000, default: 3 }),
      queue: text(undefined, { default: 'default', minLength: 1, maxLength: 255 }),
    },
    { required: ['type', 'payload'] },
  ),
  SubmitReply: object(
    {
      id: uuid(),
      created: flag('false: the key was taken, this is the run that has it.'),
      run: { anyOf: [ref('InboxRun'), { type: 'null' }], description: 'null: it had the key, and has been removed.' },
    },
    { required: ['id', 'created', 'run'] },
  ),
  RunEvents: object(
    {
      events: list(
        object(
          {
            type: text('created, leased, started, heartbeat, succeeded, failed, retried, cancelled, returned …'),
            at: time(),
            actor: nullable(text('Who did it, where somebody said.')),
            data: anything('What belongs to it: worker_id, attempt, error …'),
          },
          { required: ['type', 'at', 'actor', 'data'] },
        ),
      ),
      next_after: nullable(whole('Ask for more after this many; null: these are the last.')),
    },
    { required: ['events', 'next_after'] },
  ),
  ClaimRequest: object(
    {
      worker_id: text('Any name the worker keeps for its life.', { minLength: 1, maxLength: 255 }),
      types: list(text('`billing.invoice.v1`, or a prefix: `billing.%`.')),
      queues: list(text(), 'The first is emptied first. Left out: all of them, by priority and age.'),
      runtime: text('What the registry calls its language: go, python … Without one, only types open to all.'),
      lease_seconds: { ...LEASE_SECONDS, default: 30 },
      limit: whole('Runs at most.', { minimum: 1, maximum: 100, default: 1 }),
      wait_seconds: {
        type: 'number',
        minimum: 0,
        maximum: 30,
        default: 0,
        description: 'How long the answer may wait for a first run. Whoever hangs up meanwhile gets none.',
      },
    },
    { required: ['worker_id', 'types'] },
  ),
  ClaimReply: object(
    {
      runs: list(
        object(
          {
            ...RUN,
            epoch: whole('Goes with every report on this lease.'),
            program: anything('What its step says is to be done, where the type alone does not; null: nothing.'),
            parent_results: {
              type: ['object', 'null'],
              description: 'Results of the steps before it, by step; null for a run of no workflow.',
            },
          },
          { required: [...RUN_FIELDS, 'epoch', 'program', 'parent_results'] },
        ),
      ),
    },
    { required: ['runs'] },
  ),
  LeaseHeartbeat: object(
    { ...HOLD, lease_seconds: { ...LEASE_SECONDS, description: 'Left out: as long as before.' } },
    { required: ['worker_id', 'epoch'] },
  ),
  LeaseHeartbeatReply: object(
    { status: word(['leased']), lease_until: time(), cancel_requested: flag('The worker should stop.') },
    { required: ['status', 'lease_until', 'cancel_requested'] },
  ),
  CompleteRequest: object(
    { ...HOLD, result: anything('Any JSON value.'), ...SAID },
    { required: ['worker_id', 'epoch'] },
  ),
  FailRequest: object(
    {
      ...HOLD,
      error: object(
        {
          message: text(),
          code: text('What went wrong, in a word; handler_error if left out.'),
          category: text('transient, agent, timeout, validation, external or governance; policies may name them.'),
          details: anything('Whatever helps. `retry_delay_ms` in it says when to come again.'),
        },
        { required: ['message'] },
      ),
      retryable: flag('false: it has failed for good. true: again, whatever the policy says, if an attempt is left.'),
      ...SAID,
    },
    { required: ['worker_id', 'epoch', 'error'] },
  ),
  FailReply: object(
    {
      run: ref('InboxRun'),
      retry_in_seconds: { type: ['number', 'null'], description: 'null: it has failed for good.' },
    },
    { required: ['run', 'retry_in_seconds'] },
  ),
  LaterRequest: object(
    {
      ...HOLD,
      delay_seconds: { type: 'number', minimum: 0, maximum: 31_622_400, description: 'Due again in so long.' },
      ...SAID,
    },
    { required: ['worker_id', 'epoch', 'delay_seconds'] },
  ),
  ReleaseRequest: object(HOLD, { required: ['worker_id', 'epoch'] }),
  RegistryEntry: object(
    {
      workflow_name: text('The type.'),
      intent_type: text(),
      runtime: text('Which workers may take it.'),
      is_enabled: flag('false: nobody may.'),
      description: nullable(text()),
      created_at: time(),
      updated_at: time(),
      pending: whole('Runs of it that wait. In lists.'),
    },
    { required: ['workflow_name', 'runtime', 'is_enabled'] },
  ),
  RegistryReply: object({ entry: ref('RegistryEntry') }, { required: ['entry'] }),
  RegistryList: object({ entries: list(ref('RegistryEntry')) }, { required: ['entries'] }),
  RegistryRequest: object(
    {
      runtime: text(undefined, { minLength: 1, maxLength: 255 }),
      is_enabled: flag('Left out: as it was, or true.'),
      description: nullable(text('Left out: as it was.')),
      intent_type: text('Left out: as it was, or `workflow`.'),
    },
    { required: ['runtime'] },
  ),
  InboxSchedule: object(
    {
      id: uuid(),
      type: text(),
      payload: anything('Of each run it makes.'),
      schedule: text('Cron, five fields.'),
      timezone: text(),
      priority: whole(),
      max_attempts: whole(),
      enabled: flag(),
      disabled_reason: nullable(text('Why the engine disabled it, such as a cron expression it cannot read.')),
      next_run_at: time(),
      last_run_at: nullable(time()),
      created_at: time(),
      updated_at: time(),
    },
    { required: ['id', 'type', 'schedule', 'timezone', 'enabled'] },
  ),
  InboxScheduleReply: object({ schedule: ref('InboxSchedule') }, { required: ['schedule'] }),
  InboxScheduleList: object({ schedules: list(ref('InboxSchedule')) }, { required: ['schedules'] }),
  InboxScheduleRequest: object(
    {
      type: text('Dotted, and its last word is a version.'),
      payload: anything('Default {}.'),
      schedule: text('Cron, five fields: `0 6 * * *`.'),
      timezone: text('IANA name.', { default: 'UTC' }),
      priority: whole(undefined, { default: 100 }),
      max_attempts: whole(undefined, { minimum: 1, maximum: 1000, default: 3 }),
    },
    { required: ['type', 'schedule'] },
  ),
}
