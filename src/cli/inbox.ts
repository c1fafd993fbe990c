/** What the commands of the inbox share. */
import { InvalidArgumentError } from 'commander'
import { PetrelError } from '../engine/errors.ts'
import { OjsError } from '../server/ojs/error.ts'
import { CliError } from './failure.ts'

/** The rules are those of the HTTP API; what they say would be right is worth a line here, too. */
export async function correct<T>(command: string, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const help = `petrel ${command} --help`
    if (error instanceof OjsError) {
      const code = error.code === 'QUEUE_FULL' ? 'unavailable' : 'invalid_request'
      throw new CliError(code, error.message, error.hint ?? help, error.details)
    }
    if (error instanceof CliError || !(error instanceof PetrelError) || error.code !== 'invalid_request') throw error
    throw new CliError(error.code, error.message, help, error.details)
  }
}

export function number(what: string): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (text.trim() !== '' && Number.isSafeInteger(value)) return value
    throw new InvalidArgumentError(`${what} is a whole number.`)
  }
}

export function noSuchRun(id: string): CliError {
  return new CliError('not_found', `there is no run ${id}`, '`petrel runs ls` lists those of the inbox', { id })
}
