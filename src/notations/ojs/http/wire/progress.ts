/** Progress of a job: a fraction from 0 to 1, data of the handler's own, or both. */
import type { SavedRow } from '../../../../model/saved.ts'
import type { Json } from '../../../../net/net.ts'
import type { ProgressSeen } from '../../../../operations/runs/progress.ts'
import {
  anything,
  flag,
  named,
  nullable,
  number,
  object,
  optional,
  text,
  time,
  type Value,
  word,
} from '../../../../wire/schema.ts'
import type { JsonObject } from '../../project/envelope.ts'
import { JOB_STATES, jobState } from '../../project/state.ts'
import { timeText } from '../../project/time.ts'
import { WORKER_ID } from './fields.ts'

const BODY = {
  progress: optional(nullable(number({ description: 'From 0 to 1; beyond is set to the nearest end.' }))),
  message: optional(nullable(text({ description: 'What the job does at the moment.', maxLength: 1000 }))),
  data: optional(anything('Any data of the handler.')),
  worker_id: optional(nullable(WORKER_ID)),
}

export const ProgressRequest = named('ProgressRequest', object(BODY))

export const PercentRequest = named(
  'PercentRequest',
  object({
    job_id: text(),
    percentage: optional(nullable(number({ description: 'From 0 to 100; beyond is set to the nearest end.' }))),
    ...BODY,
  }),
)

export const Progress = named(
  'Progress',
  object({
    job_id: text(),
    state: word(JOB_STATES),
    progress: nullable(number({ minimum: 0, maximum: 1, description: '1 as soon as the job has completed.' })),
    percentage: optional(number()),
    message: optional(text()),
    data: anything("The handler's own; null: none."),
    reported: flag('false: nothing was reported in this execution.'),
    accepted: optional(flag('In the reply to a report: whether it counted.')),
    updated_at: optional(time()),
  }),
)

export function progressWire({ run, saved, now }: ProgressSeen): Value<typeof Progress> {
  const about = { job_id: run.id, state: jobState(run, now), progress: null, data: null }
  if (saved === null) return { ...about, reported: false }
  const done = run.status === 'succeeded' ? numberWire(1) : {}
  return { ...about, ...reported(saved), ...done, updated_at: timeText(saved.updatedAt), reported: true }
}

/** What is saved of a report. `fraction` null: data alone; the number before stays. */
export function progressText(
  before: SavedRow | null,
  {
    fraction,
    message,
    data,
  }: { readonly fraction: number | null; readonly message: string | null; readonly data: unknown },
): { readonly text: string; readonly fraction: number | null } {
  const current = fraction ?? numberIn(before)
  const value = {
    ...numberWire(current),
    ...(message === null ? {} : { message }),
    ...(data === null ? {} : { data }),
  }
  return { text: JSON.stringify(value), fraction: current }
}

function numberIn(saved: SavedRow | null): number | null {
  const { progress } = saved === null ? {} : reported(saved)
  return typeof progress === 'number' ? progress : null
}

function numberWire(fraction: number | null): { readonly progress?: number; readonly percentage?: number } {
  return fraction === null ? {} : { progress: fraction, percentage: Math.round(fraction * 10_000) / 100 }
}

/** Workers of the SDK may report any JSON: shown as data. */
function reported(saved: SavedRow): JsonObject & { readonly data?: unknown; readonly progress?: number } {
  const value = JSON.parse(saved.progress as string) as Json
  const ours = value !== null && typeof value === 'object' && ('progress' in value || 'data' in value)
  return ours ? (value as { readonly progress?: number }) : { data: value }
}
