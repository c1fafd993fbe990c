/**
 * One page of a search, as a series of statements that both stores can answer:
 *
 *   clock     only if a condition compares times
 *   choice    how many entries each possible driver has, counted up to a limit; the least is used (drivers.ts)
 *   boundary  the id of the last entry that this page checks, of MAX_SEARCHED entries in all
 *   page      the ids that match, from `before` down to the boundary
 *
 * The boundary comes first, so that the page covers exactly the ids between `before` and it, whatever is written meanwhile:
 * the next page continues there, and nothing is missed or found twice. A row is looked up by a subquery with a value for each
 * entry of the driver, which leaves a planner no choice of another order.
 */
import { isId } from '../../kernel/ids.ts'
import { MAX_SEARCHED } from '../../kernel/limits.ts'
import type { CountedState } from '../../model/search/queries.ts'
import type { Search } from '../../model/search/search.ts'
import { alwaysHeld, conditionSql, type Scope } from './conditions.ts'
import { type Dialect, Sql } from './dialect.ts'
import { ALL_ROWS, type Branch, type Driver, driversOf, ENDED, OPEN } from './drivers.ts'

export interface Asked {
  readonly sql: string
  readonly values: readonly (string | number)[]
}

export type Rows = readonly (readonly (string | number | null)[])[]
type Asking<T> = Generator<Asked, T, Rows>

export interface IdPage {
  readonly ids: readonly string[]
  readonly next: string | null
  readonly complete: boolean
}

/** A driver with fewer entries than this is used without looking for a better one. */
const FEW = 1_000

interface Planned {
  readonly dialect: Dialect
  readonly scope: Scope
  readonly search: Search
  readonly before: string | null
}

export function* searchPage(
  dialect: Dialect,
  search: Search,
  { tenant, limit, before }: { readonly tenant: string | null; readonly limit: number; readonly before: string | null },
): Asking<IdPage> {
  // A text that is no id is before nothing.
  if (before !== null && !isId(before)) return { ids: [], next: null, complete: true }
  const now = yield* readNow(dialect, search)
  const plan: Planned = { dialect, scope: { of: search.of, tenant, now }, search, before }
  const { driver, few } = yield* chooseDriver(plan)
  const boundary = few ? null : yield* findBoundary(plan, driver)
  const found = yield* findIds(plan, driver, boundary, limit + 1)
  if (found.length > limit) return { ids: found.slice(0, limit), next: found[limit - 1] as string, complete: true }
  return { ids: found, next: boundary, complete: boundary === null }
}

export function* countByState(
  dialect: Dialect,
  search: Search,
  tenant: string | null,
): Asking<readonly CountedState[]> {
  const now = yield* readNow(dialect, search)
  const plan: Planned = { dialect, scope: { of: search.of, tenant, now }, search, before: null }
  const { driver, few } = yield* chooseDriver(plan)
  if (!few && search.of === 'instances' && driver.branches.every(({ from }) => from === 'rows')) {
    return yield* countEachState(plan, search)
  }
  const boundary = few ? null : yield* findBoundary(plan, driver)
  const column = search.of === 'instances' ? 'state' : 'status'
  const sql = new Sql(dialect)
  const ids = branchesOf(sql, plan, driver, boundary).join(' UNION ALL ')
  const table = dialect.table(tableOf(search))
  const text = `SELECT s, count(*) FROM (
    SELECT DISTINCT c.id, (SELECT r.${column} FROM ${table} r WHERE r.id = c.id) AS s FROM (${ids}) c) counted GROUP BY s ORDER BY s`
  const counted = yield { sql: text, values: sql.values }
  return counted.map(([state, count]) => ({ state: state as string, count: Number(count), more: boundary !== null }))
}

const STATES = [...ENDED, ...OPEN].sort()

/** Each state has a part of an index of its own. */
function* countEachState(plan: Planned, { conditions }: Search): Asking<readonly CountedState[]> {
  const counts: CountedState[] = []
  const asked = conditions.flatMap((c) => (c.kind === 'text' && c.field === 'state' && !c.not ? [c.values] : []))
  for (const state of STATES) {
    if (!asked.every((values) => values.some(({ text }) => text === state))) continue
    const driver: Driver = {
      branches: [{ from: 'rows', where: (sql) => `r.state = ${sql.text(state)}` }],
      ordered: true,
    }
    const boundary = yield* findBoundary(plan, driver)
    const sql = new Sql(plan.dialect)
    const text = `SELECT count(*) FROM (${branchesOf(sql, plan, driver, boundary).join(' UNION ALL ')}) c`
    const [row] = yield { sql: text, values: sql.values }
    const count = Number(row?.[0] ?? 0)
    if (count > 0 || boundary !== null) counts.push({ state, count, more: boundary !== null })
  }
  return counts
}

function* readNow(dialect: Dialect, { conditions }: Search): Asking<number> {
  if (!conditions.some(({ kind }) => kind === 'span')) return 0
  const [row] = yield { sql: dialect.clock, values: [] }
  return Number(row?.[0])
}

