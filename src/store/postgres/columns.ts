/** Rows and columns on Postgres, derived from the descriptions of the tables. */

import { OPERATION_ITEM as OPERATION_ITEMS, OPERATION as OPERATIONS } from '../../model/bulk/rows.ts'
import { COMMAND as COMMANDS } from '../../model/commands.ts'
import { DEFINITION as DEFINITIONS, type DefinitionHead } from '../../model/definitions.ts'
import { ERROR_GROUP as ERROR_GROUPS, FAILURE as FAILURES } from '../../model/errors/groups.ts'
import { PARKED as PARKED_ROWS, PAUSE as PAUSES } from '../../model/pauses/pauses.ts'
import { FAIR_TURN as FAIR_TURNS } from '../../model/queues/fair.ts'
import * as rows from '../../model/rows.ts'
import { SAGA_STEP as SAGA_STEPS, SAGA as SAGAS } from '../../model/sagas.ts'
import { DEBOUNCE as DEBOUNCES } from '../../model/schedules/debounce.ts'
import { FIRE as FIRES } from '../../model/schedules/fires.ts'
import { type Cell, columnsOf, type Description, type Kind, type RowOf } from '../../model/table.ts'
import { type CellsOf, cellsOf } from '../cells.ts'
import type { Fields } from './connection/statement.ts'
import { parseTime } from './connection/time.ts'

export interface Column<R> {
  readonly key: keyof R & string
  readonly name: string
  /** time: timestamptz, in milliseconds here. list: a JSON array of strings. */
  readonly kind: Kind
  /** The column's default in the table: an insert omits the column when no row of the batch differs from it. */
  readonly absent: Cell
}

export interface Table<R> {
  readonly name: string
  readonly columns: readonly Column<R>[]
}

export interface WritableTable<R> extends Table<R> {
  /** The values of its columns, in their order. */
  readonly cells: CellsOf<R>
  /** The fields that updates write. */
  readonly changes: ReadonlySet<string>
}

function table<D extends Description<object>>(description: D): WritableTable<RowOf<D>> {
  const columns = columnsOf(description)
  return {
    name: `workflow.${description.name}`,
    columns: columns.map(({ key, name, kind, initial }) => ({
      key: key as keyof RowOf<D> & string,
      name,
      kind,
      absent: initial ?? null,
    })),
    cells: cellsOf(description),
    changes: new Set(columns.filter(({ changes }) => changes).map(({ key }) => key)),
  }
}

export const RUN = table(rows.RUN)
export const INSTANCE = table(rows.INSTANCE)
export const SLOT = table(rows.SLOT)
export const ITEM = table(rows.ITEM)
export const GATE = table(rows.GATE)
export const TERM = table(rows.TERM)
export const NET = table(rows.NET)
export const NAME = table(rows.NAME)
export const QUEUE = table(rows.QUEUE)
export const LIMIT = table(rows.LIMIT)
export const UNIQUE = table(rows.UNIQUE)
export const WORKER = table(rows.WORKER)
export const SCHEDULE = table(rows.SCHEDULE)
export const EVENT = table(rows.EVENT)
export const FAIR_TURN = table(FAIR_TURNS)
export const DEFINITION = table(DEFINITIONS)
export const COMMAND = table(COMMANDS)
export const FIRE = table(FIRES)
export const DEBOUNCE = table(DEBOUNCES)
export const OPERATION = table(OPERATIONS)
export const OPERATION_ITEM = table(OPERATION_ITEMS)
export const FAILURE = table(FAILURES)
export const ERROR_GROUP = table(ERROR_GROUPS)
export const PAUSE = table(PAUSES)
export const PARKED = table(PARKED_ROWS)
/** The views of sagas. */
export const SAGA = table(SAGAS)
export const SAGA_STEP = table(SAGA_STEPS)

const isTrue = (text: string): boolean => text === 't'

const DECODE: Readonly<Record<Kind, ((text: string) => unknown) | null>> = {
  uuid: null,
  text: null,
  json: null,
  jsonb: null,
  int: Number,
  bigint: Number,
  bool: isTrue,
  time: parseTime,
  list: (text) => JSON.parse(text),
}

/** Some columns of a table, in its own order. */
export function narrowed<R, K extends keyof R & string>(from: Table<R>, keys: readonly K[]): Table<Pick<R, K>> {
  const columns = from.columns.filter(({ key }) => (keys as readonly string[]).includes(key))
  return { name: from.name, columns: columns as unknown as readonly Column<Pick<R, K>>[] }
}

/** `r.id, r.type, …` for a SELECT whose rows `decoder` reads. */
export function selectList<R>(from: Table<R>, alias: string): string {
  return from.columns.map((column) => `${alias}.${column.name}`).join(', ')
}

/** Reads a row from the fields at `offset` on, in the order of selectList. */
export function decoder<R>(from: Table<R>): (fields: Fields, offset?: number) => R {
  const keys = from.columns.map((column) => column.key)
  const decode = from.columns.map((column) => DECODE[column.kind])
  return (fields, offset = 0) => {
    const row: Record<string, unknown> = {}
    for (let at = 0; at < keys.length; at++) {
      const text = fields[at + offset] as string | null
      const parse = decode[at] as ((text: string) => unknown) | null
      row[keys[at] as string] = text === null || parse === null ? text : parse(text)
    }
    return row as R
  }
}

/** Without what may be long. */
export const DEFINITION_HEAD: Table<Omit<DefinitionHead, 'latest'>> = {
  name: DEFINITION.name,
  columns: DEFINITION.columns.filter(({ key }) => key !== 'source' && key !== 'plan') as never,
}

export const runFrom = decoder(RUN)
export const instanceFrom = decoder(INSTANCE)
export const gateFrom = decoder(GATE)
export const limitFrom = decoder(LIMIT)
export const uniqueFrom = decoder(UNIQUE)
export const workerFrom = decoder(WORKER)
export const scheduleFrom = decoder(SCHEDULE)
