/** Changes to a run. */
import type { Completion } from '../../model/commands.ts'
import type { RunRow } from '../../model/rows.ts'
import { actorOf } from '../caller.ts'
import { operation, type Use } from '../operation.ts'
import { findRun, knownRun } from './find.ts'

interface ById {
  readonly id: string
}

/** At once, also while a worker holds it. */
export const cancelRun = operation(
  { scope: 'enqueue' },
  async (use, { id }: ById): Promise<RunRow> => use.engine.cancelRun(await named(use, id)),
)

/** Marks it as deleted; retention removes it. */
export const deleteRun = operation(
  { scope: 'enqueue' },
  async (use, { id }: ById): Promise<RunRow> => use.engine.deleteRun(await named(use, id)),
)

/** A run that waits for activation becomes due. */
export const activateRun = operation(
  { scope: 'enqueue' },
  async (use, { id }: ById): Promise<RunRow> => use.engine.activate(await named(use, id)),
)

/** A run that waits for its time, or between two attempts, becomes due. */
export const retryRunNow = operation(
  { scope: 'enqueue' },
  async (use, { id }: ById): Promise<RunRow> => use.engine.retryNow(await named(use, id)),
)

/** A smaller number is more urgent. */
export const prioritizeRun = operation(
  { scope: 'admin' },
  async (use, { id, priority }: ById & { readonly priority: number }): Promise<RunRow> =>
    use.engine.prioritize({ ...(await named(use, id)), priority }),
)

/**
 * A failed, cancelled or dead-lettered run is pending again, at its first attempt; of one in an ended workflow, a new run.
 */
export const redriveRun = operation({ scope: 'admin' }, async (use, { id }: ById): Promise<RunRow> => {
  const { id: runId, actor } = await named(use, id)
  return use.engine.redrive({ runId, actor })
})

/** Completes deferred work by the id of its run. */
export const completeRun = operation({ scope: 'work' }, async (use, completion: Completion): Promise<void> => {
  if (use.caller.tenant !== null) await findRun(use, completion.runId)
  return use.engine.complete(completion)
})

async function named(use: Use, id: string): Promise<{ readonly id: string; readonly actor: string | null }> {
  return { id: await knownRun(use, id), actor: actorOf(use.caller) }
}
