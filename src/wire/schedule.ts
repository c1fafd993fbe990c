/** Schedules of all kinds: what they make, when, and what they did. */

import { cronInWords } from '../kernel/cron-words.ts'
import type { Fired, FireRow, ListedSchedule } from '../model/schedules/fires.ts'
import { type InboxScheduleRow, listedInbox } from '../model/schedules/schedules.ts'
import {
  anything,
  flag,
  list,
  time as moment,
  named,
  nullable,
  object,
  text,
  uuid,
  type Value,
  whole,
  word,
} from './schema.ts'
import { rows, shown, time } from './value.ts'

const MADE = word(['run', 'instance'], 'What it creates.')

export const Schedule = named(
  'Schedule',
  object({
    id: text('Its name, or the id of a schedule of the inbox.'),
    kind: word(
      ['cron', 'definition', 'inbox'],
      'cron: created by a client. definition: the trigger of a deployed definition. inbox: a row of workflow_schedule.',
    ),
    name: text('Of a schedule of the inbox: the type of its runs.'),
    makes: MADE,
    type: text('The type of its runs, or the name of its workflow.'),
    schedule: text('Cron, or an interval: `@every 30m`.'),
    in_words: nullable(text('The expression in words; null: it is not a common one.')),
    timezone: text(),
    overlap: word(
      ['skip', 'allow', 'cancel_previous', 'enqueue'],
      'What happens if its last work has not ended. Schedules of the inbox allow it.',
    ),
    enabled: flag(),
    disabled_reason: nullable(text('Why the engine disabled it, such as an invalid cron expression.')),
    next_run_at: nullable(moment('null: it is paused, or never fires again.')),
    last_run_at: nullable(moment()),
    last_run_id: nullable(text('The run that it made last.')),
    last_instance_id: nullable(text('The instance that it started last.')),
    tenant: nullable(text()),
    payload: anything('Of a schedule of the inbox: the payload of the runs it submits.'),
    priority: nullable(whole('Of a schedule of the inbox: the priority of its runs.')),
    max_attempts: nullable(whole('Of a schedule of the inbox: executions of each run in total.')),
    created_at: moment(),
    updated_at: nullable(moment('Of a schedule of the inbox: when it was last changed or fired.')),
  }),
)

export const ScheduleReply = named('ScheduleReply', object({ schedule: Schedule }))
export const ScheduleList = named(
  'ScheduleList',
  object({
    schedules: rows(Schedule),
    next_after: nullable(text('`after` of the next page; null: this is the last.')),
  }),
)

export const Fire = named(
  'Fire',
  object({
    id: uuid(),
    planned_at: nullable(moment('When it was due; null: it was requested.')),
    fired_at: moment(),
    made: nullable(MADE),
    run_id: nullable(uuid('The run it made.')),
    instance_id: nullable(uuid('The instance it started; the first one if several were idle.')),
    made_count: whole('How many it made or started.'),
    skipped: nullable(
      word(
        ['overlap', 'refused'],
        'overlap: its last work had not ended. refused: the definition could not be started.',
      ),
    ),
    reason: nullable(text('Why it was refused.')),
    actor: nullable(text('Who requested it.')),
  }),
)

export const FireList = named(
  'FireList',
  object({ fires: rows(Fire), next_before: nullable(uuid('`before` of the next page; null: this is the last.')) }),
)

export const NextFires = named(
  'NextFires',
  object({
    enabled: flag('false: it fires at these times only if it is resumed.'),
    timezone: text(),
    times: list(
      object({ at: moment('In UTC.'), local: text('On the clocks of its time zone, with the offset from UTC.') }),
    ),
  }),
)

export const ScheduleRun = named(
  'ScheduleRun',
  object({
    created: flag('false: an earlier request under this key did it.'),
    run_id: nullable(uuid('The run it made.')),
    instance_id: nullable(uuid('The instance it started.')),
    fire: nullable(Fire),
  }),
)

/** A schedule, under the id by which its caller knows it. */
export function scheduleWire(row: ListedSchedule & { readonly id: string }): Value<typeof Schedule> {
  const { id, inbox, makes, lastId } = row
  return {
    id,
    kind: row.kind,
    name: row.name,
    makes,
    type: row.type,
    schedule: row.expression,
    in_words: cronInWords(row.expression),
    timezone: row.timezone,
    overlap: row.overlap,
    enabled: row.enabled,
    disabled_reason: inbox?.disabledReason ?? null,
    next_run_at: time(row.nextAt),
    last_run_at: time(row.lastAt),
    last_run_id: makes === 'run' ? lastId : null,
    last_instance_id: makes === 'instance' ? lastId : null,
    tenant: row.tenant,
    payload: inbox === null ? null : shown(inbox.payload, `/v1/schedules/${id}`),
    priority: inbox?.priority ?? null,
    max_attempts: inbox?.maxAttempts ?? null,
    created_at: time(row.createdAt),
    updated_at: time(inbox?.updatedAt ?? null),
  }
}

/** One that was just created. */
export function inboxScheduleWire(row: InboxScheduleRow): Value<typeof Schedule> {
  return scheduleWire({ ...listedInbox(row), id: row.id })
}

export function fireWire(row: FireRow): Value<typeof Fire> {
  return {
    id: row.id,
    planned_at: time(row.plannedAt),
    fired_at: time(row.firedAt),
    made: row.made,
    ...idsOf(row.made, row.madeId),
    made_count: row.madeCount,
    skipped: row.skipped,
    reason: row.reason,
    actor: row.actor,
  }
}

export function firedWire({ created, made, id, fire }: Fired): Value<typeof ScheduleRun> {
  return { created, ...idsOf(made, id), fire: fire === null ? null : fireWire(fire) }
}

function idsOf(made: 'run' | 'instance' | null, id: string | null) {
  return { run_id: made === 'run' ? id : null, instance_id: made === 'instance' ? id : null }
}
