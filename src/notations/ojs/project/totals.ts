/**
 * How many jobs of a workflow have completed and failed, with those of nested workflows in place of the one that their
 * place counts for. A workflow that retries another also counts the nested ones it took over, which lie in that other.
 */

import type { Totals } from '../../../model/queries/trees.ts'
import type { InstanceRow } from '../../../model/rows.ts'
import type { Reading } from '../../interface/projection.ts'
import type { TakenOver } from './values.ts'

export async function totalsOf(
  reading: Reading,
  rows: readonly InstanceRow[],
  taken: TakenOver,
): Promise<(row: InstanceRow) => Totals> {
  const ids = new Set([...rows, ...taken.rows].map((row) => row.id))
  const stored = ids.size === 0 ? new Map<string, Totals>() : await reading.queries.trees.totals({ ids: [...ids] })
  const of = (id: string): Totals => stored.get(id) ?? NONE
  if (taken.places.length === 0) return (row) => of(row.id)
  const more = extras([...rows, ...taken.rows], taken, of)
  return (row) => add(of(row.id), more(row.id))
}

const NONE: Totals = { succeeded: 0, failed: 0 }

function add(a: Totals, b: Totals): Totals {
  return { succeeded: a.succeeded + b.succeeded, failed: a.failed + b.failed }
}

function extras(
  rows: readonly InstanceRow[],
  { places }: TakenOver,
  of: (id: string) => Totals,
): (id: string) => Totals {
  const below = (id: string): Totals => {
    const own = places
      .filter((place) => place.instanceId === id)
      .map(({ childId }) => add(add(of(childId), below(childId)), { succeeded: -1, failed: 0 }))
    const nested = rows.filter((row) => row.parentId === id && row.parentNode !== null).map((row) => below(row.id))
    return [...own, ...nested].reduce(add, NONE)
  }
  return below
}
