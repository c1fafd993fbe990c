/** What can be done with schedules. */

import type { ScheduleRow } from '../../model/rows.ts'
import type { Fired, RunRequest, ScheduleRef } from '../../model/schedules/fires.ts'
import type { InboxScheduling, ScheduleParams } from '../../model/schedules/schedules.ts'
import type { Parts } from '../parts.ts'

export interface ScheduleVerbs {
  readonly inboxSchedules: InboxScheduling
  putSchedule(params: ScheduleParams): Promise<ScheduleRow>
  setSchedule(params: { readonly name: string; readonly enabled: boolean }): Promise<ScheduleRow>
  removeSchedule(name: string): Promise<boolean>
  /** Its next time stays as it is. */
  runSchedule(ref: ScheduleRef, request: RunRequest): Promise<Fired>
}

export function scheduleVerbs({ schedules, scheduleFires, inboxSchedules }: Parts): ScheduleVerbs {
  return {
    inboxSchedules,
    putSchedule: (p) => schedules.put(p),
    setSchedule: (p) => schedules.enable(p),
    removeSchedule: (name) => schedules.remove(name),
    runSchedule: (ref, request) =>
      ref.table === 'cron' ? scheduleFires.run({ name: ref.name, ...request }) : inboxSchedules.run(ref.id, request),
  }
}
