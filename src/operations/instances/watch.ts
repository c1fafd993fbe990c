/**
 * The progress of instances, for all streams of this server together: one statement per check, however many streams are
 * open, and none while no stream waits.
 */

import type { Queries } from '../../model/queries/queries.ts'
import { TERMINAL } from '../../net/marking.ts'

const LOOK_MS = 200
const IDS_PER_LOOK = 500

interface Waiting {
  readonly instanceId: string
  readonly afterSeq: number
  readonly resolve: () => void
}

export class InstanceWatch {
  readonly #queries: Queries
  readonly #waiting = new Set<Waiting>()
  #timer: NodeJS.Timeout | null = null

  constructor(queries: Queries) {
    this.#queries = queries
  }

  /** Resolves when the instance has an event after this one, or has ended or gone; or with the signal. */
  async moved(instanceId: string, afterSeq: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return
    await new Promise<void>((resolve) => {
      const done = (): void => {
        this.#waiting.delete(waiting)
        signal.removeEventListener('abort', done)
        resolve()
      }
      const waiting: Waiting = { instanceId, afterSeq, resolve: done }
      this.#waiting.add(waiting)
      signal.addEventListener('abort', done, { once: true })
      this.#later()
    })
  }

  #later(): void {
    if (this.#timer !== null || this.#waiting.size === 0) return
    this.#timer = setTimeout(() => {
      // If the store does not answer, the next check tries again.
      this.#look()
        .catch(() => {})
        .finally(() => {
          this.#timer = null
          this.#later()
        })
    }, LOOK_MS)
    this.#timer.unref()
  }

  async #look(): Promise<void> {
    const asked = [...this.#waiting]
    const ids = [...new Set(asked.map(({ instanceId }) => instanceId))]
    for (let at = 0; at < ids.length; at += IDS_PER_LOOK) {
      const some = ids.slice(at, at + IDS_PER_LOOK)
      const found = await this.#queries.progress({ instanceIds: some })
      const looked = new Set(some)
      for (const { instanceId, afterSeq, resolve } of asked) {
        if (!looked.has(instanceId)) continue
        const progress = found.get(instanceId)
        if (progress === undefined || progress.eventSeq > afterSeq || TERMINAL.has(progress.state)) resolve()
      }
    }
  }
}
