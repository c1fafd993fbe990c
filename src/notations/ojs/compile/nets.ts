/** The nets behind instances, read once: a net never changes under its hash. */

import type { InstanceRow } from '../../../model/rows.ts'
import type { Net } from '../../../net/net.ts'
import type { Reading } from '../../interface/projection.ts'
import type { Kind } from './tree.ts'

const MOST_KEPT = 1_000
const kept = new Map<string, Net>()

export type Nets = ReadonlyMap<string, Net>

/** By hash; one statement for those not read before. */
export async function netsOf(reading: Reading, hashes: Iterable<string>): Promise<Nets> {
  const found = new Map<string, Net>()
  const missing = new Set<string>()
  for (const hash of hashes) {
    const net = kept.get(hash)
    if (net === undefined) missing.add(hash)
    else found.set(hash, net)
  }
  for (const row of missing.size === 0 ? [] : await reading.queries.trees.nets([...missing])) {
    const net = JSON.parse(row.net) as Net
    if (kept.size >= MOST_KEPT) kept.clear()
    kept.set(row.hash, net)
    found.set(row.hash, net)
  }
  return found
}

export function netOf(nets: Nets, hash: string): Net {
  const net = nets.get(hash)
  if (net === undefined) throw new Error(`net ${hash} is missing`)
  return net
}

export function kindOf(net: Net): Kind {
  return (net.kind ?? 'chain') as Kind
}

/** The author's name for a workflow; null: it has none, and its row is called after its kind. */
export function nameOf(row: Pick<InstanceRow, 'name'>, net: Net): string | null {
  return row.name === net.kind ? null : row.name
}
