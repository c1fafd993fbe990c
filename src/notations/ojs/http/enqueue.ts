/** Jobs come in, one or many: read, checked and written together or not at all. */
import { pressureHeaders } from '../../../http/queue-pressure.ts'
import { RequestError } from '../../../http/request-error.ts'
import { PetrelError } from '../../../kernel/errors.ts'
import { BodyNotes, Part } from '../../../kernel/reading/part.ts'
import type { RunRow } from '../../../model/rows.ts'
import { actorOf } from '../../../operations/caller.ts'
import { enqueueRuns } from '../../../operations/runs/enqueue.ts'
import { enqueueParams, type JobAsked, readJob } from '../compile/job.ts'
import { needsClock } from '../compile/options.ts'
import { limitHeaders } from './admin/rate-limits.ts'
import { refuseNoted } from './body-read.ts'
import type { OjsAsked } from './context.ts'
import { type JobReading, jobReplies } from './jobs/job-reply.ts'
import { refuseMisfits } from './schema-check.ts'
import type { JobWire } from './wire/job.ts'

export interface EnqueuedJob {
  readonly job: JobWire
  /** false: an equal job exists already, this is it. */
  readonly created: boolean
}

/** `paths`: where each body is in the request, for messages. The answer gets headers about limits and full queues. */
export async function enqueueJobs(
  { caller, perform, reply }: OjsAsked,
  reading: JobReading,
  bodies: readonly unknown[],
  paths: (index: number) => readonly (string | number)[],
): Promise<readonly EnqueuedJob[]> {
  const notes = new BodyNotes()
  const now = bodies.some(needsClock) ? await reading.queries.now() : 0
  const jobs = bodies.map((body, i) => readJob(new Part(notes, body, paths(i)), now))
  refuseNoted(notes)
  await refuseMisfits(perform, jobs, paths)
  reply.headers(limitHeaders(jobs.flatMap((job) => job.options.limits)))
  const by = { tenant: caller.tenant, initiator: actorOf(caller) }
  const { made, pressure } = await perform(enqueueRuns, {
    runs: jobs.map((job) => enqueueParams(job, by)),
    rows: true,
  }).catch((error: unknown) => Promise.reject(duplicateOf(error, jobs)))
  reply.headers(pressureHeaders(pressure))
  const runs = made.map(({ id, run }) => run ?? removed(id))
  // A new row was written at its own now; one that existed before has changed since.
  const at = made.every((one) => one.created) ? (runs[0] as RunRow).createdAt : await reading.queries.now()
  const replies = await jobReplies(reading, runs, { now: at, results: false })
  return replies.map((job, i) => ({ job, created: made[i]?.created === true }))
}

function removed(id: string): never {
  throw new RequestError('conflict', `job ${id} was removed while it was asked for`)
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
