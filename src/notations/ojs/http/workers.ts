/** /ojs/v1/workers: fetch with long poll, and heartbeats. reports.ts has ack and nack. */
import { MEDIA_TYPE } from '../../../http/body.ts'
import type { RunRow } from '../../../model/rows.ts'
import { holderOf } from '../../../operations/caller.ts'
import { beat, fetchRuns, returnRuns } from '../../../operations/runs/leases.ts'
import type { Value } from '../../../wire/schema.ts'
import { readBeat, readFetch, testDirective } from '../compile/worker.ts'
import { timeText } from '../project/time.ts'
import { bodyRead } from './body-read.ts'
import { type OjsAsked, type OjsContext, route } from './context.ts'
import { jobDeliveries } from './jobs/job-reply.ts'
import { FetchReply, FetchRequest, Heartbeat, HeartbeatReply } from './wire/worker.ts'

const BEAT = {
  tag: 'Workers',
  does: beat,
  body: { schema: Heartbeat, readByRoute: true },
  answers: { '200': { description: 'The directive for the worker.', schema: HeartbeatReply } },
} as const

export const WORKER_ROUTES = [
  route(
    'POST /ojs/v1/workers/fetch',
    {
      tag: 'Workers',
      summary: 'Fetch jobs',
      does: fetchRuns,
      description:
        'Returned jobs are active and count as started. With wait_ms the response waits for the first one. ' +
        'Fewer than count if more would exceed 8 MiB.',
      body: {
        schema: FetchRequest,
        readByRoute: true,
        example: { queues: ['email', 'default'], worker_id: 'w1', wait_ms: 20_000 },
      },
      answers: { '200': { description: 'The jobs; may be empty.', schema: FetchReply } },
    },
    async ({ perform, caller, request, reply }, { reading, longPolls, voices }) => {
      const asked = bodyRead(request, readFetch)
      voices.hear(request, holderOf(caller, asked.holder))
      const runs =
        asked.waitMs === 0
          ? await perform(fetchRuns, asked)
          : await longPolls.during({ request, reply }, (signal) => perform(fetchRuns, { ...asked, signal }))
      if (runs.length === 0) return { jobs: [] }
      // The client has gone: they go back now instead of when their leases run out.
      if (reply.raw.destroyed) {
        await perform(returnRuns, { runs, how: 'requeue' })
        return { jobs: [] }
      }
      const jobs = await jobDeliveries({ perform, reading }, runs, { now: newestStart(runs), results: true })
      return reply.type(MEDIA_TYPE).send(`{"jobs":[${jobs.join(',')}]}`)
    },
  ),

  route(
    'POST /ojs/v1/workers/heartbeat',
    { ...BEAT, summary: 'Report that a worker is alive, and renew its leases' },
    answerBeat,
  ),

  route('POST /ojs/v1/workers/beat', { ...BEAT, summary: 'The same as heartbeat' }, answerBeat),
]

async function answerBeat(
  { perform, caller, request }: OjsAsked,
  { options, reading, voices }: OjsContext,
): Promise<Value<typeof HeartbeatReply>> {
  const asked = bodyRead(request, readBeat)
  voices.hear(request, holderOf(caller, asked.holder))
  const { state, extended } = await perform(beat, asked)
  const runs = options.allowReset && extended.length > 0 ? await reading.queries.runs({ ids: extended }) : []
  return {
    state: testDirective(runs) ?? (state === 'dead' ? 'running' : state),
    acknowledged: true,
    worker_id: asked.holder,
    jobs_extended: extended,
    server_time: timeText(await reading.queries.now()),
  }
}

function newestStart(runs: readonly RunRow[]): number {
  return Math.max(...runs.map((run) => run.startedAt ?? run.leasedAt ?? run.createdAt))
}
