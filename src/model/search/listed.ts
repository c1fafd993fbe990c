/** The filters of a list of instances, as a search: its pages are bounded, however few instances they match. */
import type { InstanceQuery } from '../queries/queries.ts'
import type { InstanceCondition, InstanceSearch, InstanceText } from './search.ts'

export type InstanceListed = Omit<InstanceQuery, 'tenant' | 'kind' | 'offset'>

export function listedSearch(query: Omit<InstanceListed, 'limit' | 'before'>): InstanceSearch {
  const { states, name, dialect, startKey = null, retryOf = null, createdAfter = null, createdBefore = null } = query
  const conditions: readonly (InstanceCondition | null)[] = [
    states === null ? null : texts('state', states),
    name === null ? null : texts('name', [name]),
    dialect === null ? null : texts('notation', [dialect]),
    startKey === null ? null : texts('key', [startKey]),
    retryOf === null ? null : texts('original', [retryOf]),
    query.rootsOnly ? null : texts('nested', ['any']),
    createdAfter === null ? null : created('>=', createdAfter),
    createdBefore === null ? null : created('<', createdBefore),
  ]
  return { of: 'instances', conditions: conditions.filter((condition) => condition !== null) }
}

function texts(field: InstanceText, values: readonly string[]): InstanceCondition {
  return { kind: 'text', field, not: false, values: values.map((text) => ({ text, prefix: false })) }
}

function created(comparison: '>=' | '<', at: number): InstanceCondition {
  return { kind: 'moment', field: 'created', not: false, comparison, at }
}
