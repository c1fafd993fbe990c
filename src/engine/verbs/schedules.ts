/** What can be done with schedules. */

import type { ScheduleRow } from '../../model/rows.ts'
import type { InboxScheduling, ScheduleParams } from '../../model/schedules.ts'
import type { Parts } from '../parts.ts'

export interface ScheduleVerbs {
  readonly inboxSchedules: InboxScheduling
  putSchedule(params: ScheduleParams): Promise<ScheduleRow>
  setSchedule(params: { readonly name: string; readonly enabled: boolean }): Promise<ScheduleRow>
  removeSchedule(name: string): Promise<boolean>
}

export function scheduleVerbs({ schedules, inboxSchedules }: Parts): ScheduleVerbs {
  return {
    inboxSchedules,
    putSchedule: (p) => schedules.put(p),
    setSchedule: (p) => schedules.enable(p),
    removeSchedule: (name) => schedules.remove(name),
  }
}
