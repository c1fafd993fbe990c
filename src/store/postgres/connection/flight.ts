/**
 * Several statements sent together, answered together: one round trip, one Sync. The server skips everything between a
 * failed statement and the Sync, so the first error is the only one and a COMMIT behind it never runs.
 *
 * pg's own pipeline mode puts a Sync behind every statement; each costs both sides a message and the server a write
 * to the socket, and every statement after an error fails again with 25P02. Nine small statements took 0.36 ms that
 * way and 0.18 ms as a flight (medians, same busy machine). A flight uses the same public hook as pg-cursor (a `submit` method) and needs no Describe, since our
 * statements know their columns.
 *
 * Without BEGIN a flight is a transaction of its own: the server commits at the Sync, before it reports that it is
 * ready.
 */
import type pg from 'pg'
import { messagesOf } from './messages.ts'
import type { Call, Fields, Statement } from './statement.ts'

/** What we use of pg's Connection; its published types lag behind. */
interface Wire {
  readonly stream: { readonly writable: boolean; write(bytes: Buffer): void }
  on(event: 'parseComplete', listener: () => void): void
}

/** A flight that the server or the socket stopped. `reached`: how many statements had completed before. */
export class FlightError extends Error {
  override readonly cause: Error
  readonly reached: number
  constructor(cause: Error, reached: number) {
    super(cause.message)
    this.cause = cause
    this.reached = reached
  }
}

interface Preparation {
  readonly names: Set<string>
  /** Names whose Parse is on the wire, in order. */
  awaited: string[]
}

const preparations = new WeakMap<Wire, Preparation>()

function preparationOn(wire: Wire): Preparation {
  let known = preparations.get(wire)
  if (known === undefined) {
    const made: Preparation = { names: new Set(), awaited: [] }
    wire.on('parseComplete', () => {
      const name = made.awaited.shift()
      if (name !== undefined) made.names.add(name)
    })
    preparations.set(wire, made)
    known = made
  }
  return known
}

class Flight {
  readonly #calls: readonly Call[]
  readonly #resolve: (tags: readonly string[]) => void
  readonly #reject: (error: Error) => void
  readonly #tags: string[] = []
  #broken: Error | null = null

  constructor(calls: readonly Call[], resolve: (tags: readonly string[]) => void, reject: (error: Error) => void) {
    this.#calls = calls
    this.#resolve = resolve
    this.#reject = reject
  }

  /** An error it returns is passed to handleError: nothing was sent. */
  submit(connection: unknown): Error | null {
    const wire = connection as Wire
    const preparation = preparationOn(wire)
    const parsed: string[] = []
    const isPrepared = ({ name }: Statement): boolean => {
      if (name !== '' && (preparation.names.has(name) || parsed.includes(name))) return true
      parsed.push(name)
      return false
    }
    try {
      const bytes = messagesOf(this.#calls, isPrepared)
      preparation.awaited = parsed
      // pg itself reports a closed socket.
      if (wire.stream.writable) wire.stream.write(bytes)
      return null
    } catch (error) {
      return error as Error
    }
  }

  handleDataRow(message: { readonly fields: Fields }): void {
    if (this.#broken !== null) return
    try {
      this.#calls[this.#tags.length]?.row?.(message.fields)
    } catch (error) {
      this.#broken = error as Error
    }
  }

  handleCommandComplete(message: { readonly text: string }): void {
    this.#tags.push(message.text)
  }

  handleEmptyQuery(): void {
    this.#tags.push('')
  }

  handleRowDescription(): void {}

  handlePortalSuspended(): void {}

  handleReadyForQuery(): void {
    if (this.#broken !== null) this.#reject(this.#broken)
    else this.#resolve(this.#tags)
  }

  handleError(error: Error): void {
    this.#reject(new FlightError(error, this.#tags.length))
  }
}

/** Sends the calls together. Resolves with their command tags; rejects with a FlightError for the first that failed. */
export function fly(client: pg.Client, calls: readonly Call[]): Promise<readonly string[]> {
  return new Promise((resolve, reject) => {
    client.query(new Flight(calls, resolve, reject) as unknown as pg.Submittable)
  })
}
