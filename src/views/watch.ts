/** Follows the events of one instance by their seq until its end has been told. */

import { PetrelError } from '../kernel/errors.ts'
import type { Queries } from '../model/queries/queries.ts'
import type { StoredEvent } from '../model/rows.ts'
import { TERMINAL } from '../net/marking.ts'

const PAGE = 200
const POLL_MS = 500

export async function* follow(p: {
  readonly queries: Queries
  readonly instanceId: string
  readonly signal: AbortSignal | null
  readonly onWake: (listener: () => void) => () => void
}): AsyncGenerator<StoredEvent> {
  const { queries, instanceId, signal } = p
  let woken = true
  let wake: (() => void) | null = null
  const unsubscribe = p.onWake(() => {
    woken = true
    wake?.()
  })
  try {
    for (let afterSeq = 0; ; ) {
      if (signal?.aborted === true) return
      woken = false
      const instance = await queries.instance(instanceId)
      if (instance === null)
        throw new PetrelError('not_found', `there is no instance ${instanceId}`, { id: instanceId })
      const page = await queries.instanceEvents({ instanceId, afterSeq, limit: PAGE })
      for (const event of page) {
        afterSeq = event.seq ?? afterSeq
        yield event
      }
      if (woken || (page.length > 0 && afterSeq < instance.eventSeq)) continue
      if (TERMINAL.has(instance.state) && afterSeq >= instance.eventSeq) return
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, POLL_MS)
        wake = () => {
          clearTimeout(timer)
          resolve()
        }
        signal?.addEventListener('abort', wake, { once: true })
        if (woken) wake()
      })
      wake = null
    }
  } finally {
    unsubscribe()
  }
}
