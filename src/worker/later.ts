/** The return value of a handler that wants to continue at another time. */
import { PetrelError } from '../kernel/errors.ts'
import { MAX_LATER_MS } from '../kernel/limits.ts'

export class Later {
  // Private, so that no other object has this type.
  readonly #delayMs: number

  constructor(delayMs: number) {
    if (typeof delayMs !== 'number' || !(delayMs >= 0 && delayMs <= MAX_LATER_MS)) {
      throw new PetrelError(
        'invalid_request',
        `later: a number of milliseconds from 0 to ${MAX_LATER_MS}, not ${String(delayMs)}`,
      )
    }
    this.#delayMs = Math.ceil(delayMs)
  }

  get delayMs(): number {
    return this.#delayMs
  }
}
