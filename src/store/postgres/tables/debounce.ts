/** Debounced starts: part of `transact`, and found when they are due. */
import type { DebounceQueries, DebounceRow } from '../../../model/schedules/debounce.ts'
import type { Delta } from '../../../model/transaction.ts'
import { DEBOUNCE, decoder, selectList } from '../columns.ts'
import { ask, askOne } from '../connection/ask.ts'
import { inserter, textArray, upserter } from '../connection/batch.ts'
import type { Lanes } from '../connection/lanes.ts'
import { type Call, type Fields, statement } from '../connection/statement.ts'

const SELECT = `SELECT ${selectList(DEBOUNCE, 'd')} FROM workflow.workflow_debounce d`
const LOCK = statement(`${SELECT} WHERE d.key = ANY ($1::text[]) ORDER BY d.key FOR UPDATE`)
export const DUE_DEBOUNCES = statement(
  `${SELECT} WHERE d.due_at <= (SELECT workflow.clock()) ORDER BY d.due_at LIMIT $1::int`,
)
const REMOVE = statement('DELETE FROM workflow.workflow_debounce d WHERE d.key = ANY ($1::text[])')
const insert = inserter(DEBOUNCE)
const put = upserter(DEBOUNCE, ['key'])

export const debounceFrom = decoder(DEBOUNCE)

export function debouncesCall(keys: readonly string[], to: Map<string, DebounceRow>): Call {
  const row = (fields: Fields): void => {
    const found = debounceFrom(fields)
    to.set(found.key, found)
  }
  return { statement: LOCK, values: [textArray(keys)], row }
}

/** A key that was free when it was looked up must still be: two first starts at the same time conflict. */
export function debounceCalls(
  { put: rows = [], remove = [] }: NonNullable<Delta['debounces']>,
  known: ReadonlyMap<string, DebounceRow>,
): Call[] {
  const fresh = rows.filter(({ key }) => !known.has(key))
  const changed = rows.filter(({ key }) => known.has(key))
  return [
    ...(fresh.length === 0 ? [] : [insert(fresh)]),
    ...(changed.length === 0 ? [] : [put(changed)]),
    ...(remove.length === 0 ? [] : [{ statement: REMOVE, values: [textArray(remove)] }]),
  ]
}

const BEFORE = "d.id < coalesce($2::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff') ORDER BY d.id DESC LIMIT $1::int"
const LIST = statement(`${SELECT} WHERE ${BEFORE}`)
const LIST_OF_TENANT = statement(`${SELECT} WHERE coalesce(d.tenant, '') = $3::text AND ${BEFORE}`)
const ONE = statement(`${SELECT} WHERE d.id = $1::uuid`)

export function debounceQueriesOn({ reads, lists }: { readonly reads: Lanes; readonly lists: Lanes }): DebounceQueries {
  return {
    list: ({ tenant, limit, before }) => {
      const page = [String(limit), before]
      if (tenant === null) return ask(lists, { statement: LIST, values: page, row: debounceFrom })
      return ask(lists, { statement: LIST_OF_TENANT, values: [...page, tenant], row: debounceFrom })
    },
    get: (id) => askOne(reads, { statement: ONE, values: [id], row: debounceFrom }),
  }
}

/** Those that a transaction has loaded, by key. */
export class Debounces extends Map<string, DebounceRow> {}
