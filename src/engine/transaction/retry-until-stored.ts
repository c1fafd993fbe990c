/** Repeats a transaction that creates rows until the store has answered. */

import { PetrelError } from '../../kernel/errors.ts'
import { sleep } from '../../kernel/sleep.ts'
import { StoreConflictError, StoreLockedError, StoreUnavailableError } from '../../kernel/store-errors.ts'

/** A key was taken between load and write, or the store was not available: the next attempt decides. */
export async function retryUntilStored<T>(work: (unsure: boolean) => Promise<T>): Promise<T> {
  let unsure = false
  for (let tries = 0; ; tries++) {
    try {
      return await work(unsure)
    } catch (error) {
      // The store has waited for locked rows as long as it should.
      if (error instanceof StoreLockedError) throw error
      if (error instanceof StoreUnavailableError && tries < 8) {
        if (error.code === 'commit_unknown') unsure = true
        await sleep(20 * 2 ** tries)
      } else if (!(error instanceof StoreConflictError)) throw error
      else if (tries >= 3) throw new PetrelError('duplicate', error.message)
    }
  }
}
