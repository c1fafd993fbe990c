/**
 * Fetches of workers with leases of their own, and those that wait for work.
 *
 * Fetches with the same filter form one line (fetch-line.ts). A line looks when a fetch joins it, when a run has arrived that
 * matches its filter (arrivals.ts), and after a wake-up that does not name what arrived (look-pace.ts). An empty line is
 * removed.
 */

import type { LeaseFetch } from '../../model/leases.ts'
import type { RunRow } from '../../model/rows.ts'
import type { Arrival } from '../transaction/consequences.ts'
import { Arrivals } from './arrivals.ts'
import { type Asking, type FetchDeps, Line } from './fetch-line.ts'
import { LookPace } from './look-pace.ts'

/** For how many empty lines the time of the last success is remembered. */
const REMEMBERED = 10_000

export class Fetches {
  readonly #deps: FetchDeps
  readonly #lines = new Map<string, Line>()
  readonly #fedAt = new Map<string, number>()
  readonly #arrivals = new Arrivals(() => this.#lines.values())
  readonly #pace = new LookPace()
  #closed = false

  constructor(deps: FetchDeps) {
    this.#deps = deps
  }

  fetch(params: LeaseFetch): Promise<readonly RunRow[]> {
    if (this.#closed || params.limit < 1 || params.signal?.aborted === true) return Promise.resolve([])
    const { signal } = params
    const line = this.#lineFor(params)
    return new Promise<readonly RunRow[]>((resolve, reject) => {
      const forget = (): void => {
        asking.gone = true
        clearTimeout(timer)
        signal?.removeEventListener('abort', nothing)
      }
      const leave = (runs: readonly RunRow[]): void => {
        forget()
        resolve(runs)
      }
      const nothing = (): void => line.remove(asking)
      const asking: Asking = {
        params,
        leave,
        fail: (error) => {
          forget()
          reject(error)
        },
        gone: false,
        looked: false,
      }
      const timer = params.waitMs > 0 ? setTimeout(nothing, params.waitMs) : undefined
      signal?.addEventListener('abort', nothing, { once: true })
      line.add(asking)
    })
  }

  #lineFor({ queues, types, tenant, runtime }: LeaseFetch): Line {
    const key = JSON.stringify([queues, types, tenant, runtime])
    const known = this.#lines.get(key)
    if (known !== undefined) return known
    const line: Line = new Line(this.#deps, { queues, types, tenant, runtime }, this.#fedAt.get(key) ?? 0, {
      looked: (looked) => this.#arrivals.looked(line, looked),
      empty: (offers) => {
        this.#lines.delete(key)
        this.#pace.delete(line)
        if (this.#fedAt.size >= REMEMBERED) this.#fedAt.clear()
        if (line.fedAt > 0) this.#fedAt.set(key, line.fedAt)
        this.#arrivals.returned(offers)
      },
    })
    this.#lines.set(key, line)
    return line
  }

  /** These runs became claimable. */
  arrived(arrivals: readonly Arrival[]): void {
    if (this.#lines.size === 0 || this.#closed) return
    const tooMany = this.#arrivals.add(arrivals)
    if (tooMany.size > 0) this.wake(tooMany)
  }

  /** Something may be claimable; null: on any queue. */
  wake(queues: ReadonlySet<string> | null): void {
    for (const line of this.#lines.values()) if (line.takesFrom(queues)) this.#pace.add(line)
  }

  /** Every waiting fetch is answered with nothing. */
  close(): void {
    this.#closed = true
    this.#pace.close()
    this.#arrivals.clear()
    for (const line of [...this.#lines.values()]) line.removeAll()
  }
}
