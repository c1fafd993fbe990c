/** Cron jobs as they are shown, with the names of both forms of the API, and as a client registers them. */
import type { EnqueueParams } from '../../../../model/enqueue.ts'
import type { ScheduleRow } from '../../../../model/rows.ts'
import { ALWAYS_BYTES, TEMPLATE_BYTES } from '../../../../model/shown.ts'
import type { Json } from '../../../../net/net.ts'
import {
  anything,
  asked,
  extensible,
  flag,
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
import { type CronAbout, OVERLAPS } from '../../compile/cron.ts'
import type { JsonObject } from '../../project/envelope.ts'
import { timeText } from '../../project/time.ts'
import { Pagination } from '../paging.ts'
import { CRON_FIELD } from './fields.ts'
import { JobRequest, WORK_FIELDS } from './job-request.ts'

export const CronRequest = named(
  'CronRequest',
  object(
    {
      name: CRON_FIELD,
      expression: optional(text('Five fields, six with seconds, or @daily, @every 30m … `cron` is an alias.')),
      cron: optional(text('The same.')),
      timezone: optional(text({ description: 'IANA name.', default: 'UTC' })),
      overlap_policy: optional(word(OVERLAPS)),
      enabled: optional(flag({ default: true })),
      description: optional(text()),
      job_template: optional(JobRequest),
      ...WORK_FIELDS,
      type: optional(WORK_FIELDS.type),
      args: optional(WORK_FIELDS.args),
    },
    'Instead of job_template, the fields type, args, meta and options may be given beside the name.',
  ),
)

export const CronSwitch = extensible(
  asked('a cron job', {
    enabled: flag({ hint: 'To change anything else, register the cron job again under its name.' }),
  }),
)

const FIELDS = {
  name: text(),
  expression: text(),
  cron: text('The same.'),
  timezone: text(),
  overlap_policy: word(OVERLAPS),
  enabled: flag(),
  status: word(['active', 'paused']),
  description: optional(text()),
  type: optional(anything('Of the job.')),
  args: optional(anything('Of the job.')),
  meta: optional(anything('Of the job.')),
  options: anything('Of the job.'),
  job_template: anything({ type: 'object', description: 'The job again, as one object. Lists leave out long values.' }),
  next_run_at: nullable(time()),
  last_run_at: nullable(time()),
  last_job_id: nullable(text()),
  run_count: whole(),
  created_at: time(),
  tenant: optional(text()),
}

export const Cron = named('Cron', object(FIELDS))

export type CronWire = Value<typeof Cron>

export const CronReply = named('CronReply', object({ cron: Cron, cron_job: Cron }))

export const CronList = named('CronList', object({ crons: list(Cron), cron_jobs: list(Cron), pagination: Pagination }))

export const CronRemoved = object({ cron: Cron, cron_job: Cron, deleted: flag(), name: text() })

/** With the names that the admin page looks for. */
export const CronItem = named('CronItem', object({ ...FIELDS, id: text(), schedule: text(), queue: text() }))

export const CronItemList = object({ items: list(CronItem), pagination: Pagination })

export const CronItemRemoved = object({ deleted: flag(), id: text(), name: text() })

/** `name`: as its reader knows it. `href` given: long values of the job are left out, and it is the link to them. */
export function cronWire(row: ScheduleRow, name: string, href: string | null = null): CronWire {
  const { about, run } = JSON.parse(row.template) as { readonly about?: CronAbout; readonly run?: EnqueueParams }
  // Made by the SDK: what it starts may be a workflow, which has no words here.
  const full: JsonObject = about?.job ?? { type: run?.type ?? 'workflow', args: payloadOf(run) }
  const job = href === null ? full : withoutLong(full, href)
  return {
    name,
    expression: row.expression,
    cron: row.expression,
    timezone: row.timezone,
    overlap_policy: row.overlap,
    enabled: row.enabled,
    status: row.enabled ? 'active' : 'paused',
    ...(about?.description === undefined ? {} : { description: about.description }),
    ...job,
    options: job['options'] ?? {},
    job_template: job,
    last_run_at: row.lastAt === null ? null : timeText(row.lastAt),
    next_run_at: row.nextAt === null ? null : timeText(row.nextAt),
    last_job_id: row.lastId,
    run_count: row.fireCount,
    created_at: timeText(row.createdAt),
    ...(row.tenant === null ? {} : { tenant: row.tenant }),
  }
}

export function cronItemWire(cron: CronWire): Value<typeof CronItem> {
  const { queue = 'default' } = cron.options as { readonly queue?: string }
  return { ...cron, id: cron.name, schedule: cron.expression, queue }
}

function withoutLong(job: JsonObject, href: string): JsonObject {
  const entries = Object.entries(job).map(([name, value]): [string, Json] => {
    const bytes = Buffer.byteLength(JSON.stringify(value))
    const most = name === 'options' ? TEMPLATE_BYTES : ALWAYS_BYTES
    return bytes <= most ? [name, value] : [name, { $omitted: { bytes, href } }]
  })
  return Object.fromEntries(entries)
}

function payloadOf(run: EnqueueParams | undefined): Json {
  const payload = run?.payload ?? []
  return Array.isArray(payload) ? payload : [payload]
}
