/**
 * One listener, whatever carries its events (SSE, WebSocket). It continues after its place, waits for the other side to
 * take what was sent, and ends when the other side is gone, takes nothing for too long, or the server goes down.
 */
import type { EventPlace } from '../../project/event-id.ts'
import type { EventHub, HubEvent } from './event-hub.ts'
import { isAfter, WHOLE } from './event-place.ts'

export interface Outlet {
  /** false: its buffer is full. */
  send(event: HubEvent): boolean
  /** Resolves when there is room again; rejects when there never will be. */
  drained(signal: AbortSignal): Promise<void>
}

export interface Listening {
  readonly hub: EventHub
  readonly from: EventPlace
  readonly wants: (event: HubEvent) => boolean
  readonly outlet: Outlet
  /** The other side is gone. */
  readonly gone: AbortSignal
  readonly closing: AbortSignal
  /** true after an event: nothing will follow it. */
  readonly last?: (event: HubEvent) => boolean
  /** One that takes nothing for this long is let go. Default 30,000. */
  readonly patienceMs?: number
}

export type Ending = { readonly why: 'gone' | 'closing' | 'finished' | 'slow'; readonly place: EventPlace }

export const PATIENCE_MS = 30_000

export async function pump(listening: Listening): Promise<Ending> {
  const { hub, wants, outlet, gone, closing, patienceMs = PATIENCE_MS } = listening
  const stop = AbortSignal.any([gone, closing])
  const release = hub.listen()
  let place = listening.from
  try {
    // One before: parts of the event at the place may be missing.
    let upTo = Math.max(0, place.part === WHOLE ? place.feedId : place.feedId - 1)
    while (!stop.aborted) {
      const portion = await hub.after(upTo, stop)
      for (const event of portion.events) {
        if (stop.aborted) break
        if (!isAfter(place, event)) continue
        place = event
        if (!wants(event)) continue
        if (!outlet.send(event) && !(await hasRoom(outlet, stop, patienceMs))) {
          if (stop.aborted) break
          return { why: 'slow', place }
        }
        if (listening.last?.(event) === true) return { why: 'finished', place }
      }
      upTo = portion.upTo
    }
    return { why: closing.aborted && !gone.aborted ? 'closing' : 'gone', place }
  } finally {
    release()
  }
}

export async function hasRoom(outlet: Outlet, stop: AbortSignal, patienceMs = PATIENCE_MS): Promise<boolean> {
  const late = AbortSignal.timeout(patienceMs)
  try {
    await outlet.drained(AbortSignal.any([stop, late]))
    return true
  } catch {
    return false
  }
}
