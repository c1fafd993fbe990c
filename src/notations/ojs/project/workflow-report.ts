/** The metadata of a workflow: times, counters and failures. */

import type { RunBrief, Totals } from '../../../model/queries/trees.ts'
import type { InstanceRow } from '../../../model/rows.ts'
import type { Reading } from '../../interface/projection.ts'
import { kindOf, netOf } from '../compile/nets.ts'
import { startsOf } from './state.ts'
import { timeText } from './time.ts'
import { failureOf } from './values.ts'
import type { Wire } from './workflow-head.ts'
import type { About, LoadedTree } from './workflow-load.ts'

/** The most errors reported with a workflow; the jobs have all of them. */
const ERRORS_SHOWN = 100

export function metadataWire(of: {
  readonly row: InstanceRow
  readonly about: About
  readonly totals: Totals
  readonly jobs: number
}): Wire {
  const { row, about } = of
  const cancelledAt = about.cancelledAt ?? (row.state === 'cancelled' ? row.endedAt : null)
  const endedAt = row.state === 'cancelling' || row.state === 'cancelled' ? cancelledAt : row.endedAt
  return {
    created_at: timeText(row.createdAt),
    ...(row.startedAt === null ? {} : { started_at: timeText(row.startedAt) }),
    ...(endedAt === null ? {} : { completed_at: timeText(endedAt) }),
    ...(cancelledAt === null ? {} : { cancelled_at: timeText(cancelledAt) }),
    job_count: of.jobs,
    completed_count: of.totals.succeeded,
    failed_count: of.totals.failed,
    ...(about.initiator === null ? {} : { initiator: about.initiator }),
  }
}

/** The step and the jobs that failed, with their errors; callbacks also by their name. Empty if nothing failed. */
export function reportWire(tree: LoadedTree, row: InstanceRow, failed: readonly RunBrief[]): Wire {
  const { error } = tree.about(row.id)
  if (failed.length === 0 && row.state !== 'failed') return {}
  const isChain = kindOf(netOf(tree.nets, row.netHash)) === 'chain'
  const step = isChain && row.state === 'failed' ? Number(error?.node ?? Number.NaN) : Number.NaN
  const shown = failed.slice(0, ERRORS_SHOWN)
  const errors = shown.map((run) => ({ job_id: run.id, ...(failureOf(run) ?? takenWire(run)), ...callbackOf(run) }))
  const callbacks = errors.filter((_, i) => shown[i]?.role === 'final' && shown[i]?.instanceId === row.id)
  // Nothing failed but a nested workflow was cancelled: there is no job to name.
  const fallback = error === null ? [] : [{ job_id: null, code: error.code, message: error.message, attempt: 0 }]
  return {
    ...(Number.isInteger(step) ? { failed_step_index: step } : {}),
    failed_job_ids: shown.map((run) => run.id),
    errors: errors.length === 0 ? fallback : errors,
    ...(callbacks.length === 0 ? {} : { callback_errors: callbacks }),
    ...(failed.length > shown.length ? { errors_truncated: true } : {}),
  }
}

/** A job that was cancelled with its nested workflow. */
function takenWire(run: RunBrief): Wire {
  return { code: 'cancelled', message: 'cancelled with its workflow', attempt: startsOf(run) }
}

function callbackOf(run: RunBrief): Wire {
  return run.role === 'final' ? { callback: run.node } : {}
}

/** Failed jobs outside the windows are searched for only if the counters show that there are some. */
export async function failedIn(reading: Reading, tree: LoadedTree, row: InstanceRow): Promise<readonly RunBrief[]> {
  const seen = tree.failed(row.id)
  if (seen.length > ERRORS_SHOWN || seen.length >= tree.totals(row).failed) return seen
  return reading.queries.trees.placesOf({
    windows: tree.rows.map(({ id }) => ({ instanceId: id, from: 0, count: 2_000_000_000 })),
    failedOnly: true,
    limit: ERRORS_SHOWN + 1,
    maxBytes: 0,
  })
}
