/** schedules ls | add | pause | resume | rm: runs that are submitted on a schedule. */

import type { Command } from 'commander'
import type { InboxScheduleRow } from '../../../model/schedules.ts'
import type { Operation } from '../../../operations/operation.ts'
import {
  addInboxSchedule,
  listInboxSchedules,
  pauseInboxSchedule,
  removeInboxSchedule,
  resumeInboxSchedule,
} from '../../../operations/schedules/inbox-schedules.ts'
import { readSchedule } from '../../../wire/requests/schedule.ts'
import { scheduleWire } from '../../../wire/schedule.ts'
import { correct, hinting, number } from '../../inbox.ts'
import { withOperations } from '../../process/connect.ts'
import type { Shared } from '../../terminal/act.ts'
import { act, jsonOption, storeOptions } from '../../terminal/act.ts'
import { EXIT } from '../../terminal/failure.ts'
import { jsonArgument } from '../../terminal/json-argument.ts'
import type { Terminal } from '../../terminal/terminal.ts'
import { ago, brief, clock } from '../../terminal/words.ts'

interface AddOptions extends Shared {
  readonly timezone?: string
  readonly priority?: number
  readonly maxAttempts?: number
}

export function defineSchedules(program: Command): void {
  const schedules = program.command('schedules').description('runs on a schedule: ls, add, pause, resume, rm')
  const ls = schedules.command('ls').description('list schedules')
  jsonOption(storeOptions(ls)).action(
    act<Shared>(async (terminal, options) => {
      list(terminal, await withOperations(options, (perform) => perform(listInboxSchedules, null)))
      return EXIT.ok
    }),
  )
  defineAdd(schedules)
  one(schedules, 'pause', 'submit nothing until it is resumed', pauseInboxSchedule)
  one(schedules, 'resume', 'resume with the next time', resumeInboxSchedule)
  one(schedules, 'rm', 'remove a schedule; its runs stay', removeInboxSchedule)
}

function defineAdd(schedules: Command): void {
  const add = schedules
    .command('add')
    .argument('<type>', 'dotted, ending in a version: report.daily.v1')
    .argument('<cron>', 'five fields: "0 6 * * *"')
    .argument('[payload]', 'JSON, @FILE, or - for standard input', '{}')
    .description('submit a run repeatedly')
    .option('--timezone <name>', 'such as Europe/Zurich (default: UTC)')
    .option('--priority <n>', 'of its runs; smaller is earlier (default: 100)', number('priority'))
    .option('--max-attempts <n>', 'of its runs: executions in all (default: 3)', number('max attempts'))
  jsonOption(storeOptions(add)).action(
    act<AddOptions, readonly [string, string, string]>(async (terminal, options, type, schedule, payload) => {
      const { timezone, priority, maxAttempts } = options
      const row = await correct('schedules add', () => {
        const params = readSchedule({
          type,
          schedule,
          payload: jsonArgument(payload, 'the payload', `for example '{"day": 1}', @report.json or -`),
          ...(timezone === undefined ? {} : { timezone }),
          ...(priority === undefined ? {} : { priority }),
          ...(maxAttempts === undefined ? {} : { max_attempts: maxAttempts }),
        })
        return withOperations(options, (perform) => perform(addInboxSchedule, params))
      })
      if (terminal.json) terminal.data({ schedule: scheduleWire(row) })
      else terminal.print(`schedule ${row.id} (${row.type}) fires next at ${clock(row.nextRunAt)}`)
      return EXIT.ok
    }),
  )
}

function one(
  schedules: Command,
  name: 'pause' | 'resume' | 'rm',
  description: string,
  change: Operation<{ readonly id: string }, InboxScheduleRow>,
): void {
  const words = { pause: 'is paused', resume: 'fires next at', rm: 'is removed' }
  const command = schedules.command(name).argument('<id>', 'as schedules ls shows it').description(description)
  jsonOption(storeOptions(command)).action(
    act<Shared, readonly [string]>(async (terminal, options, id) => {
      const row = await hinting(
        '`petrel schedules ls` lists them',
        withOperations(options, (perform) => perform(change, { id })),
      )
      if (terminal.json) terminal.data({ schedule: scheduleWire(row) })
      else {
        const when = name === 'resume' ? ` ${clock(row.nextRunAt)}` : ''
        terminal.print(`schedule ${row.id} (${row.type}) ${words[name]}${when}`)
      }
      return EXIT.ok
    }),
  )
}

function list(terminal: Terminal, rows: readonly InboxScheduleRow[]): void {
  if (terminal.json) return terminal.data({ schedules: rows.map(scheduleWire) })
  if (rows.length === 0) return terminal.print('no schedules')
  const now = Date.now()
  terminal.table(
    [
      { title: 'SCHEDULE' },
      { title: 'TYPE' },
      { title: 'CRON' },
      { title: 'ZONE' },
      { title: 'NEXT' },
      { title: 'LAST' },
    ],
    rows.map((row) => [
      row.id,
      row.type,
      row.schedule,
      row.timezone,
      row.enabled ? clock(row.nextRunAt) : terminal.paint('yellow', `paused${reasonOf(row)}`),
      ago(row.lastRunAt, now),
    ]),
  )
}

function reasonOf({ disabledReason }: InboxScheduleRow): string {
  return disabledReason === null ? '' : `: ${brief(disabledReason)}`
}
