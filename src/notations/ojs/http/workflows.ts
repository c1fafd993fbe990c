/** /ojs/v1/workflows: create, look, list, cancel, retry. */
import { bodyObject } from '../../../http/body.ts'
import { RequestError } from '../../../http/request-error.ts'
import { readId } from '../../../kernel/ids.ts'
import { sleep } from '../../../kernel/sleep.ts'
import type { RootQuery } from '../../../model/queries/trees.ts'
import type { InstanceRow } from '../../../model/rows.ts'
import { actorOf, type Caller } from '../../../operations/caller.ts'
import {
  cancelNamedInstance,
  findNamedInstance,
  type InstanceName,
  listRoots,
  type Named,
  retryNamedInstance,
  startNamedInstance,
} from '../../../operations/instances/named.ts'
import { type Param, parsed, textOf, wholeOf } from '../../../wire/requests/params.ts'
import { type Value, word } from '../../../wire/schema.ts'
import { KINDS } from '../compile/tree.ts'
import { asksForClock, readWorkflow } from '../compile/workflow.ts'
import { idOfKey, startKeyOf, workflowId } from '../compile/workflow-id.ts'
import { type Wire, WORKFLOW_STATES, type WorkflowState } from '../project/workflow-head.ts'
import { DEFAULT_WINDOW, MAX_WINDOW } from '../project/workflow-load.ts'
import { plannedIn, summariesWire, workflowWire } from '../project/workflow-wire.ts'
import { type OjsAsked, type OjsContext, route } from './context.ts'
import type { JobReading } from './jobs/job-reply.ts'
import { PAGE, pageAsked, pageWire } from './paging.ts'
import {
  progressWire,
  WorkflowList,
  WorkflowProgress,
  WorkflowReply,
  WorkflowRequest,
  workflowLists,
  workflowReply,
} from './wire/workflow.ts'
import {
  cancelProblem,
  invalidWorkflow,
  missingWorkflow,
  notBegun,
  retryProblem,
  taken,
  tooLarge,
} from './workflow-problem.ts'

const PATIENCE_MS = 10_000
const PROGRESS_WINDOW = { from: 0, count: 100 }
/** As many jobs are not enqueued by one transaction: it makes a thousand moves, and the first brings it to the jobs. */
const BEYOND_ONE_PORTION = 1_000

const CANCEL = {
  tag: 'Workflows',
  does: cancelNamedInstance,
  description: 'Pending jobs never begin; active jobs may end and be reported, and no further ones follow.',
  answers: { '200': { description: 'It is cancelled.', schema: WorkflowReply } },
  errors: ['not_found', 'conflict'],
} as const

export const WORKFLOW_ROUTES = [
  route(
    'POST /ojs/v1/workflows',
    {
      tag: 'Workflows',
      summary: 'Start a chain, group or batch',
      does: startNamedInstance,
      body: {
        schema: WorkflowRequest,
        readByRoute: true,
        example: {
          type: 'chain',
          name: 'order',
          steps: [
            { type: 'order.check', args: [17] },
            { type: 'order.ship', args: [17] },
          ],
        },
      },
      answers: { '201': { description: 'It has begun.', schema: WorkflowReply, headers: ['Location'] } },
      errors: ['invalid_workflow', 'duplicate', 'validation_error'],
    },
    async (asked, { reading }) => {
      const row = await create(asked, reading)
      asked.reply.code(201).header('location', `/ojs/v1/workflows/${workflowId(row)}`)
      return workflowReply(await workflowWire(reading, row))
    },
  ),

  route(
    'GET /ojs/v1/workflows',
    {
      tag: 'Workflows',
      summary: 'List workflows',
      does: listRoots,
      query: {
        name: textOf('Only of this name.'),
        type: oneWord(KINDS, 'Only chain, group or batch.'),
        state: oneWord([...WORKFLOW_STATES, 'active'], 'Only in this state; active means running.'),
        ...PAGE,
      },
      answers: { '200': { description: 'Newest first.', schema: WorkflowList } },
    },
    async ({ query: { name, type: kind, state, ...asked }, perform }, { reading }) => {
      const page = pageAsked(asked)
      const { limit, offset, after: before } = page
      if (before !== null && readId(before) === null) {
        throw new RequestError('invalid_request', 'cursor is not one of this list', {
          details: { parameter: 'cursor' },
        })
      }
      const states = statesOf(state === 'active' ? 'running' : state)
      const { rows, more, total } = await perform(listRoots, { ...OJS, name, kind, ...states, limit, offset, before })
      const pagination = pageWire({ page, total, hasMore: more, last: rows.at(-1)?.id ?? null })
      return { ...workflowLists(await summariesWire(reading, rows)), pagination }
    },
  ),

  route(
    'GET /ojs/v1/workflows/:id',
    {
      tag: 'Workflows',
      summary: 'Get a workflow',
      does: findNamedInstance,
      description:
        'With every step, job and callback, nested workflows in full. Of long lists of jobs a part is shown.',
      query: {
        jobs_limit: wholeOf(
          { least: 1, most: MAX_WINDOW, fallback: DEFAULT_WINDOW.count },
          'Jobs shown of each group or batch.',
        ),
        jobs_offset: wholeOf({ least: 0, most: 100_000_000, fallback: 0 }, 'Jobs to skip.'),
      },
      answers: { '200': { description: 'The current state of the workflow.', schema: WorkflowReply } },
      errors: ['not_found'],
    },
    async ({ params: { id }, query, perform, caller }, { reading }) => {
      const found = await perform(findNamedInstance, nameOf(id, caller))
      const window = { from: query.jobs_offset, count: query.jobs_limit }
      const wire =
        'within' in found ? await plannedWire(reading, id, found) : await workflowWire(reading, found, window)
      if (wire === null) throw missingWorkflow(id)
      return workflowReply(wire)
    },
  ),

  route(
    'GET /ojs/v1/workflows/:id/progress',
    {
      tag: 'Workflows',
      summary: 'Get the progress of a workflow',
      does: findNamedInstance,
      otherQuery: 'ignored',
      answers: { '200': { description: 'Counts, and whether each step is completed.', schema: WorkflowProgress } },
      errors: ['not_found', 'conflict'],
    },
    async ({ params: { id }, perform, caller }, { reading }) => {
      const row = await begun(reading, id, perform(findNamedInstance, nameOf(id, caller)))
      const [summary] = await summariesWire(reading, [row])
      return progressWire(summary as Wire, await workflowWire(reading, row, PROGRESS_WINDOW))
    },
  ),

  route('DELETE /ojs/v1/workflows/:id', { ...CANCEL, summary: 'Cancel a workflow' }, cancel),

  route(
    'POST /ojs/v1/workflows/:id/cancel',
    { ...CANCEL, summary: 'Cancel a workflow, for clients that cannot send DELETE' },
    cancel,
  ),

  route(
    'POST /ojs/v1/workflows/:id/retry',
    {
      tag: 'Workflows',
      summary: 'Retry a failed workflow',
      does: retryNamedInstance,
      description:
        'Starts a new workflow that carries over the results of succeeded jobs. The old one does not change.',
      answers: { '201': { description: 'The new workflow.', schema: WorkflowReply, headers: ['Location'] } },
      errors: ['not_found', 'conflict'],
    },
    async ({ params: { id }, perform, caller, reply }, { reading }) => {
      const done = perform(retryNamedInstance, nameOf(id, caller))
      const row = await begun(reading, id, done, retryProblem)
      reply.code(201).header('location', `/ojs/v1/workflows/${row.id}`)
      return workflowReply(await workflowWire(reading, await wholly(reading, row)))
    },
  ),
]

