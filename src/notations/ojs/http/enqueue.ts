/** Jobs come in, one or many: read, checked and written together or not at all. */

import type { EngineApi } from '../../../engine/api.ts'
import { pressureHeaders } from '../../../http/queue-pressure.ts'
import { RequestError } from '../../../http/request-error.ts'
import { PetrelError } from '../../../kernel/errors.ts'
import type { RunRow } from '../../../model/rows.ts'
import { actorOf, type Caller } from '../../../operations/caller.ts'
import type { Perform } from '../../../operations/operation.ts'
import { boundsOf } from '../../../operations/queues/bounds.ts'
import { refuseQueueLimits } from '../../../operations/queues/limits.ts'
import { BodyNotes, Part } from '../../source/reader.ts'
import { enqueueParams, type JobAsked, readJob } from '../compile/job.ts'
import { needsClock } from '../compile/options.ts'
import { limitHeaders } from './admin/rate-limits.ts'
import { refuseNoted } from './body-read.ts'
import { jobReplies } from './jobs/job-reply.ts'
import { refuseMisfits } from './schema-check.ts'

export interface EnqueuedJob {
  readonly job: Awaited<ReturnType<typeof jobReplies>>[number]
  /** false: an equal job was there, this is it. */
  readonly created: boolean
}

/** `paths`: where each body stands in the request, for messages. */
export async function enqueueJobs(
  { engine, perform }: { readonly engine: EngineApi; readonly perform: Perform },
  caller: Caller,
  bodies: readonly unknown[],
  paths: (index: number) => readonly (string | number)[],
  /** Takes headers for the answer: limits, and queues that fill up. */
  tell: (headers: Readonly<Record<string, string>>) => void,
): Promise<readonly EnqueuedJob[]> {
  const notes = new BodyNotes()
  const now = bodies.some(needsClock) ? await engine.queries.now() : 0
  const jobs = bodies.map((body, i) => readJob(new Part(notes, body, paths(i)), now))
  refuseNoted(notes)
  const limits = jobs.flatMap((job) => job.options.limits)
  refuseQueueLimits(caller, limits)
  await refuseMisfits(perform, jobs, paths)
  tell(limitHeaders(limits))
  const by = { tenant: caller.tenant, initiator: actorOf(caller) }
  const { done: made, pressure } = await boundsOf(engine)
    .admit(perQueue(jobs), () => engine.enqueue(jobs.map((job) => enqueueParams(job, by))))
    .catch((error: unknown) => Promise.reject(duplicateOf(error, jobs)))
  tell(pressureHeaders(pressure))
  const runs = await rowsOf(engine, made)
  // A new row was written at its own now; one that was there before has gone on since.
  const at = made.every((one) => one.created) ? (runs[0] as RunRow).createdAt : await engine.queries.now()
  const replies = await jobReplies(engine, runs, { now: at, results: false })
  return replies.map((job, i) => ({ job, created: made[i]?.created === true }))
}

function perQueue(jobs: readonly JobAsked[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const { options } of jobs) counts.set(options.queue, (counts.get(options.queue) ?? 0) + 1)
  return counts
}

async function rowsOf(engine: EngineApi, made: Awaited<ReturnType<EngineApi['enqueue']>>): Promise<readonly RunRow[]> {
  const missing = made.filter((one) => one.run === null).map((one) => one.id)
  const read = missing.length === 0 ? [] : await engine.queries.runs({ ids: missing })
  const byId = new Map(read.map((run) => [run.id, run]))
  return made.map((one) => {
    const run = one.run ?? byId.get(one.id)
    if (run !== undefined) return run
    throw new RequestError('conflict', `job ${one.id} was removed while it was asked for`)
  })
}

function duplicateOf(error: unknown, jobs: readonly JobAsked[]): unknown {
  if (!(error instanceof PetrelError && error.code === 'duplicate')) return error
  const { kind, id: holder = null } = error.details
  const id = kind === 'run' ? holder : null
  const unique = jobs.find((job) => job.unique !== null)?.unique ?? null
  const taken = jobs.some((job) => job.id !== null && job.id === id)
  const what = taken
    ? `there is a job ${id} already`
    : `job ${id ?? '?'} is equal by its unique policy and counts still`
  return new RequestError('duplicate', what, {
    details: {
      ...(id === null ? {} : { existing_job_id: id }),
      ...(taken || unique === null ? {} : { uniqueness_key: unique.key }),
    },
    hint: taken
      ? 'Leave id out, or read the job that has it.'
      : 'on_conflict "ignore" answers with the existing job, "replace" puts the new one in its place.',
  })
}
