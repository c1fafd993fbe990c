/** Shared by commands whose requests have the rules of the HTTP API. */
import { InvalidArgumentError } from 'commander'
import { ERRORS, type ErrorCode, hintOf, PetrelError } from '../kernel/errors.ts'
import { errorDetailsWire } from '../wire/error-details.ts'
import { CliError } from './terminal/failure.ts'

/** The rules are those of the HTTP API; its hints about the correct form are printed here, too. */
export async function correct<T>(command: string, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof CliError || !(error instanceof PetrelError)) throw error
    const { code, message } = error
    const details = errorDetailsWire(code, error.details)
    // A full queue is nothing that the command line could have avoided.
    if (code === 'QUEUE_FULL') throw new CliError('unavailable', message, ERRORS.QUEUE_FULL.hint, details)
    if (code !== 'invalid_request') throw error
    throw new CliError(code, message, hintOf(error.details) ?? `petrel ${command} --help`, details)
  }
}

export function number(what: string): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (text.trim() !== '' && Number.isSafeInteger(value)) return value
    throw new InvalidArgumentError(`${what} must be a whole number.`)
  }
}

/** What does not exist has a hint of its own: the command that lists what does. */
export async function hinting<T>(
  hint: string,
  work: Promise<T>,
  codes: readonly ErrorCode[] = ['not_found'],
): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (!(error instanceof PetrelError) || !codes.includes(error.code)) throw error
    const { id } = error.details
    throw new CliError(error.code, error.message, hint, id === undefined ? {} : { id })
  }
}