const OJS = { dialect: 'ojs' }

function nameOf(id: string, { tenant }: Caller): InstanceName {
  return { ...OJS, id, startKey: startKeyOf(id, tenant) }
}

/** Refuses one whose turn has not come. `problem`: words what the engine refuses. */
async function begun(
  reading: JobReading,
  id: string,
  done: Promise<Named>,
  problem: (error: unknown, id: string) => unknown = (error) => error,
): Promise<InstanceRow> {
  const found = await done.catch((error: unknown) => Promise.reject(problem(error, id)))
  if (!('within' in found)) return found
  throw notBegun(id, await plannedWire(reading, id, found))
}

async function plannedWire(
  reading: JobReading,
  id: string,
  { within }: Exclude<Named, InstanceRow>,
): Promise<Wire | null> {
  return within === null ? null : plannedIn(reading, within, id)
}

async function create(asked: OjsAsked, reading: JobReading): Promise<InstanceRow> {
  const { perform, caller, request } = asked
  const body = bodyObject(request, { empty: 'refused' })
  const now = asksForClock(body) ? await reading.queries.now() : 0
  const read = readWorkflow(body, { now, tenant: caller.tenant, initiator: actorOf(caller) })
  if ('mistakes' in read) throw invalidWorkflow(read.mistakes)
  const started = await perform(startNamedInstance, read.start).catch((error: unknown) =>
    Promise.reject(tooLarge(error, body)),
  )
  if ('taken' in started) throw taken(idOfKey(started.taken))
  return read.jobs >= BEYOND_ONE_PORTION ? wholly(reading, started) : started
}

async function cancel(
  { params: { id }, perform, caller }: OjsAsked & { readonly params: { readonly id: string } },
  { reading }: OjsContext,
): Promise<Value<typeof WorkflowReply>> {
  const row = await begun(reading, id, perform(cancelNamedInstance, nameOf(id, caller)), cancelProblem)
  return workflowReply(await workflowWire(reading, await wholly(reading, row)))
}

/**
 * Nearly a thousand jobs are enqueued or cancelled with the workflow itself, more in portions right after, between which
 * others have their turn: worth waiting for.
 */
async function wholly({ queries }: JobReading, row: InstanceRow): Promise<InstanceRow> {
  const giveUpAt = performance.now() + PATIENCE_MS
  const windows = [{ instanceId: row.id, from: 0, count: MAX_WINDOW }]
  let now = row
  while (now.phase !== 'ended') {
    const rows = await queries.trees.below({ windows, limit: MAX_WINDOW })
    now = rows[0] ?? row
    if (!rows.some((one) => one.more) || performance.now() > giveUpAt) break
    await sleep(10)
  }
  return now
}

/** One of these, and not several. */
function oneWord<const W extends string>(words: readonly W[], description: string): Param<W | null> {
  const find = (given: string): W | null => words.find((known) => known === given) ?? null
  return parsed(description, word(words), find, `one of ${words.join(', ')}`)
}

/** What OJS calls running is more than the row has: something must be due. */
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
