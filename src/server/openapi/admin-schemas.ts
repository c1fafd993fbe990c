/** What the administration answers with. */
import { list, object, text, time, whole } from './schema.ts'

const COUNTS = object({ available: whole(), active: whole(), completed: whole(), discarded: whole() })
const THROUGHPUT = object({ processed_per_minute: { type: 'number' }, failed_per_minute: { type: 'number' } })
export const ADMIN_SCHEMAS = {
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
}
