/**
 * How many leased runs a worker keeps waiting beside those it executes: as many as it will have begun within
 * `prefetchMs`, judged by the average duration of recent runs. Quick runs are fetched hundreds at a time, slow ones not
 * at all, because an idle worker elsewhere cannot take runs that wait here.
 */
export interface PaceOptions {
  readonly concurrency: number
  readonly prefetchMs: number
  readonly maxPrefetch: number
}

/** Weight of the newest run in the average: about the last twenty runs count. */
const NEWEST = 0.05
/** Clocks have a limited resolution: a no-op measures as 0. */
const LEAST_MS = 0.001

export class Pace {
  readonly #options: PaceOptions
  #averageMs: number | null = null
  /** Leased runs to keep waiting. Before anything is known: one for each slot. */
  target: number

  constructor(options: PaceOptions) {
    this.#options = options
    this.target = Math.min(options.maxPrefetch, options.concurrency)
  }

  /** A run took this long. */
  add(ms: number): void {
    const average = this.#averageMs
    this.#set(average === null ? ms : average + (ms - average) * NEWEST)
  }

  /** Every slot has been busy for this long, whatever the average is. */
  stalled(ms: number): void {
    this.#set(Math.max(ms, this.#averageMs ?? 0))
  }

  #set(ms: number): void {
    const { concurrency, prefetchMs, maxPrefetch } = this.#options
    this.#averageMs = Math.max(ms, LEAST_MS)
    this.target = Math.min(maxPrefetch, Math.floor((concurrency * prefetchMs) / this.#averageMs))
  }
}
