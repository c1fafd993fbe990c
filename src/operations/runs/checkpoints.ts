/**
 * Checkpoints: the state from which a run continues when it is started again. Each run has at most one, the latest; it
 * survives failures and retries, and is kept with an ended run, but cannot be changed then.
 */
import { PetrelError } from '../../kernel/errors.ts'
import type { Speaker } from '../../model/leases.ts'
import type { JsonText } from '../../model/rows.ts'
import type { NotSaved, SavedRow } from '../../model/saved.ts'
import { operation, type Use } from '../operation.ts'
import { findRun } from './find.ts'
import { reporterOf } from './leases.ts'

interface ById {
  readonly id: string
}

/** `saved` null: the run has none. */
export const showCheckpoint = operation(
  { scope: 'read' },
  async (use, { id: given }: ById): Promise<ById & { readonly saved: SavedRow | null }> => {
    const { id } = await findRun(use, given)
    const saved = (await use.engine.records.saved.of([id])).get(id)
    return { id, saved: saved === undefined || saved.state === null ? null : saved }
  },
)

export interface CheckpointAsked extends ById {
  readonly state: JsonText
  /** The worker named by the request; null: none. */
  readonly worker: string | null
  readonly speaker: Speaker
}

/** `holder`: the stored name of the worker that must hold the run; null: any caller may save. */
export interface CheckpointRefused extends NotSaved {
  readonly holder: string | null
}

export const saveCheckpoint = operation(
  { scope: 'work' },
  async (use, asked: CheckpointAsked): Promise<SavedRow | CheckpointRefused> => {
    const run = await findRun(use, asked.id)
    const holder = await reporterOf(use, { run, worker: asked.worker, speaker: asked.speaker })
    if (holder instanceof PetrelError) throw holder
    const saved = await use.engine.records.saved.put({ runId: run.id, holder, state: asked.state })
    return 'status' in saved ? { ...saved, holder } : saved
  },
)

/** Also if there is none. */
export const removeCheckpoint = operation({ scope: 'work' }, async (use: Use, { id: given }: ById): Promise<ById> => {
  const { id } = await findRun(use, given)
  await use.engine.records.saved.remove(id)
  return { id }
})
