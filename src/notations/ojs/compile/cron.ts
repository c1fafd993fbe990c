/**
 * Cron jobs: read from either form of the body, shown in both. The older form has `expression` and a `job_template`,
 * the newer `cron` and the job's fields beside it.
 */

import { nextAfter } from '../../../kernel/cron.ts'
import { PetrelError } from '../../../kernel/errors.ts'
import type { EnqueueParams } from '../../../model/enqueue.ts'
import type { ScheduleRow } from '../../../model/rows.ts'
import { HELD_AT } from '../../../model/rows.ts'
import type { ScheduleParams } from '../../../model/schedules.ts'
import { ALWAYS_BYTES, TEMPLATE_BYTES } from '../../../model/shown.ts'
import type { Json } from '../../../net/net.ts'
import { kindOf, Part } from '../../source/reader.ts'
import type { JsonObject } from '../project/envelope.ts'
import { timeText } from '../project/time.ts'
import { enqueueParams, type JobAsked, readJob } from './job.ts'
import { readCronName } from './names.ts'

/** What the client said of its cron job, word for word. */
interface About {
  readonly description?: string
  readonly job: JsonObject
}

const OVERLAPS = ['skip', 'allow', 'cancel_previous', 'enqueue'] as const
const WORDS = ['@yearly', '@annually', '@monthly', '@weekly', '@daily', '@midnight', '@hourly']
const JOB_FIELDS = ['type', 'args', 'meta', 'options']

/** Mistakes are noted; what comes back may be used only if none was. `now`: to see whether it ever fires. */
export function readCron(
  part: Part,
  by: { readonly tenant: string | null; readonly initiator: string | null; readonly now: number },
): ScheduleParams {
  const name = readCronName(part.get('name'))
  const timezone = readTimezone(part.get('timezone'))
  const expression = readExpression(part.get(part.has('expression') ? 'expression' : 'cron'), timezone, by.now)
  const overlap = part.get('overlap_policy').choice('overlap_policy', OVERLAPS) ?? 'skip'
  const enabled = part.get('enabled').flag('enabled') ?? true
  const description = part.get('description').text('description')
  const template = jobPart(part)
  // Read at moment 0: what is counted from now stays the time from each firing on.
  const job = readJob(template, 0)
  const about: About = { ...(description === null ? {} : { description }), job: template.value as JsonObject }
  return {
    name,
    expression,
    timezone,
    overlap,
    enabled,
    run: firingParams(job, name, by),
    ...(by.tenant === null ? {} : { tenant: by.tenant }),
    about: about as unknown as Json,
  }
}

/** The job of either form, with a path that leads to it in the body. */
function jobPart(part: Part): Part {
  const older = part.get('job_template')
  if (older.given && !older.isObject) older.wrong(`job_template is an object, this is ${kindOf(older.value)}`)
  const from = older.isObject ? older : part
  const job: Record<string, unknown> = { args: [] }
  // depends_on: to be refused with its place.
  for (const field of [...JOB_FIELDS, 'depends_on']) if (from.has(field)) job[field] = from.get(field).value
  const { meta } = (job['options'] ?? {}) as { readonly meta?: unknown }
  if (meta !== undefined && job['meta'] === undefined) job['meta'] = meta
  return new Part(part.notes, job, from.path)
}

function firingParams(
  job: JobAsked,
  cron: string,
  by: { readonly tenant: string | null; readonly initiator: string | null },
): EnqueueParams {
  const { scheduledAt: _, expiresAt: __, ...envelope } = job.envelope
  const { runAt, unique, ...params } = enqueueParams({ ...job, id: null, envelope: { ...envelope, cron } }, by)
  return {
    ...params,
    ...(runAt === HELD_AT ? { runAt } : {}),
    // A firing has nobody to reject.
    ...(unique === undefined ? {} : { unique: { ...unique, onConflict: quiet(unique.onConflict) } }),
  }
}

function quiet<T extends string>(onConflict: T): T | 'ignore' {
  return onConflict === 'reject' ? 'ignore' : onConflict
}

/** Offsets and abbreviations do not know of daylight saving, so only names of the IANA database are taken. */
function readTimezone(part: Part): string {
  if (!part.given) return 'UTC'
  const { value } = part
  if (value === 'UTC' || (typeof value === 'string' && value.includes('/') && isZone(value))) return value
  part.wrong(`timezone is a name of the IANA database, this is ${kindOf(value)}`, 'such as UTC or Europe/Berlin')
  return 'UTC'
}

function isZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== ''
  } catch {
    return false
  }
}

function readExpression(part: Part, timezone: string, now: number): string {
  const { value } = part
  const hint = "five fields as in '0 9 * * mon', six with seconds first, or @daily, @hourly …, @every 30m"
  if (typeof value !== 'string') {
    part.wrong(
      part.given ? `a cron expression is a text, this is ${kindOf(value)}` : 'the cron expression is missing',
      hint,
    )
    return '@daily'
  }
  const fields = value.trim().split(/\s+/).length
  const known = value.startsWith('@every ') || WORDS.includes(value.trim()) || fields === 5 || fields === 6
  const problem = known ? problemOf(value, timezone, now) : `'${value}' is no cron expression`
  if (problem !== null) part.wrong(problem, hint)
  return value
}

function problemOf(expression: string, timezone: string, now: number): string | null {
  try {
    return nextAfter('', expression, timezone, now) === null ? `'${expression}' never comes` : null
  } catch (error) {
    if (!(error instanceof PetrelError)) throw error
    return `'${expression}' is no cron expression: ${error.details.problem}`
  }
}

/** `name`: what its reader calls it. `href` given: long values of the job are left out, and it says where they are. */
export function cronWire(row: ScheduleRow, name: string, href: string | null = null): JsonObject {
  const { about, run } = JSON.parse(row.template) as { readonly about?: About; readonly run?: EnqueueParams }
  // Made by the SDK: what it starts may be a workflow, which has no words here.
  const whole: JsonObject = about?.job ?? { type: run?.type ?? 'workflow', args: payloadOf(run) }
  const job = href === null ? whole : withoutLong(whole, href)
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
