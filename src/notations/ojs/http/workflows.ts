/** /ojs/v1/workflows: create, look, list, cancel, retry. */

import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { EngineApi } from '../../../engine/api.ts'
import { bodyObject } from '../../../http/body.ts'
import { onlyKnown, type Query, textParam, wholeParam } from '../../../http/query.ts'
import { RequestError } from '../../../http/request-error.ts'
import { PetrelError } from '../../../kernel/errors.ts'
import { MAX_COUNTED, MAX_JSON_BYTES } from '../../../kernel/limits.ts'
import { storedKey } from '../../../kernel/scoped-names.ts'
import { sleep } from '../../../kernel/sleep.ts'
import type { RootQuery } from '../../../model/queries/trees.ts'
import type { InstanceRow } from '../../../model/rows.ts'
import type { StartParams } from '../../../model/start.ts'
import type { Json } from '../../../net/net.ts'
import { actorOf } from '../../../operations/caller.ts'
import { refuseQueueLimits } from '../../../operations/queues/limits.ts'
import type { Body } from '../../../wire/mistaken.ts'
import { KINDS } from '../compile/tree.ts'
import { asksForClock, readWorkflow } from '../compile/workflow.ts'
import { findWorkflow, idOfKey, workflowId } from '../compile/workflow-id.ts'
import { type Wire, WORKFLOW_STATES, type WorkflowState } from '../project/workflow-head.ts'
import { DEFAULT_WINDOW, MAX_WINDOW, type Window } from '../project/workflow-load.ts'
import { findPlanned, summariesWire, workflowWire } from '../project/workflow-wire.ts'
import type { OjsContext } from './context.ts'
import { PAGE_PARAMS, pageWire, readPage } from './paging.ts'

type ById = { Params: { readonly id: string } }

const MOST_MISTAKES = 100
const PATIENCE_MS = 10_000
const PROGRESS_WINDOW = { from: 0, count: 100 }
/** As many jobs are not enqueued by one transaction: it makes a thousand moves, and the first brings it to the jobs. */
const BEYOND_ONE_PORTION = 1_000

export function workflowRoutes(app: FastifyInstance, { engine }: OjsContext): void {
  app.post('/ojs/v1/workflows', async (request, reply) => {
    const row = await create(engine, request)
    reply.code(201).header('location', `/ojs/v1/workflows/${workflowId(row)}`)
    return both(await workflowWire(engine, row))
  })

  app.get('/ojs/v1/workflows', (request) => list(engine, request))

  app.get<ById>('/ojs/v1/workflows/:id', async (request) => {
    const query = request.query as Query
    onlyKnown(query, ['jobs_limit', 'jobs_offset'])
    const { id } = request.params
    const { tenant } = request.caller
    const window = readWindow(query)
    const row = await findWorkflow(engine, id, tenant)
    const wire = row === null ? await findPlanned(engine, id, tenant) : await workflowWire(engine, row, window)
    if (wire === null) throw missing(id)
    return both(wire)
  })

  app.get<ById>('/ojs/v1/workflows/:id/progress', async (request) => {
    const row = await find(engine, request)
    const [wire] = await summariesWire(engine, [row])
    const { steps, jobs } = await workflowWire(engine, row, PROGRESS_WINDOW)
    return { ...progressWire(wire as Wire), steps: ((steps ?? jobs) as readonly Wire[]).map(stepProgress) }
  })

  app.delete<ById>('/ojs/v1/workflows/:id', (request) => cancel(engine, request))
  app.post<ById>('/ojs/v1/workflows/:id/cancel', (request) => cancel(engine, request))

  app.post<ById>('/ojs/v1/workflows/:id/retry', async (request, reply) => {
    const old = await find(engine, request)
    const { id } = await engine
      .retryInstance({ id: old.id, actor: actorOf(request.caller) })
      .catch((error: unknown) => Promise.reject(retryProblem(error, workflowId(old))))
    reply.code(201).header('location', `/ojs/v1/workflows/${id}`)
    return both(await workflowWire(engine, await wholly(engine, await rowOf(engine, id))))
  })
}

/** Some clients look for the workflow under its own key, some for its fields at the top. */
function both(workflow: Wire): Wire {
  return { ...asSteps(workflow), workflow }
}

/** The admin pages know steps only: there the jobs of a group or batch are its steps. */
function asSteps(workflow: Wire): Wire {
  const { metadata, jobs, jobs_total: total, jobs_completed: completed } = workflow
  const { completed_at: ended } = metadata as Wire
  const slim = ({ id, type, state, job_id: job }: Wire): Wire =>
    ({ id, type, state, job_ids: job === null ? [] : [job] }) as Wire
  return {
    ...workflow,
    ...(total === undefined ? {} : { steps_total: total, steps_completed: completed as Json }),
    ...(jobs === undefined ? {} : { steps: (jobs as readonly Wire[]).map(slim) }),
    ...(ended === undefined ? {} : { completed_at: ended }),
  }
}

