/**
 * Cron jobs, read from either form of the body; http/wire/cron.ts shows them in both. The older form has `expression` and a `job_template`,
 * the newer `cron` and the job's fields beside it.
 */

import { nextAfter } from '../../../kernel/cron.ts'
import { PetrelError } from '../../../kernel/errors.ts'
import { kindOf, Part } from '../../../kernel/reading/part.ts'
import type { EnqueueParams } from '../../../model/enqueue.ts'
import { HELD_AT } from '../../../model/rows.ts'
import type { ScheduleParams } from '../../../model/schedules/schedules.ts'
import type { Json } from '../../../net/net.ts'
import type { JsonObject } from '../project/envelope.ts'
import { enqueueParams, type JobAsked, readJob } from './job.ts'
import { readCronName } from './names.ts'

/** A cron job exactly as its client described it. */
export interface CronAbout {
  readonly description?: string
  readonly job: JsonObject
}

export const OVERLAPS = ['skip', 'allow', 'cancel_previous', 'enqueue'] as const
const WORDS = ['@yearly', '@annually', '@monthly', '@weekly', '@daily', '@midnight', '@hourly']
const JOB_FIELDS = ['type', 'args', 'meta', 'options']

/** Mistakes are noted; the result may be used only if there are none. `now`: to check whether it ever fires. */
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
  // Read at moment 0: a time counted from now remains relative to each firing.
  const job = readJob(template, 0)
  const about: CronAbout = { ...(description === null ? {} : { description }), job: template.value as JsonObject }
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
  if (older.given && !older.isObject) older.wrong(`job_template must be an object, not ${kindOf(older.value)}`)
  const from = older.isObject ? older : part
  const job: Record<string, unknown> = { args: [] }
  // depends_on is refused with its place.
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
    // A firing has no caller that could be refused.
    ...(unique === undefined ? {} : { unique: { ...unique, onConflict: quiet(unique.onConflict) } }),
  }
}

function quiet<T extends string>(onConflict: T): T | 'ignore' {
  return onConflict === 'reject' ? 'ignore' : onConflict
}

/** Offsets and abbreviations have no daylight saving time, so only names of the IANA database are accepted. */
function readTimezone(part: Part): string {
  if (!part.given) return 'UTC'
  const { value } = part
  if (value === 'UTC' || (typeof value === 'string' && value.includes('/') && isZone(value))) return value
  part.wrong(`timezone must be a name of the IANA database, not ${kindOf(value)}`, 'such as UTC or Europe/Berlin')
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
      part.given ? `a cron expression must be a string, not ${kindOf(value)}` : 'the cron expression is missing',
      hint,
    )
    return '@daily'
  }
  const fields = value.trim().split(/\s+/).length
  const known = value.startsWith('@every ') || WORDS.includes(value.trim()) || fields === 5 || fields === 6
  const problem = known ? problemOf(value, timezone, now) : `'${value}' is not a cron expression`
  if (problem !== null) part.wrong(problem, hint)
  return value
}

function problemOf(expression: string, timezone: string, now: number): string | null {
  try {
    return nextAfter('', expression, timezone, now) === null ? `'${expression}' never comes` : null
  } catch (error) {
    if (!(error instanceof PetrelError)) throw error
    return `'${expression}' is not a cron expression: ${error.details.problem}`
  }
}
