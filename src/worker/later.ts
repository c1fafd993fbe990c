/** The return value of a handler that wants to continue at another time. */
import { PetrelError } from '../kernel/errors.ts'

/** A year and a day: longer waits belong into a schedule. */
export const LONGEST_DELAY_MS = 366 * 86_400_000

export class Later {
  // Private, so that no other object has this type.
  readonly #delayMs: number

  constructor(delayMs: number) {
    if (typeof delayMs !== 'number' || !(delayMs >= 0 && delayMs <= LONGEST_DELAY_MS)) {
      throw new PetrelError(
        'invalid_request',
        `later: a number of milliseconds from 0 to ${LONGEST_DELAY_MS}, not ${String(delayMs)}`,
      )
    }
    this.#delayMs = Math.ceil(delayMs)
  }

  get delayMs(): number {
    return this.#delayMs
  }
}
