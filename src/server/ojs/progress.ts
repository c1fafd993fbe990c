/**
 * Progress of active jobs: a fraction from 0 to 1, with a message and data if the handler likes. The last report is
 * kept; each is told as the event job.progress. POST /workers/progress is the same in percent.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { JsonObject } from '../../dialects/ojs/envelope.ts'
import { readWorkerId } from '../../dialects/ojs/names.ts'
import { jobState } from '../../dialects/ojs/state.ts'
import { timeText } from '../../dialects/ojs/time.ts'
import { BodyNotes } from '../../dialects/reader.ts'
import type { EngineApi } from '../../engine/api.ts'
import { unstorable } from '../../engine/edge.ts'
import type { SavedRow } from '../../store/saved.ts'
import { type Body, bodyObject } from '../body.ts'
import { refuseMistakes } from '../mistaken.ts'
import { RequestError } from '../request-error.ts'
import { notSaved } from './checkpoints.ts'
import type { OjsContext } from './context.ts'
import { findRun, jobReplies } from './job-reply.ts'

type ById = { Params: { readonly id: string } }

const MAX_BYTES = 64 * 1024
const MAX_MESSAGE = 1000

export function progressRoutes(app: FastifyInstance, { engine }: OjsContext): void {
  const scope = { config: { scope: 'work' as const } }

  app.put<ById>('/ojs/v1/jobs/:id/progress', scope, (request) => {
    const body = bodyObject(request, { empty: 'refused' })
    return report(engine, request, { id: request.params.id, body, value: fraction(body, 'progress', 1) })
  })

  app.post('/ojs/v1/workers/progress', scope, (request) => {
    const body = bodyObject(request, { empty: 'refused' })
    const id = body['job_id']
    if (typeof id !== 'string') {
      throw new RequestError('invalid_request', 'job_id is missing', { details: { field: 'job_id' } })
    }
    const value = body['percentage'] === undefined ? fraction(body, 'progress', 1) : fraction(body, 'percentage', 100)
    return report(engine, request, { id, body, value })
  })

  app.get<ById>('/ojs/v1/jobs/:id/progress', async (request) => {
    const [run, now] = await Promise.all([findRun(engine, request.params.id, request.caller), engine.store.now()])
    const saved = (await engine.store.saved.of([run.id])).get(run.id)
    const state = jobState(run, now)
    if (saved === undefined || saved.progress === null) {
      // Nothing was reported: only what is certain is said.
      return { job_id: run.id, state, progress: state === 'completed' ? 1 : 0, reported: false }
    }
    return { ...progressWire(saved), state, reported: true }
  })

  app.get<ById>('/ojs/v1/jobs/:id/result', async (request) => {
    const [run, now] = await Promise.all([findRun(engine, request.params.id, request.caller), engine.store.now()])
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

/** Out of range is put to the nearest end: handlers that count a little too far are not refused for it. */
function fraction(body: Body, field: string, whole: number): number {
  const value = body[field]
  if (typeof value === 'number' && Number.isFinite(value)) return Math.min(Math.max(value / whole, 0), 1)
  throw new RequestError('invalid_request', `${field} is a number from 0 to ${whole}`, { details: { field } })
}

async function report(
  engine: EngineApi,
  request: FastifyRequest,
  { id, body, value }: { readonly id: string; readonly body: Body; readonly value: number },
): Promise<object> {
  const { message, data } = body
  if (message !== undefined && message !== null && (typeof message !== 'string' || message.length > MAX_MESSAGE)) {
    throw new RequestError('invalid_request', `message is a text of at most ${MAX_MESSAGE} characters`, {
      details: { field: 'message' },
    })
  }
  const notes = new BodyNotes()
  const holder = readWorkerId(notes.root(body).get('worker_id'))
  refuseMistakes(notes)
  const run = await findRun(engine, id, request.caller)
  const text = JSON.stringify({
    progress: value,
    percentage: Math.round(value * 10_000) / 100,
    ...(typeof message === 'string' ? { message } : {}),
    ...(data === undefined ? {} : { data }),
  })
  const error = unstorable(text, MAX_BYTES)
  if (error !== null) {
    const code = error.code === 'payload_too_large' ? 'payload_too_large' : 'invalid_payload'
    throw new RequestError(code, `progress: ${error.message}`, { details: { max_bytes: MAX_BYTES } })
  }
  const saved = await engine.store.saved.progress({ runId: run.id, holder, value: text })
  if ('status' in saved) throw notSaved(run.id, saved.status, holder)
  return progressWire(saved)
}

/** Workers of the SDK may report any JSON: shown as data. */
function progressWire(saved: SavedRow): object {
  const value: unknown = JSON.parse(saved.progress as string)
  const about = { job_id: saved.runId, updated_at: timeText(saved.updatedAt) }
  if (value !== null && typeof value === 'object' && 'progress' in value) return { ...about, ...value }
  return { ...about, data: value }
}
