/** pause, resume, pauses: instances, and the list of everything that is paused. */
import { type Command, Option } from 'commander'
import type { PausedTimeouts, PauseRow } from '../../model/pauses/pauses.ts'
import { storeTime } from '../../operations/clock.ts'
import { listPauses, pauseInstance, resumeInstance } from '../../operations/pauses/pauses.ts'
import { span } from '../../views/words.ts'
import { instanceWire } from '../../wire/instance.ts'
import { pauseCursor, pauseWire, readPauseCursor, TIMEOUTS } from '../../wire/pauses/pause.ts'
import { withOperations } from '../process/connect.ts'
import { act, jsonOption, type Shared, storeOptions, wholeNumber } from '../terminal/act.ts'
import { CliError, EXIT } from '../terminal/failure.ts'
import { harmless } from '../terminal/terminal.ts'
import { ago, brief } from '../terminal/words.ts'

interface PauseOptions extends Shared {
  readonly reason?: string
  readonly timeouts: PausedTimeouts
}

interface ListOptions extends Shared {
  readonly limit: number
  readonly before?: string
}

export function definePause(program: Command): void {
  const command = program
    .command('pause')
    .argument('<id>', 'instance')
    .description('pause an instance: active work ends, nothing new begins')
    .option('--reason <text>', 'shown by why and pauses')
    .addOption(
      new Option('--timeouts <what>', 'stop: deadlines and delays stand still; run: they run on')
        .choices([...TIMEOUTS])
        .default('stop'),
    )
  jsonOption(storeOptions(command)).action(
    act<PauseOptions, readonly [string]>((terminal, { reason = null, timeouts, ...options }, id) =>
      withOperations(options, async (perform) => {
        const { row, pause } = await perform(pauseInstance, { id, reason, timeouts })
        if (terminal.json) terminal.data({ instance: instanceWire(row), pause: pauseWire(pause) })
        else terminal.print(`${harmless(row.name)} ${id} is paused; \`petrel resume ${id}\` continues it`)
        return EXIT.ok
      }),
    ),
  )
}

export function defineResume(program: Command): void {
  const command = program.command('resume').argument('<id>', 'instance').description('resume a paused instance')
  jsonOption(storeOptions(command)).action(
    act<Shared, readonly [string]>((terminal, options, id) =>
      withOperations(options, async (perform) => {
        const { row, pause } = await perform(resumeInstance, { id })
        const now = await perform(storeTime, null)
        if (terminal.json) terminal.data({ instance: instanceWire(row), pause: pauseWire(pause) })
        else terminal.print(`${harmless(row.name)} ${id} continues; it was paused for ${span(now - pause.pausedAt)}`)
        return EXIT.ok
      }),
    ),
  )
}

export function definePauses(program: Command): void {
  const command = program
    .command('pauses')
    .description('what is paused: instances, definitions, types and queues')
    .option('--limit <n>', 'how many', wholeNumber(1, 'limit'), 50)
    .option('--before <place>', 'continue where the last page ended')
  jsonOption(storeOptions(command)).action(
    act<ListOptions>((terminal, { limit, before: given, ...options }) =>
      withOperations(options, async (perform) => {
        const before = given === undefined ? null : readPauseCursor(given)
        if (given !== undefined && before === null) {
          throw new CliError('invalid_request', `'${given}' is no place in the list`, '--before what a page ended with')
        }
        const { rows, more } = await perform(listPauses, { limit, before })
        const last = rows.at(-1)
        const next = more && last !== undefined ? pauseCursor(last) : null
        if (terminal.json) terminal.data({ pauses: rows.map(pauseWire), next_before: next })
        else if (rows.length === 0) terminal.print('nothing is paused')
        else terminal.table(COLUMNS, lines(rows, await perform(storeTime, null)))
        if (next !== null && !terminal.json) {
          terminal.print(terminal.paint('dim', `more: petrel pauses --before '${harmless(next)}'`))
        }
        return EXIT.ok
      }),
    ),
  )
}

const COLUMNS = [
  { title: 'KIND' },
  { title: 'NAME' },
  { title: 'STATE' },
  { title: 'SINCE' },
  { title: 'BY' },
  { title: 'REASON' },
]

function lines(rows: readonly PauseRow[], now: number): readonly (readonly string[])[] {
  return rows.map((row) => [
    row.kind,
    harmless(pauseWire(row).name),
    row.state,
    ago(row.pausedAt, now),
    harmless(row.actor ?? ''),
    brief(row.reason ?? ''),
  ])
}
