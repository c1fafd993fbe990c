/**
 * The feed of events for everyone who listens to this process. One loop reads what is new and keeps the latest; each
 * listener pulls at its own pace by its place in the feed:
 *
 *   place at the end        waits for the loop
 *   place among the latest  is given them from memory
 *   place further back      is read from the store, for this listener alone, until it has caught up
 *
 * So a slow listener costs reads, never memory, and none loses an event. The loop runs only while there are listeners.
 */

import type { Logger } from '../../../../kernel/logger.ts'
import type { StoredEvent } from '../../../../model/rows.ts'
import type { Noting } from '../../../interface/projection.ts'
import { eventText, type MappedEvent, ojsEvents } from '../../project/events.ts'

export interface HubEvent extends MappedEvent {
  /** The wire event as JSON, printed once for all listeners. */
  readonly text: string
}

/** Everything after the place asked for, up to and with the stored event `upTo`. */
export interface Portion {
  readonly events: readonly HubEvent[]
  readonly upTo: number
}

export interface HubOptions {
  readonly reading: Noting
  /** Calls the listener after commits of other processes. Returns what undoes it. */
  readonly onRemoteCommit: (listener: () => void) => () => void
  readonly closing: AbortSignal
  readonly logger: Logger | null
}

interface Chunk extends Portion {
  readonly from: number
  readonly bytes: number
}

const PORTION = 200
/** Backstop: changes by other processes wake the loop, as do requests to this one. */
const LOOK_MS = 250
/** However much happens: every look costs the store a read or two. */
const LEAST_MS = 20
const AFTER_ERROR_MS = 1_000
const KEPT_BYTES = 8 * 1024 * 1024
const KEPT_CHUNKS = 2_000
/** A read that brought so much was perhaps cut short. */
const FULL_BYTES = 256 * 1024

export class EventHub {
  readonly #reading: Noting
  readonly #onRemoteCommit: HubOptions['onRemoteCommit']
  readonly #logger: Logger | null
  readonly #closing: AbortSignal
  readonly #chunks: Chunk[] = []
  #bytes = 0
  /** Everything up to here is in #chunks or older than them. */
  #place = 0
  #listeners = 0
  #looking = false
  #waiting = new Set<() => void>()
  #wakeUp: (() => void) | null = null

  constructor({ reading, onRemoteCommit, closing, logger }: HubOptions) {
    this.#reading = reading
    this.#onRemoteCommit = onRemoteCommit
    this.#closing = closing
    this.#logger = logger
  }

  /** Something may have changed. */
  nudge(): void {
    this.#wakeUp?.()
  }

  /** Keeps the loop going until the returned function is called. */
  listen(): () => void {
    this.#listeners++
    let gone = false
    return () => {
      if (gone) return
      gone = true
      if (--this.#listeners === 0) this.#wakeUp?.()
    }
  }

  /** Waits until there is something after `place`; empty when the signal is aborted. */
  async after(place: number, signal: AbortSignal): Promise<Portion> {
    while (!signal.aborted && !this.#closing.aborted) {
      if (this.#looking && place < this.#place) return this.#kept(place) ?? (await this.#read(place))
      this.#look(place)
      await this.#news(signal)
    }
    return { events: [], upTo: place }
  }

  #kept(place: number): Portion | null {
    const chunk = this.#chunks.find(({ from, upTo }) => from <= place && place < upTo)
    if (chunk === undefined) return null
    const events = chunk.from === place ? chunk.events : chunk.events.filter(({ feedId }) => feedId > place)
    return { events, upTo: chunk.upTo }
  }

  async #read(place: number): Promise<Portion> {
    const stored = await this.#reading.queries.feed({ afterId: place, limit: PORTION })
    const upTo = stored.at(-1)?.id
    // Nothing left there: pruned since. Go on with what is kept.
    if (upTo === undefined) return { events: [], upTo: Math.max(place, this.#chunks[0]?.from ?? this.#place) }
    return { events: await mapEvents(this.#reading, stored), upTo }
  }

  #look(place: number): void {
    if (this.#looking) return
    this.#looking = true
    this.#place = place
    void this.#loop().finally(() => {
      this.#looking = false
      this.#chunks.length = 0
      this.#bytes = 0
      this.#wakeWaiting()
    })
  }

  async #loop(): Promise<void> {
    const unsubscribe = this.#onRemoteCommit(() => this.#wakeUp?.())
    try {
      while (this.#listeners > 0 && !this.#closing.aborted) {
        let pause = LOOK_MS
        try {
          if (await this.#step()) continue
        } catch (error) {
          this.#logger?.warn({ err: error }, 'events could not be read; trying again')
          pause = AFTER_ERROR_MS
        }
        if (this.#listeners > 0) await this.#pause(pause)
      }
    } finally {
      unsubscribe()
    }
  }

  /** true: there may be more. */
  async #step(): Promise<boolean> {
    const from = this.#place
    const stored = await this.#reading.queries.feed({ afterId: from, limit: PORTION })
    const upTo = stored.at(-1)?.id
    if (upTo === undefined) return false
    const events = await mapEvents(this.#reading, stored)
    const bytes = events.reduce((sum, { text }) => sum + text.length, 0)
    this.#chunks.push({ from, upTo, events, bytes })
    this.#bytes += bytes
    this.#place = upTo
    while (this.#chunks.length > KEPT_CHUNKS || (this.#bytes > KEPT_BYTES && this.#chunks.length > 1)) {
      this.#bytes -= (this.#chunks.shift() as Chunk).bytes
    }
    this.#wakeWaiting()
    return stored.length === PORTION || bytes >= FULL_BYTES
  }

  #wakeWaiting(): void {
    const waiting = this.#waiting
    this.#waiting = new Set()
    for (const resume of waiting) resume()
  }

  #news(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const stops = [signal, this.#closing]
      const done = (): void => {
        this.#waiting.delete(done)
        for (const stop of stops) stop.removeEventListener('abort', done)
        resolve()
      }
      this.#waiting.add(done)
      for (const stop of stops) stop.addEventListener('abort', done, { once: true })
    })
  }

  /** Until someone has news, but not too soon; or until the time is over. */
  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const began = performance.now()
      const done = (): void => {
        clearTimeout(timer)
        this.#closing.removeEventListener('abort', done)
        this.#wakeUp = null
        resolve()
      }
      let timer = setTimeout(done, ms)
      this.#wakeUp = () => {
        this.#wakeUp = null
        clearTimeout(timer)
        timer = setTimeout(done, Math.max(0, LEAST_MS - (performance.now() - began)))
      }
      this.#closing.addEventListener('abort', done, { once: true })
    })
  }
}

/** Stored events as they go out. */
export async function mapEvents(reading: Noting, stored: readonly StoredEvent[]): Promise<readonly HubEvent[]> {
  const mapped = await ojsEvents(reading, stored)
  return mapped.map((event) => ({ ...event, text: eventText(reading, event) }))
}
