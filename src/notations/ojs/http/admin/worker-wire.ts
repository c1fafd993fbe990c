/** Workers as JSON. */
import { unscopedName } from '../../../../kernel/scoped-names.ts'
import type { WorkerRow } from '../../../../model/rows.ts'
import {
  list,
  named,
  nullable,
  object,
  optional,
  text,
  time,
  type Value,
  whole,
  word,
} from '../../../../wire/schema.ts'
import { timeText } from '../../project/time.ts'

export const STATES = { running: 'running', quiet: 'quiet', terminate: 'terminate', dead: 'stale' } as const
const HEALTH = { running: 'running', quiet: 'draining', terminate: 'shutting_down', dead: 'dead' } as const

export const WORKER = {
  id: text(),
  name: text(),
  hostname: nullable(text()),
  pid: nullable(whole()),
  runtime: nullable(text()),
  build: optional(text('The build of its program, if it states one.')),
  state: word(['running', 'quiet', 'terminate', 'stale']),
  queues: nullable(list(text())),
  concurrency: nullable(whole()),
  active_jobs: optional(whole('Missing if too many jobs are active to count.')),
  started_at: time(),
  last_heartbeat_at: time(),
  tenant: optional(text()),
}

export const Worker = named('Worker', object(WORKER))

/** `activeJobs` null: not counted. */
export function workerWire(row: WorkerRow, activeJobs: number | null): Value<typeof Worker> {
  return {
    id: row.id,
    name: unscopedName(row.name),
    hostname: row.host,
    pid: row.pid,
    runtime: row.runtime,
    ...(row.build === null ? {} : { build: row.build }),
    state: STATES[row.state],
    queues: row.queues,
    concurrency: row.concurrency,
    ...(activeJobs === null ? {} : { active_jobs: activeJobs }),
    started_at: timeText(row.startedAt),
    last_heartbeat_at: timeText(row.heartbeatAt),
    ...(row.tenant === null ? {} : { tenant: row.tenant }),
  }
}

export const WorkerHealth = named(
  'WorkerHealth',
  object({
    worker_id: text(),
    state: word(['running', 'draining', 'shutting_down', 'dead']),
    last_heartbeat_at: time(),
    expires_at: time(),
  }),
)

export function healthWire({ id, state, heartbeatAt, expiresAt }: WorkerRow): Value<typeof WorkerHealth> {
  return {
    worker_id: unscopedName(id),
    state: HEALTH[state],
    last_heartbeat_at: timeText(heartbeatAt),
    expires_at: timeText(expiresAt),
  }
}
