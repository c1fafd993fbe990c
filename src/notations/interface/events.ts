/** The event log of an instance in the terms of its notation, if they differ from the stored history. */
import type { InstanceRow, StoredEvent } from '../../model/rows.ts'
import type { Net } from '../../net/net.ts'
import type { Reading } from './projection.ts'
import type { Table } from './sheet.ts'

/** The position of an event in the log: the n-th of its line of the history, from 1. */
export interface LogPlace {
  readonly seq: number
  readonly n: number
}

export const FROM_THE_BEGINNING: LogPlace = { seq: 0, n: 0 }

/** null: not a valid place. */
export function parsePlace(text: string): LogPlace | null {
  const found = /^(\d{1,15})(?:\.(\d{1,9}))?$/.exec(text)
  if (found === null) return null
  // A number alone names the whole line: all of its events have been read.
  return { seq: Number(found[1]), n: found[2] === undefined ? Number.MAX_SAFE_INTEGER : Number(found[2]) }
}

export interface LogAsked {
  readonly after: LogPlace
  readonly limit: number
  /** null: all. */
  readonly types: ReadonlySet<string> | null
}

export interface LogPage {
  /** Oldest first. */
  readonly events: readonly object[]
  readonly next_after: string
  readonly has_more: boolean
  /** Begun and not ended, on the last page: the log repeats these events, under the same ids, when their work ends. */
  readonly in_flight: readonly object[]
}

export interface EventLog {
  readonly types: readonly string[]
  page(reading: Reading, instance: InstanceRow, net: Net, asked: LogAsked): Promise<LogPage>
  /** The events of some lines of the history: a line may have several, or none. */
  of(reading: Reading, instance: InstanceRow, net: Net, lines: readonly StoredEvent[]): Promise<readonly object[]>
  /** `since`: when the instance was created. */
  table(page: LogPage, since: number): Promise<Table>
}
