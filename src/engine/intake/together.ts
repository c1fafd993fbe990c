/** Calls of enqueue and start that arrived at the same time, in one transaction. */

import { StoreLockedError } from '../../kernel/store-errors.ts'
import type { Batch } from '../transaction/batcher.ts'
import { retryUntilStored } from '../transaction/retry-until-stored.ts'

export interface How {
  /** An earlier commit of these calls may have happened; what is there already is only answered. */
  readonly unsure: boolean
  /** For rows that another transaction holds. */
  readonly wait: boolean
}

export const ALONE: How = { unsure: false, wait: true }

/**
 * All calls in one transaction. If that is refused, the batcher finds the call that is to blame. One that needs a row
 * which another transaction holds waits for it alone; no batch waits with it.
 */
export async function together<P, R>(
  batch: readonly Batch<P, R>[],
  all: (calls: readonly P[], how: How) => Promise<readonly R[]>,
): Promise<void> {
  const work = (wait: boolean): Promise<readonly R[]> =>
    retryUntilStored((unsure) =>
      all(
        batch.map((b) => b.params),
        { unsure, wait },
      ),
    )
  const answer = (results: readonly R[]): void => {
    for (const [i, entry] of batch.entries()) entry.resolve(results[i] as R)
  }
  try {
    answer(await work(false))
  } catch (error) {
    if (!(error instanceof StoreLockedError) || batch.length > 1) throw error
    const [only] = batch as readonly [Batch<P, R>]
    work(true).then(answer, (refused) => only.reject(refused))
  }
}
