/** schedules show | next | history: one schedule, when it fires, and what it did. */

import type { Command } from 'commander'
import { MAX_NEXT_FIRES } from '../../../kernel/limits.ts'
import type { FireRow } from '../../../model/schedules/fires.ts'
import { listFires, nextFires, showAnySchedule } from '../../../operations/schedules/timetable.ts'
import { fireWire, scheduleWire } from '../../../wire/schedule.ts'
import { time } from '../../../wire/value.ts'
import { hinting } from '../../inbox.ts'
import { withOperations } from '../../process/connect.ts'
import { act, jsonOption, type Shared, storeOptions, wholeNumber } from '../../terminal/act.ts'
import { EXIT } from '../../terminal/failure.ts'
import type { Terminal } from '../../terminal/terminal.ts'
import { brief, clock } from '../../terminal/words.ts'

export const KNOWN_BY = 'as schedules ls shows it'
export const UNKNOWN = '`petrel schedules ls` lists them'

export function defineShow(schedules: Command): void {
  const show = schedules.command('show').argument('<schedule>', KNOWN_BY).description('show a schedule')
  jsonOption(storeOptions(show)).action(
    act<Shared, readonly [string]>(async (terminal, options, id) => {
      const row = await hinting(
        UNKNOWN,
        withOperations(options, (perform) => perform(showAnySchedule, { id })),
      )
      const schedule = scheduleWire(row)
      if (terminal.json) terminal.data({ schedule })
      else {
        for (const [name, value] of Object.entries(schedule)) {
          if (value === null) continue
          terminal.print(`${name.padEnd(18)} ${typeof value === 'object' ? brief(value, 100) : String(value)}`)
        }
      }
      return EXIT.ok
    }),
  )
}

interface NextOptions extends Shared {
  readonly count: number
}

export function defineNext(schedules: Command): void {
  const next = schedules
    .command('next')
    .argument('<schedule>', KNOWN_BY)
    .description('preview when a schedule fires')
    .option('--count <n>', `how many times, at most ${MAX_NEXT_FIRES}`, wholeNumber(1, 'count'), 5)
  jsonOption(storeOptions(next)).action(
    act<NextOptions, readonly [string]>(async (terminal, options, id) => {
      const count = Math.min(options.count, MAX_NEXT_FIRES)
      const { schedule, times } = await hinting(
        UNKNOWN,
        withOperations(options, (perform) => perform(nextFires, { id, count })),
      )
      const { enabled, timezone } = schedule
      if (terminal.json) {
        terminal.data({ enabled, timezone, times: times.map(({ at, local }) => ({ at: time(at), local })) })
        return EXIT.ok
      }
      if (!enabled) terminal.print(terminal.paint('yellow', 'paused; if it were resumed now:'))
      if (times.length === 0) terminal.print('never')
      else {
        terminal.table(
          [{ title: 'UTC' }, { title: timezone }],
          times.map(({ at, local }) => [clock(at), local.replace('T', ' ').replace(/\.\d+/, '')]),
        )
      }
      return EXIT.ok
    }),
  )
}

interface HistoryOptions extends Shared {
  readonly limit: number
  readonly before?: string
}

export function defineHistory(schedules: Command): void {
  const history = schedules
    .command('history')
    .argument('<schedule>', KNOWN_BY)
    .description('what a schedule did, newest first')
    .option('--limit <n>', 'how many', wholeNumber(1, 'limit'), 20)
    .option('--before <id>', 'the start of the next page, as printed by the page before')
  jsonOption(storeOptions(history)).action(
    act<HistoryOptions, readonly [string]>(async (terminal, options, id) => {
      const { limit, before = null } = options
      const { fires, next } = await hinting(
        UNKNOWN,
        withOperations(options, (perform) => perform(listFires, { id, limit, before })),
      )
      if (terminal.json) terminal.data({ fires: fires.map(fireWire), next_before: next })
      else if (fires.length === 0) terminal.print('it has not fired')
      else {
        table(terminal, fires)
        if (next !== null) terminal.print(terminal.paint('dim', `older ones: --before ${next}`))
      }
      return EXIT.ok
    }),
  )
}

function table(terminal: Terminal, fires: readonly FireRow[]): void {
  terminal.table(
    [{ title: 'FIRED' }, { title: 'PLANNED' }, { title: 'MADE' }, { title: 'BY' }],
    fires.map((fire) => [
      clock(fire.firedAt),
      fire.plannedAt === null ? 'on request' : clock(fire.plannedAt),
      fire.skipped === null ? madeOf(fire) : terminal.paint('yellow', `skipped: ${skippedOf(fire)}`),
      brief(fire.actor ?? '', 30),
    ]),
  )
}

function madeOf({ made, madeId, madeCount }: FireRow): string {
  const more = madeCount > 1 ? ` and ${madeCount - 1} more` : ''
  return `${made ?? ''} ${madeId ?? ''}${more}`
}

function skippedOf({ skipped, reason }: FireRow): string {
  return skipped === 'overlap' ? 'its last work had not ended' : brief(reason ?? 'refused')
}
