/** What the administration answers with. */
import { flag, list, object, ref, text, time, whole } from './schema.ts'

const COUNTS = object({ available: whole(), active: whole(), completed: whole(), discarded: whole() })
const THROUGHPUT = object({ processed_per_minute: { type: 'number' }, failed_per_minute: { type: 'number' } })
const SETTINGS = {
  backpressure: object({
    max_depth: whole('Jobs that have not ended; 0: any number.'),
    strategy: text('reject'),
    warning_threshold: { type: 'number', minimum: 0, maximum: 1, default: 0.8 },
  }),
  concurrency: whole('Active at the same time.'),
  rate_limit: object({ limit: whole(), period: text('Such as 1m, or ISO 8601 such as PT1H; shown as ISO 8601.') }),
}

export const ADMIN_SCHEMAS = {
  AdminQueue: object({
    name: text(),
    state: text(),
    paused: flag(),
    counts: COUNTS,
    throughput: THROUGHPUT,
    configuration: ref('QueueSettings'),
  }),
  QueueSettings: object(SETTINGS),
  QueueConfig: object({ name: text(), configuration: ref('QueueSettings') }),
  BulkOperation: object({
    operation_id: text(),
    action: text(),
    status: text('running, completed or stopped.'),
    matched: whole(),
    succeeded: whole(),
    failed: whole(),
    errors: list(object({ job_id: text(), error: text() }), 'The first few.'),
  }),
  Worker: object({
    id: text(),
    hostname: text(),
    state: text('running, quiet, terminate or stale.'),
    queues: list(text()),
    concurrency: whole(),
    active_jobs: whole('Left out where too many jobs are active to count.'),
    started_at: time(),
    last_heartbeat_at: time(),
  }),
  Stats: object({ queues: whole(), workers: whole(), jobs: COUNTS, throughput: THROUGHPUT, uptime_seconds: whole() }),
  RateLimit: object({
    key: text(),
    concurrency: whole(),
    active: whole(),
    limit: whole(),
    period: text(),
    remaining: whole(),
  }),
}
