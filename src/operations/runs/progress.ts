/**
 * Progress of active runs. It belongs to one execution, in which it never falls: a lower report is ignored, and so is one
 * about a run that is no longer active. Each report that counts renews the lease of the run.
 */
import { PetrelError } from '../../kernel/errors.ts'
import { unstorable } from '../../kernel/json-limits.ts'
import type { Speaker } from '../../model/leases.ts'
import type { JsonText, RunRow } from '../../model/rows.ts'
import type { SavedRow } from '../../model/saved.ts'
import { operation, type Use } from '../operation.ts'
import { findRun } from './find.ts'
import { reporterOf } from './leases.ts'

const MAX_BYTES = 64 * 1024

interface ById {
  readonly id: string
}

export interface ProgressSeen {
  readonly run: RunRow
  /** null: nothing was reported in the current execution, or in the last one. */
  readonly saved: SavedRow | null
  readonly now: number
}

export const showProgress = operation({ scope: 'read' }, async (use, { id }: ById): Promise<ProgressSeen> => {
  const run = await findRun(use, id)
  const [saved, now] = await Promise.all([savedProgress(use, run), use.engine.queries.now()])
  return { run, saved, now }
})

export interface ProgressReport extends ById {
  /** The worker that the report names; null: none. */
  readonly worker: string | null
  readonly speaker: Speaker
  /** What to save, given what was saved before in this execution. `fraction` null: the report has no number. */
  readonly compose: (before: SavedRow | null) => { readonly text: JsonText; readonly fraction: number | null }
}

export const reportProgress = operation(
  { scope: 'work' },
  async (use, asked: ProgressReport): Promise<ProgressSeen & { readonly accepted: boolean }> => {
    const { engine } = use
    const run = await findRun(use, asked.id)
    const holder = await reporterOf(use, { run, worker: asked.worker, speaker: asked.speaker })
    const [before, now] = await Promise.all([savedProgress(use, run), engine.queries.now()])
    if (run.status !== 'leased' || holder instanceof PetrelError || (holder !== null && run.leasedBy !== holder)) {
      return { run, saved: before, now, accepted: false }
    }
    const { text, fraction } = asked.compose(before)
    refuseUnstorable(text)
    await engine.leases.renew(run)
    const saved = await engine.records.saved.progress({ runId: run.id, holder, value: text, fraction })
    return { run, saved: saved ?? (await savedProgress(use, run)), now, accepted: saved !== null }
  },
)

async function savedProgress({ engine }: Use, run: RunRow): Promise<SavedRow | null> {
  const saved = (await engine.records.saved.of([run.id])).get(run.id)
  if (saved === undefined || saved.progress === null) return null
  // The end of a lease raises the epoch by one.
  const current = run.status === 'leased' ? run.epoch : run.epoch - 1
  return saved.progressEpoch === null || saved.progressEpoch === current ? saved : null
}

function refuseUnstorable(text: JsonText): void {
  const error = unstorable(text, MAX_BYTES)
  if (error === null) return
  const code = error.code === 'payload_too_large' ? 'payload_too_large' : 'invalid_payload'
  throw new PetrelError(code, `progress: ${error.message}`, { max_bytes: MAX_BYTES })
}
