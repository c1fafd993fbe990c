/** One statement on a connection, in a transaction of its own. */
import { sleep } from '../../../kernel/sleep.ts'
import { StoreError } from '../../../kernel/store-errors.ts'
import { causeOf, isConnectionLoss, isServerError, LOCKED, toStoreError } from './failure.ts'
import { FlightError, fly } from './flight.ts'
import type { Lanes } from './lanes.ts'
import type { Call, Fields, Statement } from './statement.ts'

export interface Question<T> {
  readonly statement: Statement
  readonly values?: Fields
  readonly row: (fields: Fields) => T
  /** Settings for this statement alone: they end with its transaction, which is this one flight. */
  readonly settings?: Statement
}

/** How long, and with which pauses, a statement that meets a locked row is retried: it has no connection meanwhile. */
const LOCK_PATIENCE_MS = 5000
const LOCKED_PAUSE_MS = 100

/** Rows of a statement that may run twice: after a lost connection it is retried. */
export async function ask<T>(lanes: Lanes, question: Question<T>): Promise<T[]> {
  const begunAt = performance.now()
  for (let tries = 1; ; ) {
    const rows: T[] = []
    const call: Call = {
      statement: question.statement,
      values: question.values ?? [],
      row: (fields) => void rows.push(question.row(fields)),
    }
    try {
      const calls = question.settings === undefined ? [call] : [{ statement: question.settings, values: [] }, call]
      await lanes.use((lane) => fly(lane.client, calls))
      return rows
    } catch (error) {
      const cause = causeOf(error)
      // Thrown while a row was read: the connection is still usable.
      if (!(error instanceof FlightError) && !isServerError(cause) && !(error instanceof StoreError)) {
        throw new StoreError('unreadable', `a row cannot be read: ${cause.message}`, { cause })
      }
      if (cause.code === LOCKED && performance.now() - begunAt < LOCK_PATIENCE_MS) {
        await sleep(LOCKED_PAUSE_MS)
        continue
      }
      const lost = error instanceof FlightError && isConnectionLoss(cause)
      if (!lost || tries++ >= 3) throw toStoreError(error)
    }
  }
}

/** The first row, or null. */
export async function askOne<T>(lanes: Lanes, question: Question<T>): Promise<T | null> {
  const [first] = await ask(lanes, question)
  return first ?? null
}
