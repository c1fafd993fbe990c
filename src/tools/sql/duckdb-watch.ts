/**
 * A DuckDB statement from request to end.
 *
 *   waiting → running   it is its turn
 *   waiting → ended     the time limit has passed, or it is no longer wanted: it never begins
 *   running → ended     by itself
 *   running → stopping  the time limit has passed, or it is no longer wanted: interrupted repeatedly, because a
 *                       statement forgets an interrupt that came before it began
 *   stopping → ended    it was interrupted; or GRACE_MS have passed, and it is left to end by itself: closing its
 *                       connection would crash
 */
import { aborted, type Fault, ToolFault } from '../envelope.ts'
import { spokenMs } from '../timeout.ts'
import type { Envelope } from '../tool.ts'
import type { Open } from './duckdb-connection.ts'

/** Limits how many statements run at the same time; the others wait their turn. */
class Turns {
  #free: number
  readonly #waiting: (() => void)[] = []

  constructor(most: number) {
    this.#free = most
  }

  /** The turn lasts until `work` has ended. */
  async during<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free--
    else await new Promise<void>((resolve) => this.#waiting.push(resolve))
    try {
      return await work()
    } finally {
      const next = this.#waiting.shift()
      if (next === undefined) this.#free++
      else next()
    }
  }
}

/** Each takes one of the four threads that also read files and look up names for the whole process. */
const turns = new Turns(2)
const GRACE_MS = 5000
const INTERRUPT_MS = 10

export interface Watched {
  readonly signal: AbortSignal
  readonly totalMs: number
  readonly open: () => Promise<Open>
  readonly work: (connection: Open) => Promise<Envelope>
}

export async function underWatch({ signal, totalMs, open, work }: Watched): Promise<Envelope> {
  let why: Fault | null = null
  let state: 'waiting' | 'running' = 'waiting'
  let connection: Open | null = null
  let interrupting: NodeJS.Timeout | undefined
  let giveUp: NodeJS.Timeout | undefined
  let leave: (error: ToolFault) => void
  const left = new Promise<never>((_, reject) => (leave = reject))

  const ended = turns.during(async () => {
    if (why !== null) throw new ToolFault(why)
    state = 'running'
    connection = await open()
    try {
      return await work(connection)
    } finally {
      connection.close()
      connection = null
    }
  })
  const stop = (reason: Fault): void => {
    why ??= reason
    const fault = new ToolFault(why)
    if (state === 'waiting') return leave(fault)
    interrupting ??= setInterval(() => connection?.interrupt(), INTERRUPT_MS)
    giveUp ??= setTimeout(() => leave(fault), GRACE_MS)
  }
  const onAbort = (): void => stop(aborted('duckdb'))
  const message = `the statement did not end within ${spokenMs(totalMs)}`
  const timer = setTimeout(() => stop({ kind: 'db_timeout', code: 'TIMEOUT', message }), totalMs)
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    return await Promise.race([ended, left])
  } catch (error) {
    throw why === null ? error : new ToolFault(why)
  } finally {
    clearTimeout(timer)
    clearTimeout(giveUp)
    clearInterval(interrupting)
    signal.removeEventListener('abort', onAbort)
  }
}
