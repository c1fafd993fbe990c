/** Shared by commands whose requests have the rules of the HTTP API. */
import { InvalidArgumentError } from 'commander'
import { RequestError } from '../http/request-error.ts'
import { ERRORS, type ErrorCode, PetrelError } from '../kernel/errors.ts'
import { CliError } from './terminal/failure.ts'

/** The rules are those of the HTTP API; its hints about the correct form are printed here, too. */
export async function correct<T>(command: string, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const help = `petrel ${command} --help`
    if (error instanceof RequestError) {
      throw new CliError(codeOf(error), error.message, error.hint ?? help, error.details)
    }
    if (error instanceof CliError || !(error instanceof PetrelError)) throw error
    // A full queue is nothing that the command line could have avoided.
    if (error.code === 'QUEUE_FULL')
      throw new CliError('unavailable', error.message, ERRORS.QUEUE_FULL.hint, error.details)
    if (error.code !== 'invalid_request') throw error
    throw new CliError(error.code, error.message, help, error.details)
  }
}

/** Codes that only HTTP has become usage errors. */
function codeOf({ code }: RequestError): ErrorCode {
  if (code === 'QUEUE_FULL') return 'unavailable'
  return Object.hasOwn(ERRORS, code) ? (code as ErrorCode) : 'invalid_request'
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
