/** One statement on a connection of its own transaction. */
import { causeOf, isConnectionLoss, toStoreError } from './failure.ts'
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

/** Rows of a statement that may run twice: a lost connection is tried again. */
export async function ask<T>(lanes: Lanes, question: Question<T>): Promise<T[]> {
  for (let tries = 1; ; tries++) {
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
      const lost = error instanceof FlightError && isConnectionLoss(causeOf(error))
      if (!lost || tries >= 3) throw toStoreError(error)
    }
  }
}

/** The first row, or null. */
export async function askOne<T>(lanes: Lanes, question: Question<T>): Promise<T | null> {
  const [first] = await ask(lanes, question)
  return first ?? null
}
