/** --debounce, --delay and --max of commands that start something, and what such a start prints. */
import { type Command, InvalidArgumentError } from 'commander'
import type { DebounceRow } from '../model/schedules/debounce.ts'
import { debouncedWire } from '../wire/operate/debounced.ts'
import { CliError, EXIT } from './terminal/failure.ts'
import { harmless, type Terminal } from './terminal/terminal.ts'
import { clock } from './terminal/words.ts'

export interface DebounceOptions {
  readonly debounce?: string
  readonly delay?: number
  readonly max?: number
}

export function debounceOptions(command: Command): Command {
  return command
    .option(
      '--debounce <key>',
      'start when no other start has followed under this key for --delay; the last one counts',
    )
    .option('--delay <seconds>', 'of --debounce (default: 5)', seconds('delay'))
    .option('--max <seconds>', 'of --debounce: start this long after the first one at the latest', seconds('max'))
}

/** As in the body of a request. */
export function debounceOf({ debounce, delay, max }: DebounceOptions): object {
  if (debounce === undefined) {
    if (delay === undefined && max === undefined) return {}
    throw new CliError(
      'invalid_request',
      '--delay and --max are for --debounce',
      'add --debounce KEY, or leave them out',
    )
  }
  return { debounce: { key: debounce, delay_seconds: delay ?? 5, ...(max === undefined ? {} : { max_seconds: max }) } }
}

export function printDebounced(terminal: Terminal, row: DebounceRow): number {
  if (terminal.json) terminal.data({ debounced: debouncedWire(row) })
  else terminal.print(`${row.kind} ${row.id} of ${harmless(row.name)} starts at ${clock(row.dueAt)}${replaced(row)}`)
  return EXIT.ok
}

function replaced({ replaced: count }: DebounceRow): string {
  if (count === 0) return ', unless another start follows'
  return `; it replaces ${count} earlier start${count === 1 ? '' : 's'}`
}

function seconds(what: string): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (text.trim() !== '' && value >= 0.1) return value
    throw new InvalidArgumentError(`${what} must be a number of seconds, at least 0.1.`)
  }
}
