/**
 * Retention: what ended long ago goes, once a minute. What cannot be deleted (a foreign table refers to it, another
 * transaction holds one of its rows) is found by halving, recorded and rests; everything else goes.
 */

import { isolated } from '../../kernel/isolated.ts'
import type { Store } from '../../store/store.ts'

import type { Faults } from '../transaction/faults.ts'
import { type Findings, idOf } from '../transaction/findings.ts'
import type { Transactor } from '../transaction/transactor.ts'

const EVERY_MS = 60_000
/** Rows that one transaction deletes, about. */
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

/** Prunes if it is time to. */
export function retention(deps: Deps, findings: Findings, isClosed: () => boolean): () => Promise<void> {
  let prunedAt = Number.NEGATIVE_INFINITY
  return async () => {
    // Not by the store's clock, which may be set back.
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
  /** Tried, and still there: another transaction holds them. The next time may find them free. */
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
  /** Ended instances and bare runs are kept this long. null: for ever. */
  readonly endedMs: number | null
  readonly eventsMs: number | null
}