function missing(id: string): RequestError {
  return new RequestError('not_found', `Workflow ${id} not found`, {
    details: { resource_type: 'workflow', resource_id: id },
  })
}

async function find(engine: EngineApi, request: FastifyRequest<ById>): Promise<InstanceRow> {
  const { id } = request.params
  const { tenant } = request.caller
  const row = await findWorkflow(engine, id, tenant)
  if (row !== null) return row
  const planned = await findPlanned(engine, id, tenant)
  if (planned === null) throw missing(id)
  if (planned['state'] === 'cancelled') throw ended(id, 'cancelled')
  throw new RequestError('conflict', `Workflow ${id} has not begun; its turn in the workflow around it has not come`, {
    details: { workflow_id: id, current_state: planned['state'] as string, root_id: planned['root_id'] as string },
    hint: 'Cancel the workflow around it, or wait until this one has begun.',
  })
}

async function rowOf(engine: EngineApi, id: string): Promise<InstanceRow> {
  const row = await engine.queries.instance(id)
  if (row === null) throw missing(id)
  return row
}

async function create(engine: EngineApi, request: FastifyRequest): Promise<InstanceRow> {
  const body = bodyObject(request, { empty: 'refused' })
  const now = asksForClock(body) ? await engine.queries.now() : 0
  const read = readWorkflow(body, { now, tenant: request.caller.tenant, initiator: actorOf(request.caller) })
  if ('mistakes' in read) {
    const shown = read.mistakes.slice(0, MOST_MISTAKES)
    throw new RequestError('invalid_workflow', 'Workflow validation failed', {
      details: {
        validation_errors: shown,
        ...(read.mistakes.length > shown.length ? { more: read.mistakes.length - shown.length } : {}),
      },
    })
  }
  const { start } = read
  refuseQueueLimits(request.caller, start.limits)
  await refuseTaken(engine, start)
  const [started] = await engine.start([start]).catch(async (error: unknown) => {
    // Someone was faster with one of the names.
    if (error instanceof PetrelError && error.code === 'duplicate') await refuseTaken(engine, start)
    throw tooLarge(error, body)
  })
  if (started === undefined) throw new Error('one workflow in, none out')
  if (!started.created) throw taken(idOfKey(storedKey(start.startKey, start.tenant) ?? ''))
  const row = await rowOf(engine, started.id)
  return read.jobs >= BEYOND_ONE_PORTION ? wholly(engine, row) : row
}

/** Arguments beyond the limit, by their place in the body: those of one job, or of all steps of a chain together. */
function tooLarge(error: unknown, body: Body): unknown {
  if (!(error instanceof PetrelError) || error.code !== 'payload_too_large') return error
  const { steps, jobs } = body as { readonly steps?: readonly Body[]; readonly jobs?: readonly Body[] }
  const [list, name] = jobs === undefined ? [steps ?? [], 'steps'] : [jobs, 'jobs']
  const bytes = list.map((part) => Buffer.byteLength(JSON.stringify(part['args'] ?? part)))
  const most = Math.max(...bytes)
  const at = bytes.indexOf(most)
  const one = most > MAX_JSON_BYTES || name === 'jobs'
  const field = one ? `${name}[${at}]${list[at]?.['args'] === undefined ? '' : '.args'}` : name
  const size = one ? most : bytes.reduce((sum, part) => sum + part, 0)
  const what = one ? 'it has' : 'the arguments of all steps of a chain have'
  // What is stored has all that is kept of each job, and of nested jobs each option.
  const sent = size > MAX_JSON_BYTES ? `${size} bytes` : `${size} bytes as sent, and more as stored`
  return new RequestError('payload_too_large', `${field}: ${what} ${sent}; at most ${MAX_JSON_BYTES} are stored`, {
    details: { field, max_bytes: MAX_JSON_BYTES },
    hint: 'Keep large arguments elsewhere and send a reference to them.',
  })
}

async function refuseTaken(engine: EngineApi, { names = [] }: StartParams): Promise<void> {
  const [name] = names.length === 0 ? [] : (await engine.queries.trees.nameHolders(names)).keys()
  if (name !== undefined) throw taken(idOfKey(name))
}

function taken(id: string): RequestError {
  return new RequestError('duplicate', `there is a workflow ${id} already`, {
    details: { existing_workflow_id: id, resource_type: 'workflow', resource_id: id },
    hint: 'Leave id out and the server makes one, or choose another; nested workflows count as well.',
  })
}

async function cancel(engine: EngineApi, request: FastifyRequest<ById>): Promise<Wire> {
  const row = await find(engine, request)
  const cancelled = await engine
    .cancelInstance({ id: row.id, actor: actorOf(request.caller), once: true })
    .catch((error: unknown) => Promise.reject(cancelProblem(error, workflowId(row))))
  return both(await workflowWire(engine, await wholly(engine, cancelled)))
}

