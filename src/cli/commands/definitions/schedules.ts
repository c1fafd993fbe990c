/** schedules ls | show | next | history | run | add | pause | resume | rm: work that is started by the clock. */

import { type Command, Option } from 'commander'
import type { Operation } from '../../../operations/operation.ts'
import { addInboxSchedule } from '../../../operations/schedules/inbox-schedules.ts'
import {
  listAllSchedules,
  removeAnySchedule,
  runSchedule,
  type ShownSchedule,
  switchAnySchedule,
} from '../../../operations/schedules/timetable.ts'
import { readSchedule, readScheduleRun } from '../../../wire/requests/schedule.ts'
import { firedWire, inboxScheduleWire, scheduleWire } from '../../../wire/schedule.ts'
import { correct, hinting, number } from '../../inbox.ts'
import { withOperations } from '../../process/connect.ts'
import type { Shared } from '../../terminal/act.ts'
import { act, jsonOption, storeOptions, wholeNumber } from '../../terminal/act.ts'
import { EXIT } from '../../terminal/failure.ts'
import { jsonArgument } from '../../terminal/json-argument.ts'
import type { Terminal } from '../../terminal/terminal.ts'
import { ago, brief, clock } from '../../terminal/words.ts'
import { defineHistory, defineNext, defineShow, KNOWN_BY, UNKNOWN } from './schedule-views.ts'

interface AddOptions extends Shared {
  readonly timezone?: string
  readonly priority?: number
  readonly maxAttempts?: number
}

export function defineSchedules(program: Command): void {
  const schedules = program
    .command('schedules')
    .description('work started by the clock: ls, show, next, history, run, add, pause, resume, rm')
  defineLs(schedules)
  defineShow(schedules)
  defineNext(schedules)
  defineHistory(schedules)
  defineRun(schedules)
  defineAdd(schedules)
  one(schedules, 'pause', 'fire no more until it is resumed', { of: switchAnySchedule, enabled: false })
  one(schedules, 'resume', 'resume with the next time', { of: switchAnySchedule, enabled: true })
  one(schedules, 'rm', 'remove a schedule; what it made stays', { of: removeAnySchedule, enabled: false })
}

interface LsOptions extends Shared {
  readonly limit: number
  readonly after?: string
}

function defineLs(schedules: Command): void {
  const ls = schedules
    .command('ls')
    .description('list schedules of all kinds')
    .option('--limit <n>', 'how many', wholeNumber(1, 'limit'), 200)
    .option('--after <place>', 'the start of the next page, as printed by the page before')
  jsonOption(storeOptions(ls)).action(
    act<LsOptions>(async (terminal, options) => {
      const { limit, after = null } = options
      const page = await withOperations(options, (perform) => perform(listAllSchedules, { limit, after }))
      if (terminal.json) terminal.data({ schedules: page.schedules.map(scheduleWire), next_after: page.next })
      else list(terminal, page.schedules)
      if (!terminal.json && page.next !== null) terminal.print(terminal.paint('dim', `more: --after '${page.next}'`))
      return EXIT.ok
    }),
  )
}

interface RunOptions extends Shared {
  readonly key?: string
  readonly overlap?: string
}

function defineRun(schedules: Command): void {
  const run = schedules
    .command('run')
    .argument('<schedule>', KNOWN_BY)
    .description('run a schedule now; its next time stays as it is')
    .option('--key <key>', 'a second run under the same key makes nothing')
    .addOption(
      new Option('--overlap <policy>', 'if its last work has not ended (default: its policy)').choices([
        'skip',
        'allow',
        'cancel_previous',
      ]),
    )
  jsonOption(storeOptions(run)).action(
    act<RunOptions, readonly [string]>(async (terminal, options, id) => {
      const { key, overlap } = options
      const asked = await correct('schedules run', () =>
        readScheduleRun({
          ...(key === undefined ? {} : { idempotency_key: key }),
          ...(overlap === undefined ? {} : { overlap }),
        }),
      )
      const request = { id, requestKey: asked.idempotency_key ?? null, overlap: asked.overlap ?? null }
      const fired = await hinting(
        UNKNOWN,
        correct('schedules run', () => withOperations(options, (perform) => perform(runSchedule, request))),
      )
      if (terminal.json) terminal.data(firedWire(fired))
      else if (fired.created) terminal.print(`schedule ${id} made ${fired.made} ${fired.id}`)
      else terminal.print(`the key is taken by ${fired.made} ${fired.id}`)
      return EXIT.ok
    }),
  )
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
      if (terminal.json) terminal.data({ schedule: inboxScheduleWire(row) })
      else terminal.print(`schedule ${row.id} (${row.type}) fires next at ${clock(row.nextRunAt)}`)
      return EXIT.ok
    }),
  )
}

interface Change {
  readonly of: Operation<{ readonly id: string; readonly enabled: boolean }, ShownSchedule>
  readonly enabled: boolean
}

function one(schedules: Command, name: 'pause' | 'resume' | 'rm', description: string, change: Change): void {
  const words = { pause: 'is paused', resume: 'fires next at', rm: 'is removed' }
  const command = schedules.command(name).argument('<schedule>', KNOWN_BY).description(description)
  jsonOption(storeOptions(command)).action(
    act<Shared, readonly [string]>(async (terminal, options, id) => {
      const { of, enabled } = change
      const row = await hinting(
        UNKNOWN,
        withOperations(options, (perform) => perform(of, { id, enabled })),
      )
      if (terminal.json) terminal.data({ schedule: scheduleWire(row) })
      else {
        const when = name === 'resume' ? ` ${nextOf(row)}` : ''
        terminal.print(`schedule ${row.id} (${row.type}) ${words[name]}${when}`)
      }
      return EXIT.ok
    }),
  )
}

function list(terminal: Terminal, rows: readonly ShownSchedule[]): void {
  if (rows.length === 0) return terminal.print('no schedules')
  const now = Date.now()
  terminal.table(
    [
      { title: 'SCHEDULE' },
      { title: 'TYPE' },
      { title: 'CRON' },
      { title: 'ZONE' },
      { title: 'KIND' },
      { title: 'OVERLAP' },
      { title: 'NEXT' },
      { title: 'LAST' },
    ],
    rows.map((row) => [
      row.id,
      row.type,
      row.expression,
      row.timezone,
      row.kind,
      row.overlap,
      row.enabled ? nextOf(row) : terminal.paint('yellow', `paused${reasonOf(row)}`),
      ago(row.lastAt, now),
    ]),
  )
}

function nextOf({ nextAt }: ShownSchedule): string {
  return nextAt === null ? 'never' : clock(nextAt)
}

function reasonOf({ inbox }: ShownSchedule): string {
  const reason = inbox?.disabledReason ?? null
  return reason === null ? '' : `: ${brief(reason)}`
}
