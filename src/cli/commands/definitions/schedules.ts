/** schedules ls | add | pause | resume | rm: runs that are submitted on a schedule. */

import type { Command } from 'commander'
import type { EngineApi } from '../../../engine/api.ts'
import type { InboxScheduleRow } from '../../../model/schedules.ts'
import { scheduleWire } from '../../../wire/schedule.ts'
import { correct, number } from '../../inbox.ts'
import { withEngine } from '../../process/connect.ts'
import type { Shared } from '../../terminal/act.ts'
import { act, jsonOption, storeOptions } from '../../terminal/act.ts'
import { CliError, EXIT } from '../../terminal/failure.ts'
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
      list(terminal, await withEngine(options, (engine) => engine.inboxSchedules.list()))
      return EXIT.ok
    }),
  )
  defineAdd(schedules)
  one(schedules, 'pause', 'submit nothing until it is resumed', (engine, { id }) => engine.inboxSchedules.pause(id))
  one(schedules, 'resume', 'go on with the next time', (engine, { id }) => engine.inboxSchedules.resume(id))
  one(schedules, 'rm', 'remove a schedule; its runs stay', async (engine, row) => {
    if (!(await engine.inboxSchedules.remove(row.id))) throw noSuchSchedule(row.id)
    return row
  })
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
      const { addSchedule, readSchedule } = await import('../../../server/inbox/schedules.ts')
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
        return withEngine(options, (engine) => addSchedule(engine, params))
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
  work: (engine: EngineApi, row: InboxScheduleRow) => Promise<InboxScheduleRow>,
): void {
  const words = { pause: 'is paused', resume: 'fires next at', rm: 'is removed' }
  const command = schedules.command(name).argument('<id>', 'as schedules ls shows it').description(description)
  jsonOption(storeOptions(command)).action(
    act<Shared, readonly [string]>((terminal, options, id) =>
      withEngine(options, async (engine) => {
        const found = await engine.inboxSchedules.get(id)
        if (found === null) throw noSuchSchedule(id)
        const row = await work(engine, found)
        if (terminal.json) terminal.data({ schedule: scheduleWire(row) })
        else {
          const when = name === 'resume' ? ` ${clock(row.nextRunAt)}` : ''
          terminal.print(`schedule ${row.id} (${row.type}) ${words[name]}${when}`)
        }
        return EXIT.ok
      }),
    ),
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

function noSuchSchedule(id: string): CliError {
  return new CliError('not_found', `there is no schedule ${id}`, '`petrel schedules ls` lists them', { id })
}
