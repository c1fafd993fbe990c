/** Sends what creates something until the store has an answer. */

import { PetrelError } from '../../kernel/errors.ts'
import { sleep } from '../../kernel/sleep.ts'
import { StoreConflictError, StoreLockedError, StoreUnavailableError } from '../../kernel/store-errors.ts'

/** A key taken between load and write, or a store that was away: the next look decides. */
export async function retryUntilStored<T>(work: (unsure: boolean) => Promise<T>): Promise<T> {
  let unsure = false
  for (let tries = 0; ; tries++) {
    try {
      return await work(unsure)
    } catch (error) {
      // The store has waited for locked rows as long as it was to.
      if (error instanceof StoreLockedError) throw error
      if (error instanceof StoreUnavailableError && tries < 8) {
        if (error.code === 'commit_unknown') unsure = true
        await sleep(20 * 2 ** tries)
      } else if (!(error instanceof StoreConflictError)) throw error
      else if (tries >= 3) throw new PetrelError('duplicate', error.message)
    }
  }
}
