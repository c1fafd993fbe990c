/**
 * Retention: deletes what ended long ago, once a minute. Rows that cannot be deleted (a foreign table refers to them, or
 * another transaction holds them) are found by halving, recorded and left for a while; all others are deleted.
 */

import { isolated } from '../../kernel/isolated.ts'
import type { Store } from '../../store/store.ts'

import type { Faults } from '../transaction/faults.ts'
import { type Findings, idOf } from '../transaction/findings.ts'
import type { Transactor } from '../transaction/transactor.ts'

const EVERY_MS = 60_000
/** Approximately how many rows one transaction deletes. */
const ROWS = 1_000
const PLACE = 'sweep_retention'

interface Deps {
  readonly store: Store
  readonly transactor: Transactor
  readonly faults: Faults
  readonly retention: Retention
}

interface Cut {
  readonly endedBefore: number
  readonly eventsBefore: number
}

/** Prunes if it is due. */
export function retention(deps: Deps, findings: Findings, isClosed: () => boolean): () => Promise<void> {
  let prunedAt = Number.NEGATIVE_INFINITY
  return async () => {
    // Measured by the monotonic clock, since the store's clock may be set back.
    const here = performance.now()
    if (here - prunedAt < EVERY_MS) return
    prunedAt = here
    const { endedMs, eventsMs } = deps.retention
    if (endedMs === null && eventsMs === null) return
    const before = (keptMs: number | null): number =>
      keptMs === null ? 0 : Math.max(deps.transactor.nowMs - keptMs, 0)
    await prune(deps, { endedBefore: before(endedMs), eventsBefore: before(eventsMs) }, findings, isClosed)
  }
}

async function prune({ store, faults }: Deps, cut: Cut, findings: Findings, isClosed: () => boolean): Promise<void> {
  const { sweep } = store
  const remove = async (among: readonly string[]): Promise<readonly void[]> => {
    while (!isClosed() && (await sweep.prune({ ...cut, among, limit: ROWS })) >= ROWS);
    return []
  }
  await findings.contained('sweep_failed', 'retention of events', () => remove([]))
  const tried = new Set<string>()
  /** Tried but not deleted, because another transaction holds them. They may be free the next time. */
  const left = new Set<string>()
  while (!isClosed()) {
    const look = await findings.look(PLACE, (p) => sweep.prunable({ ...cut, ...p }), idOf, left)
    const found = look.map(idOf)
    if (found.length === 0) return
    const fresh = found.filter((id) => !tried.has(id))
    for (const id of found) if (tried.has(id)) left.add(id)
    for (const id of fresh) tried.add(id)
    await isolated(fresh, remove, (id, error) => faults.note(PLACE, id, error))
  }
}

export interface Retention {
  /** How long ended instances and bare runs are kept. null: permanently. */
  readonly endedMs: number | null
  readonly eventsMs: number | null
}
