/**
 * Checkpoints: state that a job goes on from when it is started again. One per job, the latest counts; it outlives
 * failures and retries, and is kept with the job once that has ended, though no longer changed.
 * The official client knows them under /checkpoints/:id, behind a prefix that it puts there twice.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { EngineApi } from '../../../engine/api.ts'
import { bodyObject } from '../../../http/body.ts'
import { notFound, RequestError } from '../../../http/request-error.ts'
import { PetrelError } from '../../../kernel/errors.ts'
import { unstorable } from '../../../kernel/json-limits.ts'
import type { RunStatus } from '../../../model/rows.ts'
import type { SavedRow } from '../../../model/saved.ts'
import { type Body, refuseMistakes } from '../../../wire/mistaken.ts'
import { BodyNotes } from '../../source/reader.ts'
import { readWorkerId } from '../compile/names.ts'
import { checkpointWire } from './checkpoint-wire.ts'
import type { OjsContext } from './context.ts'
import { jobProblem } from './jobs/job-problem.ts'
import { findRun } from './jobs/job-reply.ts'
import { reporterOf } from './reporter.ts'

type ById = { Params: { readonly id: string } }

const MAX_CHECKPOINT_BYTES = 1024 * 1024

const ALIASES = ['/ojs/v1/checkpoints/:id', '/ojs/v1/ojs/v1/checkpoints/:id']

export function checkpointRoutes(app: FastifyInstance, context: OjsContext): void {
  const { engine } = context
  const scope = { config: { access: { scope: 'work' as const } } }
  const path = '/ojs/v1/jobs/:id/checkpoint'
  const save = (request: FastifyRequest<ById>) => saveCheckpoint(context, request)
  const look = (request: FastifyRequest<ById>) => readCheckpoint(engine, request)
  const remove = async (request: FastifyRequest<ById>) => {
    const { id } = await findRun(engine, request.params.id, request.caller)
    await engine.records.saved.remove(id)
    return { deleted: true, job_id: id }
  }
  app.put<ById>(path, scope, save)
  for (const one of [path, ...ALIASES]) {
    app.post<ById>(one, scope, save)
    app.get<ById>(one, look)
    app.delete<ById>(one, scope, remove)
  }
  for (const one of ALIASES) app.get<ById>(`${one}/resume`, (request) => resumeCheckpoint(engine, request))
}

async function saveCheckpoint(context: OjsContext, request: FastifyRequest<ById>): Promise<object> {
  const { engine } = context
  const run = await findRun(engine, request.params.id, request.caller)
  const { id } = run
  const body = bodyObject(request, { empty: 'refused' })
  const notes = new BodyNotes()
  const named = readWorkerId(notes.root(body).get('worker_id'))
  refuseMistakes(notes)
  const state = textOf(body)
  const holder = await reporterOf(context, request, run, named)
  if (holder instanceof PetrelError) throw jobProblem(holder, id, 'active')
  const saved = await engine.records.saved.put({ runId: id, holder, state })
  if ('status' in saved) throw notSaved(id, saved.status, holder)
  return reply(saved)
}

/** A bare state is kept as it is, so that workers of every kind read each other's; with more, all of it is wrapped. */
function textOf(body: Body): string {
  if (body['state'] === undefined) {
    throw new RequestError('invalid_request', 'state is missing', {
      details: { field: 'state' },
      hint: '{ "state": … }: any JSON value, up to 1 MB.',
    })
  }
  const { state, step_index: stepIndex, metadata } = body
  const more = {
    ...(stepIndex === undefined ? {} : { step_index: stepIndex }),
    ...(metadata === undefined ? {} : { metadata }),
  }
  const text = JSON.stringify(Object.keys(more).length === 0 ? state : { petrel: { state, ...more } })
  const error = unstorable(text, MAX_CHECKPOINT_BYTES)
  if (error === null) return text
  throw new RequestError(
    error.code === 'payload_too_large' ? 'payload_too_large' : 'invalid_payload',
    `state: ${error.message}`,
    {
      details: { field: 'state', max_bytes: MAX_CHECKPOINT_BYTES },
    },
  )
}

async function readCheckpoint(engine: EngineApi, request: FastifyRequest<ById>): Promise<object> {
  const { id } = await findRun(engine, request.params.id, request.caller)
  const saved = (await engine.records.saved.of([id])).get(id)
  if (saved !== undefined && saved.state !== null) return reply(saved)
  throw notFound('checkpoint', id, 'The job is there and has saved no checkpoint, or it was deleted.')
}

async function resumeCheckpoint(engine: EngineApi, request: FastifyRequest<ById>): Promise<object> {
  const { id } = await findRun(engine, request.params.id, request.caller)
  const saved = (await engine.records.saved.of([id])).get(id)
  if (saved === undefined || saved.state === null) return { job_id: id, has_checkpoint: false }
  return { job_id: id, has_checkpoint: true, checkpoint: checkpointWire(saved) }
}

function reply(saved: SavedRow): object {
  const checkpoint = checkpointWire(saved)
  return { ...checkpoint, checkpoint }
}

const WORDS: Readonly<Record<RunStatus, string>> = {
  pending: 'not active',
  leased: 'active',
  succeeded: 'completed',
  failed: 'discarded',
  cancelled: 'cancelled',
}

/** `holder`: null if the request did not say who asks. */
function notSaved(id: string, status: RunStatus | null, holder: string | null): RequestError {
  if (status === null) return notFound('job', id)
  const held = status === 'leased'
  const message = held ? `job ${id} is held by someone else than ${holder}` : `job ${id} is ${WORDS[status]}`
  return new RequestError('conflict', message, {
    details: {
      job_id: id,
      ...(status === 'pending' ? {} : { current_state: WORDS[status] }),
      expected_state: 'active',
    },
    hint: held
      ? 'The lease of this worker has ended; stop working on the job.'
      : 'Only a job that somebody works on takes this; one that has ended is not changed any more.',
  })
}
