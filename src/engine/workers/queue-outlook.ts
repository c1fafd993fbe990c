/**
 * What a session knows of the work that waits in its queues. A hand-off may pass over a waiting run only if it is known not to
 * be more urgent than the new one.
 */

import type { Offer } from '../transaction/handoff.ts'

/**
 * How long a look at the queue is valid: a hand-off may pass over a run that was added within that time. An older look is used
 * once more, while the store is asked again together with the write, unless a wake-up or a long time came between.
 */
const LOOK_LASTS_MS = 20
const LOOK_RENEWED_MS = 250

export class QueueOutlook {
  /** Work may wait in the queues: set by a wake or a full claim, cleared by a claim that took all there was. */
  #othersWait = true
  /** The most urgent waiting run when the store last looked. A wake by a more urgent run invalidates it. */
  #lastLook: { readonly waiting: number | null; readonly at: number } | null = null

  readonly looked = (waiting: number | null): void => {
    this.#lastLook = { waiting, at: performance.now() }
  }

  /** As far as known. */
  waiting(): Pick<Offer, 'waiting' | 'renew'> {
    if (!this.#othersWait) return { waiting: null, renew: false }
    const look = this.#lastLook
    const age = look === null ? Number.POSITIVE_INFINITY : performance.now() - look.at
    if (look === null || age > LOOK_RENEWED_MS) return { waiting: undefined, renew: false }
    return { waiting: look.waiting, renew: age > LOOK_LASTS_MS }
  }

  /** Work has been added, none of it more urgent than `urgency`. */
  added(urgency: number): void {
    this.#othersWait = true
    // Behind the known waiting run it changes nothing.
    if (urgency < (this.#lastLook?.waiting ?? Number.POSITIVE_INFINITY)) this.#lastLook = null
  }

  claiming(): void {
    this.#othersWait = false
    this.#lastLook = null
  }

  /** Of the `found` candidates, which come best first, `taken` were leased. */
  claimed(found: readonly { readonly priority: number }[], taken: number, limit: number): void {
    if (taken >= limit || found.length > taken) this.#othersWait = true
    // All that is left is no more urgent than the last one taken.
    const last = found.length === taken ? found.at(-1) : undefined
    if (last !== undefined) this.looked(last.priority)
  }
}
