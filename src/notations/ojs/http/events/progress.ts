/**
 * Progress of active jobs: a fraction from 0 to 1, data of the handler's own, or both. It belongs to one execution, in
 * which it never falls: a lower report is ignored, and so is one that comes when the job is not active any more. Each
 * report that counts is recorded as the event job.progress, and renews the lease of the job like a heartbeat. A job that
 * completes has come to 1. POST /workers/progress is the same in percent.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { EngineApi } from '../../../../engine/api.ts'
import { bodyObject } from '../../../../http/body.ts'
import { RequestError } from '../../../../http/request-error.ts'
import { PetrelError } from '../../../../kernel/errors.ts'
import { unstorable } from '../../../../kernel/json-limits.ts'
import { BodyNotes } from '../../../../kernel/reading/part.ts'
import type { RunRow } from '../../../../model/rows.ts'
import type { SavedRow } from '../../../../model/saved.ts'
import type { Json } from '../../../../net/net.ts'
import { type Body, refuseMistakes } from '../../../../wire/mistaken.ts'
import { readWorkerId } from '../../compile/names.ts'
import type { JsonObject } from '../../project/envelope.ts'
import { jobState } from '../../project/state.ts'
import { timeText } from '../../project/time.ts'
import type { OjsContext } from '../context.ts'
import { findRun, jobReplies } from '../jobs/job-reply.ts'
import { reporterOf } from '../reporter.ts'

type ById = { Params: { readonly id: string } }

const MAX_BYTES = 64 * 1024
const MAX_MESSAGE = 1000

export function progressRoutes(app: FastifyInstance, context: OjsContext): void {
  const { engine } = context
  const scope = { config: { access: { scope: 'work' as const } } }

  app.put<ById>('/ojs/v1/jobs/:id/progress', scope, (request) => {
    const body = bodyObject(request, { empty: 'refused' })
    return report(context, request, { id: request.params.id, body, fraction: readFraction(body, 'progress', 1) })
  })

  app.post('/ojs/v1/workers/progress', scope, (request) => {
    const body = bodyObject(request, { empty: 'refused' })
    const id = body['job_id']
    if (typeof id !== 'string') {
      throw new RequestError('invalid_request', 'job_id is missing', { details: { field: 'job_id' } })
    }
    const fraction = readFraction(body, 'percentage', 100) ?? readFraction(body, 'progress', 1)
    return report(context, request, { id, body, fraction })
  })

  app.get<ById>('/ojs/v1/jobs/:id/progress', async (request) =>
    progressOf(engine, await findRun(engine, request.params.id, request.caller)),
  )

  app.get<ById>('/ojs/v1/jobs/:id/result', async (request) => {
    const [run, now] = await Promise.all([findRun(engine, request.params.id, request.caller), engine.queries.now()])
    const [job] = await jobReplies(engine, [run], { now, results: false })
    const { state, result, error, completed_at } = job as JsonObject
    return {
      job_id: run.id,
      state,
      ...(result === undefined ? {} : { result }),
      ...(error === undefined ? {} : { error }),
      ...(completed_at === undefined ? {} : { completed_at }),
    }
  })
}

export async function progressOf(engine: EngineApi, run: RunRow): Promise<JsonObject> {
  const [now, saved] = await Promise.all([engine.queries.now(), savedProgress(engine, run)])
  return progressWire(run, now, saved)
}

/** Out of range is put to the nearest end: handlers that count a little too far are not refused for it. */
function readFraction(body: Body, field: string, whole: number): number | null {
  const value = body[field] ?? null
  if (value === null) return null
  if (typeof value === 'number' && Number.isFinite(value)) return Math.min(Math.max(value / whole, 0), 1)
  throw new RequestError('invalid_request', `${field} is a number from 0 to ${whole}`, { details: { field } })
}

interface Report {
  readonly id: string
  readonly body: Body
  readonly fraction: number | null
}

async function report(context: OjsContext, request: FastifyRequest, { id, body, fraction }: Report): Promise<object> {
  const { engine } = context
  const { message, data } = readDetails(body, fraction)
  const notes = new BodyNotes()
  const named = readWorkerId(notes.root(body).get('worker_id'))
  refuseMistakes(notes)
  const run = await findRun(engine, id, request.caller)
  const holder = await reporterOf(context, request, run, named)
  const now = await engine.queries.now()
  const before = await savedProgress(engine, run)
  if (run.status !== 'leased' || holder instanceof PetrelError || (holder !== null && run.leasedBy !== holder)) {
    return { ...progressWire(run, now, before), accepted: false }
  }
  // Data alone says nothing about the number.
  const stands = fraction ?? numberIn(before)
  const value = { ...numberWire(stands), ...(message === null ? {} : { message }), ...(data === null ? {} : { data }) }
  const text = JSON.stringify(value)
  const error = unstorable(text, MAX_BYTES)
  if (error !== null) {
    const code = error.code === 'payload_too_large' ? 'payload_too_large' : 'invalid_payload'
    throw new RequestError(code, `progress: ${error.message}`, { details: { max_bytes: MAX_BYTES } })
  }
  await engine.leases.renew(run)
  const saved = await engine.records.saved.progress({ runId: run.id, holder, value: text, fraction: stands })
  return { ...progressWire(run, now, saved ?? (await savedProgress(engine, run))), accepted: saved !== null }
}

function readDetails(body: Body, fraction: number | null): { readonly message: string | null; readonly data: unknown } {
  const { message = null, data = null } = body
  if (message !== null && (typeof message !== 'string' || message.length > MAX_MESSAGE)) {
    throw new RequestError('invalid_request', `message is a text of at most ${MAX_MESSAGE} characters`, {
      details: { field: 'message' },
    })
  }
  if (fraction !== null || data !== null) return { message, data }
  throw new RequestError('invalid_request', 'a report has progress, data, or both', {
    details: { field: 'progress' },
    hint: '{ "progress": 0.5, "data": { "rows": 14000 } }',
  })
}

/** null: nothing was reported in the execution that is under way, or that was the last. */
async function savedProgress(engine: EngineApi, run: RunRow): Promise<SavedRow | null> {
  const saved = (await engine.records.saved.of([run.id])).get(run.id)
  if (saved === undefined || saved.progress === null) return null
  // The end of a lease raises the epoch by one.
  const current = run.status === 'leased' ? run.epoch : run.epoch - 1
  return saved.progressEpoch === null || saved.progressEpoch === current ? saved : null
}

function numberIn(saved: SavedRow | null): number | null {
  const { progress } = saved === null ? {} : reported(saved)
  return typeof progress === 'number' ? progress : null
}

function numberWire(fraction: number | null): { readonly progress?: number; readonly percentage?: number } {
  return fraction === null ? {} : { progress: fraction, percentage: Math.round(fraction * 10_000) / 100 }
}

/** Workers of the SDK may report any JSON: shown as data. */
function reported(saved: SavedRow): JsonObject {
  const value = JSON.parse(saved.progress as string) as Json
  const ours = value !== null && typeof value === 'object' && ('progress' in value || 'data' in value)
  return ours ? (value as JsonObject) : { data: value }
}

function progressWire(run: RunRow, now: number, saved: SavedRow | null): JsonObject {
  const about = { job_id: run.id, state: jobState(run, now), progress: null, data: null }
  if (saved === null) return { ...about, reported: false }
  const done = run.status === 'succeeded' ? numberWire(1) : {}
  return { ...about, ...reported(saved), ...done, updated_at: timeText(saved.updatedAt), reported: true }
}
