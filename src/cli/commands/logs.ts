/** logs: what the executions of a run, or of the runs of an instance, have logged. */
import type { Command } from 'commander'
import type { LogLevel } from '../../kernel/log-lines.ts'
import { sleep } from '../../kernel/sleep.ts'
import type { LogPart } from '../../model/logs.ts'
import type { Perform } from '../../operations/operation.ts'
import {
  type FollowedLog,
  followInstanceLog,
  followRunLog,
  readInstanceLog,
  readRunLog,
} from '../../operations/runs/logs.ts'
import { linesWire } from '../../wire/logs/log.ts'
import { isRun } from '../lookup.ts'
import { withOperations } from '../process/connect.ts'
import { act, jsonOption, type Shared, storeOptions, wholeNumber } from '../terminal/act.ts'
import { EXIT } from '../terminal/failure.ts'
import { interrupted } from '../terminal/interrupted.ts'
import { type Colour, harmless, type Terminal } from '../terminal/terminal.ts'
import { brief } from '../terminal/words.ts'

interface LogsOptions extends Shared {
  readonly follow?: boolean
  readonly attempt?: number
  readonly after: number
}

const POLL_MS = 300
const COLOURS: { readonly [level in LogLevel]: Colour | null } = {
  debug: 'dim',
  info: null,
  warn: 'yellow',
  error: 'red',
}

export function defineLogs(program: Command): void {
  const command = program
    .command('logs')
    .argument('<id>', 'instance or run')
    .description('what the executions of a run, or of the runs of an instance, have logged')
    .option('-f, --follow', 'wait for further lines until it has ended')
    .option('--attempt <n>', 'only this execution', wholeNumber(1, 'attempt'))
    .option('--after <n>', 'continue where a page ended', wholeNumber(0, 'after'), 0)
  jsonOption(storeOptions(command)).action(
    act<LogsOptions, readonly [string]>((terminal, options, id) =>
      withOperations(options, async (perform) => {
        const ofRun = await isRun(perform, id)
        const asked = { id, attempt: options.attempt ?? null, after: options.after }
        if (options.follow === true) {
          await follow(terminal, await perform(ofRun ? followRunLog : followInstanceLog, asked), asked.after)
          return EXIT.ok
        }
        await printAll(terminal, perform, ofRun, asked)
        return EXIT.ok
      }),
    ),
  )
}

/** Page by page: a log has a bounded length, and a long one is not held in memory. */
async function printAll(
  terminal: Terminal,
  perform: Perform,
  ofRun: boolean,
  asked: { readonly id: string; readonly attempt: number | null; readonly after: number },
): Promise<void> {
  const printer = new Printer(terminal)
  for (let after = asked.after; ; ) {
    const page = await perform(ofRun ? readRunLog : readInstanceLog, { ...asked, after })
    printer.print(page.parts)
    after = page.next
    if (!page.more) return
  }
}

async function follow(terminal: Terminal, followed: FollowedLog, after: number): Promise<void> {
  const printer = new Printer(terminal)
  const stop = interrupted()
  for (let at = after; !stop.signal.aborted; ) {
    const { parts, next, more, ended } = await followed.read(at)
    printer.print(parts)
    at = next
    if (ended) break
    if (!more) await sleep(POLL_MS, stop.signal)
  }
  stop.ignore()
}

/** One line of output per line of a log; with --json one value per line. */
class Printer {
  readonly #terminal: Terminal
  /** The number of the next line, by execution. */
  readonly #next = new Map<string, number>()

  constructor(terminal: Terminal) {
    this.#terminal = terminal
  }

  print(parts: readonly LogPart[]): void {
    const terminal = this.#terminal
    for (const part of parts) {
      const execution = `${part.runId}/${part.epoch}`
      const dropped = part.first - (this.#next.get(execution) ?? part.first)
      if (dropped > 0 && !terminal.json) terminal.print(terminal.paint('dim', `… ${dropped} lines were not kept`))
      this.#next.set(execution, part.first + part.lines.length)
      for (const line of linesWire([part])) {
        if (terminal.json) {
          terminal.record(line)
          continue
        }
        const { at, level, stream, text, fields, node, item, attempt } = line
        const place =
          node === null ? '' : `${node}${item === null ? '' : `[${item}]`}${attempt > 1 ? `#${attempt}` : ''}  `
        const time = at === null ? '' : at.slice(11, 23)
        const more = fields === null ? '' : `  ${brief(fields, 200)}`
        const shown = harmless(`${place}${(stream ?? level).padEnd(6)}  ${text}${more}`)
        const colour = COLOURS[level]
        terminal.print(`${terminal.paint('dim', time)}  ${colour === null ? shown : terminal.paint(colour, shown)}`)
      }
    }
  }
}
