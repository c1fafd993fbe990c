/** Changes of many runs: start one, and read its progress. */
import { actorOf } from '../caller.ts'
import { operation, type Use } from '../operation.ts'
import type { BulkChange, BulkParams } from './bulk-changes.ts'
import type { RunFilter } from './search.ts'

interface Filtered {
  readonly filter: RunFilter
}

const OPERATORS = { scope: 'admin', shared: true } as const

/** Ended runs start again, at their first attempt. */
export const redriveRuns = operation(OPERATORS, (use, { filter }: Filtered): Promise<BulkChange> => {
  const actor = actorOf(use.caller)
  return start(use, { action: 'retry', filter, act: ({ id: runId }) => use.engine.redrive({ runId, actor }) })
})

/** `purge`: the same, to empty a queue; their history stays. */
export const cancelRuns = operation(
  OPERATORS,
  (use, { filter, purge = false }: Filtered & { readonly purge?: boolean }): Promise<BulkChange> => {
    const actor = actorOf(use.caller)
    const action = purge ? 'purge' : 'cancel'
    return start(use, { action, filter, act: ({ id }) => use.engine.cancelRun({ id, actor }) })
  },
)

/** Removes dead-lettered runs for good. */
export const dismissRuns = operation(OPERATORS, (use, { filter }: Filtered): Promise<BulkChange> => {
  const actor = actorOf(use.caller)
  return start(use, { action: 'purge', filter, act: ({ id }) => use.engine.dismiss({ id, actor }) })
})

/** null: of another process, of another tenant, or too long ago. */
export const showBulkChange = operation(
  { scope: 'read', shared: true },
  async ({ bulk, caller: { tenant } }, { id }: { readonly id: string }): Promise<BulkChange | null> => {
    const found = bulk.find(id)
    return found !== null && (tenant === null || tenant === found.tenant) ? found : null
  },
)

function start({ bulk, engine, caller: { tenant } }: Use, params: Omit<BulkParams, 'tenant'>): Promise<BulkChange> {
  return bulk.run(engine, { ...params, tenant })
}
