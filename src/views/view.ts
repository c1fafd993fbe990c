/** One instance as an operator wants to see it: as it is now, and event by event until it ends. */

import { PetrelError } from '../kernel/errors.ts'
import type { Queries } from '../model/queries/queries.ts'
import type { GateRow, InstanceRow, RunRow, StoredEvent } from '../model/rows.ts'
import { PAGE_BYTES } from '../model/shown.ts'
import { TERMINAL } from '../net/marking.ts'
import { type NodeFailure, SLOT, slotValue } from '../net/slots.ts'

export interface InstanceView {
  readonly instance: InstanceRow
  readonly error: NodeFailure | null
  readonly undoError: NodeFailure | null
  readonly runs: readonly RunRow[]
  readonly gates: readonly GateRow[]
  readonly children: readonly InstanceRow[]
}

const MOST_RUNS = 1000

export async function viewOf(queries: Queries, instanceId: string): Promise<InstanceView | null> {
  const instance = await queries.instance(instanceId)
  if (instance === null) return null
  const [errors, runs, gates, children] = await Promise.all([
    queries.slots({ instanceId, prefix: SLOT.error.prefix }),
    queries.instanceRuns({ instanceId, limit: MOST_RUNS, after: null, maxBytes: PAGE_BYTES }),
    queries.shownGates({ instanceId, limit: MOST_RUNS }),
    queries.children(instanceId, MOST_RUNS),
  ])
  const error = slotValue(errors, SLOT.error.key)
  const undoError = slotValue(errors, SLOT.undoError.key)
  return { instance, error, undoError, runs, gates, children }
}

const EVENTS_PER_PAGE = 200
const POLL_MS = 500

/** The events of one instance by their seq, until the last one has been yielded. */
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
      const page = await queries.instanceEvents({ instanceId, afterSeq, limit: EVENTS_PER_PAGE })
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
