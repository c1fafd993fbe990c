/** /ojs/v1/workers: fetch with long poll, ack and nack (one or many), heartbeat. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { EngineApi } from '../../../engine/api.ts'
import { bodyObject, MEDIA_TYPE } from '../../../http/body.ts'
import { errorAnswer } from '../../../http/failure.ts'
import { notFound, RequestError } from '../../../http/request-error.ts'
import type { PetrelError } from '../../../kernel/errors.ts'
import type { LeaseReport, LeaseSettled } from '../../../model/leases.ts'
import type { RunRow } from '../../../model/rows.ts'
import { type Caller, holderOf } from '../../../operations/caller.ts'
import { type Body, refuseMistakes } from '../../../wire/mistaken.ts'
import { BodyNotes, kindOf, Part } from '../../source/reader.ts'
import { readAck, readBeat, readFetch, readNack, testDirective } from '../compile/worker.ts'
import { jobState, startsOf } from '../project/state.ts'
import { timeText } from '../project/time.ts'
import type { OjsContext } from './context.ts'
import { jobProblem } from './jobs/job-problem.ts'
import { jobDeliveries, maySee } from './jobs/job-reply.ts'
import { jobWire } from './wire/job.ts'

const MOST_REPORTS = 1000

type Reading = (part: Part) => LeaseReport
type Answering = (settled: LeaseSettled) => object

export function workerRoutes(app: FastifyInstance, context: OjsContext): void {
  const { engine, options, longPolls, voices } = context

  app.post('/ojs/v1/workers/fetch', async (request, reply) => {
    const { tenant } = request.caller
    const read = readBody(bodyObject(request, { empty: 'refused' }), readFetch)
    const asked = { ...read, holder: holderOf(request.caller, read.holder) }
    voices.hear(request, asked.holder)
    const runs =
      asked.waitMs === 0
        ? await engine.leases.fetch({ ...asked, tenant })
        : await longPolls.during({ request, reply }, (signal) => engine.leases.fetch({ ...asked, tenant, signal }))
    if (runs.length === 0) return { jobs: [] }
    // Nobody is there to do them: they go back now instead of when their leases run out.
    if (reply.raw.destroyed) {
      await engine.leases.settle(runs.map((run) => ({ ...heldBy(run), outcome: { kind: 'requeue' as const } })))
      return { jobs: [] }
    }
    const jobs = await jobDeliveries(engine, runs, { now: newestStart(runs), results: true })
    return reply.type(MEDIA_TYPE).send(`{"jobs":[${jobs.join(',')}]}`)
  })

  const report = (name: 'ack' | 'nack', read: Reading, answer: Answering): void => {
    const one = async (request: FastifyRequest, body: Body): Promise<object> => {
      const [settled] = await settle(context, request, [readBody(body, read)])
      if (settled === undefined || settled instanceof Error) throw settled ?? new Error('one report in, none out')
      return answer(settled)
    }
    app.post(`/ojs/v1/workers/${name}`, (request) => one(request, bodyObject(request, { empty: 'refused' })))

    const byJob = { config: { access: { scope: 'work' as const } } }
    app.post<{ Params: { readonly id: string } }>(`/ojs/v1/jobs/:id/${name}`, byJob, (request) =>
      one(request, { ...bodyObject(request, { empty: 'allowed' }), job_id: request.params.id }),
    )

    app.post(`/ojs/v1/workers/${name}/batch`, async (request) => {
      const { entries, word } = entriesOf(bodyObject(request, { empty: 'refused' }), name)
      const asked = entries.map((entry, i) => tryRead(entry, [word, i], read))
      const reports = asked.filter((one): one is LeaseReport => !(one instanceof Error))
      const settled = (await settle(context, request, reports)).values()
      const results = asked.map((one) => {
        const outcome = one instanceof Error ? one : (settled.next().value as LeaseSettled | Error)
        if (!(outcome instanceof Error)) return answer(outcome)
        return errorAnswer(outcome, { requestId: request.id, url: request.url }).body
      })
      const failed = results.filter((one) => 'error' in one && !('state' in one)).length
      return { results, count: results.length, succeeded: results.length - failed, failed }
    })
  }
  report('ack', readAck, ackReply)
  report('nack', readNack, nackReply)

  const beat = async (request: FastifyRequest): Promise<object> => {
    const asked = readBody(bodyObject(request, { empty: 'refused' }), readBeat)
    voices.hear(request, holderOf(request.caller, asked.holder))
    const { state, extended } = await engine.leases.beat({
      ...asked,
      holder: holderOf(request.caller, asked.holder),
      tenant: request.caller.tenant,
    })
    const runs = options.allowReset && extended.length > 0 ? await engine.queries.runs({ ids: extended }) : []
    return {
      state: testDirective(runs) ?? (state === 'dead' ? 'running' : state),
      acknowledged: true,
      worker_id: asked.holder,
      jobs_extended: extended,
      server_time: timeText(await engine.queries.now()),
    }
  }
  app.post('/ojs/v1/workers/heartbeat', beat)
  app.post('/ojs/v1/workers/beat', beat)
}

function readBody<T>(body: Body, read: (part: Part) => T): T {
  const notes = new BodyNotes()
  const asked = read(notes.root(body))
  refuseMistakes(notes)
  return asked
}

function tryRead(body: unknown, path: readonly (string | number)[], read: Reading): LeaseReport | Error {
  const notes = new BodyNotes()
  const part = new Part(notes, body, path)
  if (!part.isObject) part.wrong(`a report is an object, this is ${kindOf(body)}`)
  const asked = read(part)
  try {
    refuseMistakes(notes)
    return asked
  } catch (error) {
    return error as Error
  }
}

/** `{ acks: […] }` or `{ nacks: […] }`, or `{ jobs: […] }` for both. */
function entriesOf(body: Body, name: 'ack' | 'nack'): { readonly entries: readonly unknown[]; readonly word: string } {
  const word = [`${name}s`, 'jobs'].find((key) => body[key] !== undefined) ?? `${name}s`
  const entries = body[word]
  if (Array.isArray(entries) && entries.length > 0 && entries.length <= MOST_REPORTS) return { entries, word }
  const found = Array.isArray(entries) ? `${entries.length} of them` : kindOf(entries)
  throw new RequestError('invalid_request', `${word} is a list of 1 to ${MOST_REPORTS} reports, this is ${found}`, {
    details: { field: word, max: MOST_REPORTS },
    hint: `{ "${name}s": [ { "job_id": "…" } ] }: each is what /workers/${name} takes, and answered by itself.`,
  })
}

