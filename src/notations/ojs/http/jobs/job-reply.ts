/** Runs as jobs for a reply, with their data from elsewhere: their failures, their positions in workflows. */

import { isolated } from '../../../../kernel/isolated.ts'
import { readStored } from '../../../../kernel/json-limits.ts'
import { inputPlace, retriedRun } from '../../../../model/retried-runs.ts'
import type { RunError, RunRow } from '../../../../model/rows.ts'
import type { Saved } from '../../../../model/saved.ts'
import type { Failure } from '../../../../net/marking.ts'
import type { Perform } from '../../../../operations/operation.ts'
import { deliverRuns } from '../../../../operations/runs/deliver.ts'
import { placeholder } from '../../../../wire/json-text.ts'
import type { Noting } from '../../../interface/projection.ts'
import { workflowParts, workflowPlaces } from '../../project/results.ts'
import { checkpointWire } from '../wire/checkpoint.ts'
import { type JobFailure, type JobWire, jobWire } from '../wire/job.ts'

/** The history has them all; a reply shows the newest. */
const FAILURES_SHOWN = 25

/** Where the parts of a job are read that its row does not have. */
export interface JobReading extends Noting {
  readonly records: { readonly saved: Pick<Saved, 'of'> }
}

export interface JobReplyHow {
  readonly now: number
  /** true: with the results of the jobs before it and its checkpoint, as its handler needs them. */
  readonly results: boolean
  /** true: with checkpoints also of jobs that were never taken by a worker. */
  readonly saved?: boolean
}

type Shown = { readonly job: JobWire } | { readonly run: RunRow; readonly error: unknown }

/** For one that cannot be shown there is an entry with its id and the code `unreadable`. */
export async function jobReplies(
  reading: JobReading,
  runs: readonly RunRow[],
  how: JobReplyHow,
): Promise<readonly JobWire[]> {
  return (await jobsOf(reading, runs, how)).map((one) => {
    if ('job' in one) return one.job
    const { run, error } = one
    reading.faults.note('unreadable_row', run.id, error)
    return { id: run.id, type: run.type, queue: run.queue, ...placeholder(error) } as unknown as JobWire
  })
}

/** As JSON text, for their workers. Those that cannot be written have failed, and are left out. */
export function jobDeliveries(
  { perform, reading }: { readonly perform: Perform; readonly reading: JobReading },
  runs: readonly RunRow[],
  how: JobReplyHow,
): Promise<readonly string[]> {
  const write = async (some: readonly RunRow[]): Promise<readonly unknown[]> => {
    const shown = await jobsOf(reading, some, how)
    return shown.map((one) => ('job' in one ? written(one.job) : one.error))
  }
  return perform(deliverRuns, { runs, write })
}

/** JSON text, or the error that it throws. */
function written(job: JobWire): unknown {
  try {
    return JSON.stringify(job)
  } catch (error) {
    return error
  }
}

function jobsOf(reading: JobReading, runs: readonly RunRow[], how: JobReplyHow): Promise<readonly Shown[]> {
  return isolated<RunRow, Shown>(
    runs,
    (some) => loadJobs(reading, some, how),
    (run, error) => ({ run, error }),
  )
}

/** In a bounded number of statements, none at all for fresh jobs of no workflow. */
async function loadJobs(reading: JobReading, runs: readonly RunRow[], how: JobReplyHow): Promise<readonly Shown[]> {
  const failed = runs.filter((run) => run.attempt > 0 || run.status === 'failed').map((run) => run.id)
  const inWorkflow = runs.filter((run) => inputPlace(run).instanceId !== null)
  // Only a job that was fetched before can have a checkpoint.
  const before = how.results ? runs.filter((run) => run.epoch > 0 || how.saved === true).map((run) => run.id) : []
  if (how.results) before.push(...runs.flatMap((run) => retriedRun(run.meta)?.run ?? []))
  const [errors, places, saved] = await Promise.all([
    failed.length === 0 ? null : reading.queries.errorsOf({ runIds: failed, limit: FAILURES_SHOWN }),
    inWorkflow.length === 0 ? null : (how.results ? workflowParts : workflowPlaces)(reading, inWorkflow),
    before.length === 0 ? null : reading.records.saved.of(before),
  ])
  return runs.map((run) => {
    const workflow = places?.get(run.id)
    try {
      const checkpoint = saved?.get(run.id) ?? saved?.get(retriedRun(run.meta)?.run ?? '')
      const job = jobWire(run, {
        now: how.now,
        failures: (errors?.get(run.id) ?? []).map(failureOf),
        ...(workflow === undefined ? {} : { workflow: how.results ? workflow : { ...workflow, parentResults: null } }),
        ...(checkpoint === undefined || checkpoint.state === null ? {} : { checkpoint: checkpointWire(checkpoint) }),
      })
      return { job }
    } catch (error) {
      return { run, error }
    }
  })
}

function failureOf(row: RunError): JobFailure {
  return {
    attempt: row.attempt ?? 0,
    error: readStored(row.error) as unknown as Failure,
    at: row.at,
    retryDelayMs: row.runAt === null ? null : Math.max(0, row.runAt - row.at),
  }
}
