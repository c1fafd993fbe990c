/**
 * Changes of many runs that a list finds: bulk operations on runs, for callers that have a list and no search. Stored and
 * carried out like all of them (operations/bulk). A small change is answered when it is done, a large one while it continues.
 */
import { sleep } from '../../kernel/sleep.ts'
import type { Action, Operation, OperationItemRow } from '../../model/bulk/rows.ts'
import { actorOf, maySee } from '../caller.ts'
import { operation, type Use } from '../operation.ts'
import type { RunFilter } from './search.ts'

const MOST_ERRORS = 20
/** Clients wait about half a minute before they give up. */
const PATIENCE_MS = 5_000
const LOOK_MS = 20

export interface BulkChange {
  readonly operation: Operation
  /** The first few items that were not changed. */
  readonly errors: readonly OperationItemRow[]
}

interface Filtered {
  readonly filter: RunFilter
}

const OPERATORS = { scope: 'admin', shared: true } as const

/** Ended runs start again, at their first attempt. */
export const redriveRuns = operation(
  OPERATORS,
  (use, { filter }: Filtered): Promise<BulkChange> => change(use, 'redrive', filter),
)

/** `word`: what the caller calls it. Their history stays. */
export const cancelRuns = operation(
  OPERATORS,
  (use, { filter, word }: Filtered & { readonly word?: string }): Promise<BulkChange> =>
    change(use, 'cancel', filter, word),
)

/** Removes dead-lettered runs for good. */
export const dismissRuns = operation(
  OPERATORS,
  (use, { filter }: Filtered): Promise<BulkChange> => change(use, 'dismiss', filter),
)

/** null: there is none, or it belongs to another tenant. */
export const showBulkChange = operation(
  { scope: 'read', shared: true },
  async (use, { id }: { readonly id: string }): Promise<BulkChange | null> => {
    const found = await use.engine.bulk.get(id)
    return found !== null && maySee(use.caller, found) ? withErrors(use, found) : null
  },
)

/** Its final state, or its state after a few seconds. */
async function change(use: Use, action: Action, filter: RunFilter, word?: string): Promise<BulkChange> {
  const { engine, caller } = use
  const about = { tenant: caller.tenant, actor: actorOf(caller), reason: null, rate: null }
  const parameters = { filter: { ...filter }, ...(word === undefined ? {} : { word }) }
  let found = await engine.bulk.create({ ...about, action, target: 'runs', query: '', parameters })
  const until = performance.now() + PATIENCE_MS
  while (found.state === 'running' && performance.now() < until) {
    await sleep(LOOK_MS)
    found = (await engine.bulk.get(found.id)) ?? found
  }
  return withErrors(use, found)
}

async function withErrors({ engine }: Use, found: Operation): Promise<BulkChange> {
  const asked = { operationId: found.id, limit: MOST_ERRORS, before: null }
  const errors = await Promise.all(
    (['refused', 'failed'] as const).map((state) => (found[state] === 0 ? [] : engine.bulk.items({ ...asked, state }))),
  )
  return { operation: found, errors: errors.flat().slice(0, MOST_ERRORS) }
}