/** In the order of the reports; a refused one is answered in the words of jobs and changes nothing for the others. */
async function settle(
  { engine, voices }: OjsContext,
  request: FastifyRequest,
  reports: readonly LeaseReport[],
): Promise<readonly (LeaseSettled | Error)[]> {
  if (reports.length === 0) return []
  const { caller } = request
  const hidden = await hiddenFrom(engine, caller, reports)
  const speaker = voices.speakerOf(request)
  const seen = reports
    .filter(({ runId }) => !hidden.has(runId))
    .map((report) => ({
      ...report,
      speaker,
      holder: report.holder === null ? null : holderOf(caller, report.holder),
    }))
  const settled = (await engine.leases.settle(seen)).values()
  return reports.map((report) => {
    if (hidden.has(report.runId)) return notFound('job', report.runId)
    const outcome = settled.next().value as LeaseSettled | PetrelError
    return outcome instanceof Error ? (jobProblem(outcome, report.runId, 'active') as Error) : outcome
  })
}

/** Jobs of other tenants are not there for a key that is bound to one. */
async function hiddenFrom(
  engine: EngineApi,
  caller: Caller,
  reports: readonly LeaseReport[],
): Promise<ReadonlySet<string>> {
  if (caller.tenant === null) return new Set()
  const ids = reports.map((report) => report.runId)
  const visible = new Set(
    (await engine.queries.runs({ ids })).filter((run) => maySee(caller, run)).map((run) => run.id),
  )
  return new Set(ids.filter((id) => !visible.has(id)))
}

function ackReply({ run }: LeaseSettled): object {
  const at = run.finishedAt ?? run.runAt
  return {
    acknowledged: true,
    id: run.id,
    job_id: run.id,
    state: jobState(run, at),
    completed_at: timeText(at),
    job: jobWire(run, { now: at }),
  }
}

function nackReply({ run, retryDelayMs }: LeaseSettled): object {
  // Between two attempts the row tells when the next is; the reply is of the moment that set it.
  const at = run.finishedAt ?? run.runAt - (retryDelayMs ?? 0)
  const job = jobWire(run, { now: at, ...(retryDelayMs === null ? {} : { retryDelayMs }) })
  const picked = ['next_attempt_at', 'retry_delay_ms', 'discarded_at', 'completed_at', 'cancelled_at', 'error']
  return {
    acknowledged: true,
    id: run.id,
    job_id: run.id,
    state: job['state'],
    attempt: startsOf(run),
    max_attempts: run.maxAttempts,
    ...Object.fromEntries(picked.filter((name) => name in job).map((name) => [name, job[name]])),
    job,
  }
}

function heldBy(run: RunRow): Pick<LeaseReport, 'runId' | 'holder' | 'attempt'> {
  return { runId: run.id, holder: run.leasedBy, attempt: startsOf(run) }
}

function newestStart(runs: readonly RunRow[]): number {
  return Math.max(...runs.map((run) => run.startedAt ?? run.leasedAt ?? run.createdAt))
}
