/**
 * The trigger that starts a workflow automatically. Carried with the definition; registering it sets up the trigger.
 */

import { newEvaluator } from '../../../expr/index.ts'
import { nextAfter } from '../../../kernel/cron.ts'
import { PetrelError } from '../../../kernel/errors.ts'
import { closest, type Part } from '../../../kernel/reading/part.ts'
import type { Trigger } from '../../source/definition.ts'
import type { Reading } from './reading.ts'

const FIELDS = ['event', 'condition', 'schedule', 'timezone']

/** null: only started explicitly. */
export function readTrigger(part: Part, reading: Reading): Trigger | null {
  if (!part.given || !reading.fields(part, FIELDS, 'a trigger')) return null
  const trigger: Trigger = {
    event: part.get('event').text('event'),
    condition: readCondition(part.get('condition')),
    schedule: part.get('schedule').text('schedule'),
    timezone: part.get('timezone').text('timezone') ?? 'UTC',
  }
  if (!part.has('event') && !part.has('schedule')) {
    part.wrong('a trigger has an event or a schedule', "event: order.created, or schedule: '0 9 * * mon'")
  }
  if (trigger.condition !== null && !part.has('event')) {
    part.get('condition').wrong('a condition looks at an event, and none is named', 'event: order.created')
  }
  if (part.has('timezone') && !part.has('schedule')) {
    reading.warn(part.get('timezone').path, 'timezone has no effect: there is no schedule', "schedule: '0 9 * * mon'")
  }
  checkSchedule(part, trigger)
  return trigger
}

function readCondition(part: Part): string | null {
  const text = part.text('condition')
  if (text === null) return null
  try {
    newEvaluator().names(text)
  } catch (error) {
    part.wrong(error instanceof Error ? error.message : String(error), 'for example payload.risk >= 0.7')
  }
  return text
}

function checkSchedule(part: Part, { schedule, timezone }: Trigger): void {
  if (schedule === null) return
  const at = part.get('schedule')
  try {
    if (nextAfter('trigger', schedule, timezone, Date.now()) === null) {
      at.wrong(`'${schedule}' never comes`, "for example '0 9 * * mon'")
    }
  } catch (error) {
    if (!(error instanceof PetrelError)) throw error
    const zone = error.details['wrong'] === 'timezone'
    const message = zone ? `there is no time zone '${timezone}'` : `'${schedule}' is not a schedule`
    const hint = zone ? zoneHint(timezone) : "five fields as in '0 9 * * mon', or '@every 15m'"
    ;(zone && part.has('timezone') ? part.get('timezone') : at).wrong(message, hint)
  }
}

function zoneHint(zone: string): string {
  const near = closest(zone, Intl.supportedValuesOf('timeZone'))
  return near === null ? 'an IANA name such as Europe/Berlin' : `did you mean '${near}'?`
}