/** `few`: one page can check all its entries. */
function* chooseDriver(plan: Planned): Asking<{ readonly driver: Driver; readonly few: boolean }> {
  const options = driversOf(plan.dialect, plan.scope, plan.search)
  const [only] = options
  if (only === undefined) return { driver: ALL_ROWS, few: false }
  if (options.length === 1 && only.ordered) return { driver: only, few: false }
  const sql = new Sql(plan.dialect)
  const counts = options.map((option) => `(${countUpTo(sql, plan, option, option.ordered ? FEW : MAX_SEARCHED)})`)
  const [row] = yield { sql: `SELECT ${counts.join(', ')}`, values: sql.values }
  let best: { readonly driver: Driver; readonly count: number; readonly few: boolean } | null = null
  for (const [i, driver] of options.entries()) {
    const count = Number(row?.[i])
    const few = count < (driver.ordered ? FEW : MAX_SEARCHED)
    if (!few && !driver.ordered) continue
    if (best === null || count < best.count) best = { driver, count, few }
  }
  return best ?? { driver: ALL_ROWS, few: false }
}

function countUpTo(sql: Sql, plan: Planned, driver: Driver, most: number): string {
  const parts = driver.branches.map((branch) => {
    const { from, where } = rangeOf(sql, plan, driver, branch, null)
    return `SELECT count(*) AS n FROM (SELECT 1 FROM ${from} WHERE ${where} LIMIT ${most}) c`
  })
  return parts.length === 1 ? (parts[0] as string) : `SELECT sum(n) FROM (${parts.join(' UNION ALL ')}) s`
}

/**
 * null: a page can check all that is left. Each branch has an equal share of the entries; the greatest of their last ids is
 * the boundary, so nothing has to be merged.
 */
function* findBoundary(plan: Planned, driver: Driver): Asking<string | null> {
  const { branches } = driver
  const sql = new Sql(plan.dialect)
  const share = Math.floor(MAX_SEARCHED / branches.length)
  const parts = branches.map((branch) => {
    const { from, where, id } = rangeOf(sql, plan, driver, branch, null)
    return `(SELECT ${id} FROM ${from} WHERE ${where} ORDER BY ${id} DESC LIMIT 1 OFFSET ${share - 1})`
  })
  const [row = []] = yield { sql: `SELECT ${parts.join(', ')}`, values: sql.values }
  const ends = row.filter((id) => id !== null) as readonly string[]
  return ends.length === 0 ? null : ends.reduce((a, b) => (a > b ? a : b))
}

function* findIds(plan: Planned, driver: Driver, boundary: string | null, most: number): Asking<readonly string[]> {
  const sql = new Sql(plan.dialect)
  // Entries in another order are sorted afterwards: there are few. Asked for the order, a planner may walk the primary key.
  const each = driver.ordered ? `ORDER BY 1 DESC LIMIT ${most}` : `LIMIT ${MAX_SEARCHED}`
  const parts = branchesOf(sql, plan, driver, boundary).map((branch, i) => `SELECT id FROM (${branch} ${each}) b${i}`)
  // A row that is in several branches is found in each.
  const text = `${parts.join(' UNION ALL ')} ORDER BY 1 DESC LIMIT ${most * parts.length}`
  const found = yield { sql: text, values: sql.values }
  return [...new Set(found.map(([id]) => id as string))].slice(0, most)
}

/** The ids that match, from `before` down to the boundary. */
function branchesOf(sql: Sql, plan: Planned, driver: Driver, boundary: string | null): readonly string[] {
  const { scope, search, dialect } = plan
  return driver.branches.map((branch) => {
    const { from, where, id } = rangeOf(sql, plan, driver, branch, boundary)
    const checks = [
      ...alwaysHeld(sql, scope, search.conditions),
      ...search.conditions.map((condition) => conditionSql(sql, scope, condition)),
    ]
    const checked = checks.length === 0 ? 'r.id IS NOT NULL' : checks.join(' AND ')
    if (branch.from === 'rows') return `SELECT ${id} AS id FROM ${from} WHERE ${where} AND ${checked}`
    const row = `(SELECT count(*) FROM ${dialect.table(tableOf(search))} r WHERE r.id = x.id AND ${checked}) = 1`
    return `SELECT ${id} AS id FROM ${from} WHERE ${where} AND ${row}`
  })
}

function rangeOf(
  sql: Sql,
  { dialect, search, before }: Planned,
  { ordered }: Driver,
  branch: Branch,
  boundary: string | null,
): { readonly from: string; readonly where: string; readonly id: string } {
  const [from, id] =
    branch.from === 'rows'
      ? [`${dialect.table(tableOf(search))} r`, 'r.id']
      : [`${dialect.table('workflow_term')} x`, 'x.id']
  const where = [branch.where(sql)]
  // Its own index has another order: that of ids would walk past all other rows.
  const place = ordered ? id : dialect.withoutIndex(id)
  if (before !== null) where.push(`${place} < ${sql.uuid(before)}`)
  if (boundary !== null) where.push(`${place} >= ${sql.uuid(boundary)}`)
  return { from, where: where.join(' AND '), id }
}

function tableOf({ of }: Search): string {
  return of === 'instances' ? 'workflow_instance' : 'workflow_run'
}
