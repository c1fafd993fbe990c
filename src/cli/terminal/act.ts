/** The frame around every command: options all of them share, the terminal, errors, the exit code. */
import { type Command, InvalidArgumentError, Option } from 'commander'
import { reportFailure } from './failure.ts'
import { Terminal } from './terminal.ts'

export interface Shared {
  readonly json?: boolean
  readonly store?: string
  readonly data?: string
}

/** A file in commands/ adds itself to the program. The table in commands.ts lists them. */
export type DefineCommand = (program: Command) => void

/** Runs the body and turns its result, or its error, into the exit code of the process. */
export function act<O extends Shared, A extends readonly unknown[] = readonly string[]>(
  body: (terminal: Terminal, options: O, ...args: A) => Promise<number> | number,
): (...given: unknown[]) => Promise<void> {
  return async (...given) => {
    // commander passes the arguments, then the options, then the command.
    const command = given.at(-1) as Command
    const options = command.optsWithGlobals() as O
    const terminal = new Terminal({ json: options.json === true })
    try {
      process.exitCode = await body(terminal, options, ...(given.slice(0, -2) as unknown as A))
    } catch (error) {
      process.exitCode = reportFailure(terminal, error)
    }
    // A handle that was not closed must not keep a finished command from ending.
    setTimeout(() => process.exit(), 2000).unref()
  }
}

export function jsonOption(command: Command): Command {
  return command.option('--json', 'print JSON instead of text')
}

export function storeOptions(command: Command): Command {
  return command
    .addOption(new Option('--store <url>', 'sqlite:FILE or postgres://…').env('PETREL_STORE'))
    .option('--data <dir>', 'directory of the embedded store, when no --store is given', '.petrel')
}

export function oneLine(text: string): string {
  if (/^[\x21-\x7e](?:[\x20-\x7e]{0,198}[\x21-\x7e])?$/.test(text)) return text
  throw new InvalidArgumentError('up to 200 printable ASCII characters.')
}

export function wholeNumber(least: number, what: string): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (!Number.isSafeInteger(value) || value < least) {
      throw new InvalidArgumentError(`${what} must be a whole number of at least ${least}.`)
    }
    return value
  }
}
