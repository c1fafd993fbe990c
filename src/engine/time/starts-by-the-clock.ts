/** The kinds of findings that start work: schedules, and starts that were debounced. */
import type { ScheduleRow } from '../../model/rows.ts'
import type { Store } from '../../store/store.ts'
import type { DebouncedStarts } from '../intake/debounced-starts.ts'
import { type Findings, idOf } from '../transaction/findings.ts'
import type { InboxScheduler } from './inbox-schedules.ts'
import type { ScheduleFires } from './schedule-fires.ts'

export interface StartedByTheClock {
  readonly store: Store
  readonly scheduleFires: ScheduleFires
  readonly debouncedStarts: DebouncedStarts
  readonly inboxSchedules: InboxScheduler
}

/** By name, in the order in which they are swept. `start`: without delaying the others. */
export function startsByTheClock(
  { store, scheduleFires, inboxSchedules, debouncedStarts }: StartedByTheClock,
  findings: Findings,
  start: (name: string, fire: () => Promise<void>) => Promise<void>,
): Readonly<Record<string, () => Promise<void>>> {
  const { sweep } = store
  const fire = (row: ScheduleRow): Promise<void> => start(`cron ${row.name}`, () => scheduleFires.fire(row))
  return {
    crons: () =>
      findings.each(
        'sweep_cron',
        (p) => sweep.dueSchedules(p),
        ({ name }) => name,
        fire,
      ),
    debounced_starts: () =>
      findings.each(
        'sweep_debounced_start',
        (p) => sweep.dueDebounces(p),
        ({ key }) => key,
        (row) => start(`debounced ${row.key}`, () => debouncedStarts.fire(row)),
      ),
    schedules: () =>
      findings.each(
        'sweep_schedule',
        (p) => store.inboxSchedules.due(p),
        idOf,
        (row) => start(`schedule ${row.id}`, () => inboxSchedules.fire(row)),
      ),
  }
}