/**
 * Nearly a thousand jobs are enqueued or cancelled with the workflow itself, more in portions right after, between which
 * others have their turn: worth waiting for.
 */
async function wholly(engine: EngineApi, row: InstanceRow): Promise<InstanceRow> {
  const giveUpAt = performance.now() + PATIENCE_MS
  const windows = [{ instanceId: row.id, from: 0, count: MAX_WINDOW }]
  let now = row
  while (now.phase !== 'ended') {
    const rows = await engine.queries.trees.below({ windows, limit: MAX_WINDOW })
    now = rows[0] ?? row
    if (!rows.some((one) => one.more) || performance.now() > giveUpAt) break
    await sleep(10)
  }
  return now
}

function cancelProblem(error: unknown, id: string): unknown {
  if (!(error instanceof PetrelError) || error.code !== 'conflict') return error
  return ended(id, error.details['state'] === 'cancelling' ? 'cancelled' : String(error.details['state']))
}

function ended(id: string, state: string): RequestError {
  return new RequestError('conflict', `Workflow ${id} is already in terminal state '${state}'`, {
    details: { workflow_id: id, current_state: state, expected_state: 'pending or running' },
    hint: 'What has ended cannot be cancelled.',
  })
}

function retryProblem(error: unknown, id: string): unknown {
  if (!(error instanceof PetrelError) || error.code !== 'conflict') return error
  return new RequestError('conflict', `Workflow ${id} cannot be retried: ${error.message}`, {
    details: { workflow_id: id, expected_state: 'failed or cancelled', ...error.details },
    hint: 'Only a workflow that failed or was cancelled is retried, and always the outermost one.',
  })
}

function readWindow(query: Query): Window {
  const { count } = DEFAULT_WINDOW
  return {
    from: wholeParam(query, 'jobs_offset', { least: 0, most: 100_000_000, fallback: 0 }),
    count: wholeParam(query, 'jobs_limit', { least: 1, most: MAX_WINDOW, fallback: count }),
  }
}

async function list(engine: EngineApi, request: FastifyRequest): Promise<Wire> {
  const query = request.query as Query
  onlyKnown(query, ['name', 'type', 'state', ...PAGE_PARAMS])
  const page = readPage(query)
  const wanted = {
    dialect: 'ojs',
    name: textParam(query, 'name'),
    tenant: request.caller.tenant,
    kind: readWord(query, 'type', KINDS),
    ...statesOf(query['state'] === 'active' ? 'running' : readWord(query, 'state', WORKFLOW_STATES)),
  }
  const { trees } = engine.queries
  const [rows, total] = await Promise.all([
    trees.roots({ ...wanted, limit: page.limit + 1, offset: page.offset, before: page.after }),
    trees.countRoots(wanted, MAX_COUNTED),
  ])
  const shown = rows.slice(0, page.limit)
  const pagination = pageWire({ page, total, hasMore: rows.length > page.limit, last: shown.at(-1)?.id ?? null })
  const workflows = [...(await summariesWire(engine, shown))]
  return { workflows, items: workflows.map(asSteps), pagination: { ...pagination } }
}

function readWord<T extends string>(query: Query, name: string, words: readonly T[]): T | null {
  const text = textParam(query, name)
  const word = words.find((known) => known === text)
  if (text === null || word !== undefined) return word ?? null
  throw new RequestError('invalid_request', `${name} cannot be '${text.slice(0, 100)}'`, {
    details: { parameter: name },
    hint: `One of: ${words.join(', ')}.`,
  })
}

/** What OJS calls running is nothing the row says alone: something must be due. */
function statesOf(state: WorkflowState | null): Pick<RootQuery, 'states' | 'begun'> {
  switch (state) {
    case null:
      return { states: null, begun: null }
    case 'pending':
      return { states: ['idle', 'queued', 'running', 'waiting'], begun: false }
    case 'running':
      return { states: ['running', 'waiting', 'compensating'], begun: true }
    case 'completed':
      return { states: ['completed'], begun: null }
    case 'failed':
      return { states: ['failed', 'compensated'], begun: null }
    case 'cancelled':
      return { states: ['cancelled', 'cancelling'], begun: null }
  }
}

/** What is known of a step without asking its worker: it is done, or it is not. */
function stepProgress({ id, type, state, job_id: job }: Wire): Wire {
  return { id, type, state, job_id: job, progress: state === 'completed' ? 1 : 0 } as Wire
}

function progressWire(workflow: Wire): Wire {
  const metadata = workflow['metadata'] as Wire
  const [jobs, completed, failed] = ['job_count', 'completed_count', 'failed_count'].map(
    (key) => metadata[key] as number,
  )
  const done = (completed ?? 0) + (failed ?? 0)
  return {
    workflow_id: workflow['id'] as string,
    state: workflow['state'] as string,
    job_count: jobs ?? 0,
    completed_count: completed ?? 0,
    failed_count: failed ?? 0,
    progress: jobs === undefined || jobs === 0 ? 0 : Math.min(1, done / jobs),
  }
}
