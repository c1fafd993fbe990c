/**
 * What a search is driven by: the part of an index that contains every row it may find, in the order of ids. Among the
 * conditions that have an index, the one with the fewest entries is used; without one, the primary key.
 */
import type { Condition, Match, Search, TermCondition } from '../../model/search/search.ts'
import { termOf } from '../../model/search/terms.ts'
import { matchSql, type Scope } from './conditions.ts'
import type { Dialect, Sql } from './dialect.ts'

/** A part of an index. `rows`: of the table itself, as r; `terms`: of the table of terms, as x. */
export interface Branch {
  readonly from: 'rows' | 'terms'
  /** Its condition, added to a statement. */
  readonly where: (sql: Sql) => string
}

export interface Driver {
  /** Together they contain every row that the search may find; a row may be in several. */
  readonly branches: readonly Branch[]
  /** false: the index is in another order, so all its entries must be sorted; it is used only if there are few. */
  readonly ordered: boolean
}

export const ALL_ROWS: Driver = { branches: [{ from: 'rows', where: () => 'r.id IS NOT NULL' }], ordered: true }

/** In order of preference where the counts do not decide. */
export function driversOf(dialect: Dialect, scope: Scope, { of, conditions }: Search): readonly Driver[] {
  const found: Driver[] = []
  for (const condition of conditions) if (isKey(condition)) found.push(keys(scope, condition.values))
  for (const condition of conditions)
    if (condition.kind === 'term' && !condition.not) found.push(terms(scope, condition))
  found.push(...(of === 'instances' ? instanceDrivers(conditions) : runDrivers(dialect, scope, conditions)))
  return found
}

function isKey(condition: Condition): condition is Condition & { readonly kind: 'text' } {
  return condition.kind === 'text' && condition.field === 'key' && !condition.not
}

function keys(scope: Scope, values: readonly Match[]): Driver {
  return { branches: values.map((value) => rows((sql) => matchSql(sql, scope, 'key', value))), ordered: true }
}

/** The index of a tenant's terms is exact for a caller of that tenant. */
function terms({ of, tenant }: Scope, { field, values }: TermCondition): Driver {
  const own = tenant === null || tenant === '' ? '' : tenant
  return {
    branches: values.map((value) => ({
      from: 'terms',
      where: (sql) =>
        `${own === '' ? '' : `x.tenant = ${sql.text(own)} AND `}x.term = ${sql.text(termOf(of, field, value))}`,
    })),
    ordered: true,
  }
}

export const OPEN = ['idle', 'queued', 'running', 'waiting', 'cancelling', 'compensating']
export const ENDED = ['completed', 'failed', 'cancelled', 'compensated']

function instanceDrivers(conditions: readonly Condition[]): readonly Driver[] {
  return conditions.flatMap((condition) => {
    const states = statesOf(condition)
    return states === null
      ? []
      : [{ branches: states.map((state) => rows((sql) => `r.state = ${sql.text(state)}`)), ordered: true }]
  })
}

/** What only an instance has that has not ended. */
const OF_OPEN: readonly string[] = ['gate', 'held', 'paused']

/** The states that follow from a condition. */
function statesOf(condition: Condition): readonly string[] | null {
  if (condition.kind === 'span') return condition.field === 'ended' && !condition.not ? ENDED : null
  if (condition.kind !== 'text' || condition.not) return null
  const words = condition.values.map(({ text }) => text)
  if (condition.field === 'state') return [...new Set(words)]
  return condition.field === 'has' && words.every((word) => OF_OPEN.includes(word)) ? OPEN : null
}

function runDrivers(dialect: Dialect, scope: Scope, conditions: readonly Condition[]): readonly Driver[] {
  const found: Driver[] = []
  const single = (field: string): Match | null => {
    const match = conditions.find(
      (condition) => condition.kind === 'text' && condition.field === field && !condition.not,
    )
    const values = match?.kind === 'text' ? match.values : []
    return values.length === 1 && values[0]?.prefix === false ? (values[0] as Match) : null
  }
  if (conditions.some((condition) => condition.kind === 'flag' && condition.field === 'dead' && condition.value)) {
    found.push({ branches: [rows(() => dialect.dead)], ordered: true })
  }
  const instance = single('instance')
  if (instance !== null) found.push(unordered((sql) => matchSql(sql, scope, 'instance', instance)))
  const status = single('status')?.text
  if (status === 'leased') found.push(unordered(() => dialect.leased))
  const [type, queue] = [single('type'), single('queue')]
  if (status === 'pending' && type !== null && (dialect.typesWithoutQueue || queue !== null)) {
    const inQueue = (sql: Sql): string => (queue === null ? '' : `${matchSql(sql, scope, 'queue', queue)} AND `)
    const pending = "r.status = 'pending' AND r.deleted_at IS NULL"
    found.push(unordered((sql) => `${pending} AND ${inQueue(sql)}${matchSql(sql, scope, 'type', type)}`))
  }
  return found
}

function rows(where: Branch['where']): Branch {
  return { from: 'rows', where }
}

function unordered(where: Branch['where']): Driver {
  return { branches: [rows(where)], ordered: false }
}
