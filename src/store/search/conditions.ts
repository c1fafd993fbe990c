/** Conditions of queries as SQL about a row named r. */
import { scopedName } from '../../kernel/scoped-names.ts'
import { BULK_RETRY } from '../../model/bulk/rows.ts'
import type {
  Comparison,
  Condition,
  Match,
  NumberCondition,
  Search,
  SpanCondition,
  TermCondition,
  TextCondition,
} from '../../model/search/search.ts'
import { termOf } from '../../model/search/terms.ts'
import type { Sql } from './dialect.ts'

export interface Scope {
  readonly of: Search['of']
  /** null: all tenants; an empty one: rows without a tenant. */
  readonly tenant: string | null
  /** The store's clock; 0 if no condition needs it. */
  readonly now: number
}

/** Terms that a run keeps after a later success: such a filter finds only runs that are failed. */
const OF_FAILURES: readonly string[] = ['error', 'group']

/** What holds for every row that a query finds. */
export function alwaysHeld(sql: Sql, { of, tenant }: Scope, conditions: readonly Condition[]): readonly string[] {
  const held: string[] = []
  if (of === 'runs') held.push('r.deleted_at IS NULL')
  else if (!conditions.some(({ field }) => field === 'nested')) held.push('r.parent_id IS NULL')
  if (tenant !== null) held.push(tenant === '' ? 'r.tenant IS NULL' : `r.tenant = ${sql.text(tenant)}`)
  return held
}

export function conditionSql(sql: Sql, scope: Scope, condition: Condition): string {
  if (condition.kind === 'flag') return `${condition.value ? '' : 'NOT '}r.${FLAGS[condition.field]}`
  const held = heldSql(sql, scope, condition)
  // A value that is missing is not the one named.
  return condition.not ? `(${held}) IS NOT TRUE` : `(${held})`
}

const FLAGS = { dead: 'dead_letter', inbox: 'inbox', deferred: 'deferred' } as const

function heldSql(sql: Sql, scope: Scope, condition: Exclude<Condition, { readonly kind: 'flag' }>): string {
  switch (condition.kind) {
    case 'text':
      return textSql(sql, scope, condition)
    case 'term':
      return termSql(sql, scope, condition)
    case 'moment':
      return `r.created_at ${condition.comparison} ${sql.dialect.moment(sql.number(condition.at))}`
    case 'span':
      return spanSql(sql, scope, condition)
    case 'number':
      return numberSql(sql, condition)
  }
}

const COLUMNS: Readonly<Record<Search['of'], Readonly<Record<string, string>>>> = {
  instances: { notation: 'dialect', key: 'start_key', original: 'retry_of' },
  runs: { worker: 'leased_by', key: 'idempotency_key', instance: 'instance_id' },
}

export function columnOf(of: Search['of'], field: string): string {
  return `r.${COLUMNS[of][field] ?? field}`
}

function textSql(sql: Sql, scope: Scope, { field, values }: TextCondition): string {
  if (field === 'has')
    return values.map(({ text }) => (text === 'retry' ? retriedSql(sql) : (HAS[text] ?? 'false'))).join(' OR ')
  if (field === 'nested') return values.map(({ text }) => NESTED[text] ?? 'false').join(' OR ')
  return values.map((value) => matchSql(sql, scope, field, value)).join(' OR ')
}

const HAS: { readonly [word: string]: string } = {
  gate: 'r.gates > 0',
  held: 'r.held > 0',
  paused: 'r.paused IS NOT NULL AND r.ended_at IS NULL',
  deadline: 'r.deadline_at IS NOT NULL',
  key: 'r.start_key IS NOT NULL',
  failures: 'r.failed > 0',
}

/** A subquery with a value, as for terms; the start key is unique. */
function retriedSql({ dialect }: Sql): string {
  const retries = `SELECT count(*) FROM ${dialect.table('workflow_instance')} n WHERE n.start_key = '${BULK_RETRY}' || r.id`
  return `(${retries}) > 0`
}

const NESTED: { readonly [word: string]: string } = {
  false: 'r.parent_id IS NULL',
  true: 'r.parent_id IS NOT NULL',
  any: 'r.id IS NOT NULL',
}

export function matchSql(sql: Sql, { of, tenant }: Scope, field: string, { text, prefix }: Match): string {
  const column = columnOf(of, field)
  if (field === 'key' || field === 'worker') {
    const stored = tenant === null || tenant === '' ? text : scopedName(text, tenant)
    return prefix ? sql.dialect.beginsWith(column, sql.text(stored)) : `${column} = ${sql.text(stored)}`
  }
  if (field === 'instance' || field === 'original') return `${column} = ${sql.uuid(text)}`
  return prefix ? sql.dialect.beginsWith(column, sql.text(text)) : `${column} = ${sql.text(text)}`
}

/** A subquery with a value: a planner would turn EXISTS into a join, in an order of its own. */
function termSql(sql: Sql, { of }: Scope, { field, values, not }: TermCondition): string {
  const terms = values.map((value) => sql.text(termOf(of, field, value)))
  const found = `(SELECT count(*) FROM ${sql.dialect.table('workflow_term')} x WHERE x.id = r.id AND x.term IN (${terms.join(', ')})) > 0`
  return of === 'runs' && !not && OF_FAILURES.includes(field) ? `${found} AND r.status = 'failed'` : found
}

/** Older than a span: created before a moment. */
const TURNED: Readonly<Record<Comparison, string>> = { '>': '<', '>=': '<=', '<': '>', '<=': '>=' }

function spanSql(sql: Sql, { of, now }: Scope, { field, comparison, ms }: SpanCondition): string {
  const { dialect } = sql
  const end = of === 'instances' ? 'r.ended_at' : 'r.finished_at'
  if (field === 'took') {
    const until = `coalesce(${end}, ${dialect.moment(sql.number(now))})`
    const from = of === 'instances' ? 'r.created_at' : 'r.started_at'
    return dialect.lasted(from, until, comparison, sql.number(ms))
  }
  const column = field === 'age' ? 'r.created_at' : end
  return `${column} ${TURNED[comparison]} ${dialect.moment(sql.number(now - ms))}`
}

function numberSql(sql: Sql, { field, comparison, number }: NumberCondition): string {
  return `r.${field} ${comparison} ${sql.number(number)}`
}
