/**
 * Workers over HTTP: claim with long poll, heartbeat, and the four reports that end a lease. A report names the worker
 * and the epoch it was given with the run; under any other it is refused and changes nothing. The same report sent twice
 * is answered twice.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { EngineApi } from '../../engine/api.ts'
import { delivered, written } from '../../http/delivered.ts'
import { PetrelError } from '../../kernel/errors.ts'
import { readStored } from '../../kernel/json-limits.ts'
import { unscopedName } from '../../kernel/scoped-names.ts'
import { isStoreAway } from '../../kernel/store-errors.ts'
import type { LeaseOutcome, LeaseReport, LeaseSettled } from '../../model/leases.ts'
import { inputPlace } from '../../model/retried-runs.ts'
import type { RunRow } from '../../model/rows.ts'
import type { Failure } from '../../net/marking.ts'
import type { Json } from '../../net/net.ts'
import { type Caller, holderOf } from '../../operations/caller.ts'
import { InboxRunReply, inboxRunWire } from '../../wire/inbox-run.ts'
import type { Value } from '../../wire/schema.ts'
import { time } from '../../wire/value.ts'
import { type CoreContext, route } from '../context.ts'
import {
  type ClaimedRun,
  ClaimReply,
  ClaimRequest,
  CompleteRequest,
  FailReply,
  FailRequest,
  HeartbeatReply,
  HeartbeatRequest,
  type Hold,
  LaterRequest,
  ReleaseRequest,
  type Said,
  StopReply,
  StopRequest,
} from './claim-wire.ts'
import { conflict, findRun, knownId, runProblem } from './run-problem.ts'

const LEASE_SECONDS = 30

const AS_IT_IS = { description: 'As it is now.', schema: InboxRunReply }

const REPORTS =
  'Needs the worker_id and epoch it was claimed with; under others 409, with its status, and nothing is changed. Sent ' +
  'again after its answer was lost, it is answered as it was.'

export const CLAIM_ROUTES = [
  route(
    'POST /v1/runs/claim',
    {
      tag: 'Inbox',
      summary: 'Claim runs',
      description:
        'By priority, then age. Paused queues, limits, the registry and the tenant of the key are minded. Arguments that a ' +
        'workflow keeps aside (`{ "$ref": "x:7" }` in the table) come whole. Fewer than `limit` if more would be beyond 8 MiB.',
      body: {
        schema: ClaimRequest,
        example: { worker_id: 'billing-1', types: ['billing.%'], lease_seconds: 30, wait_seconds: 20 },
      },
      answers: { '200': { description: 'Leased to the worker; none: nothing is due.', schema: ClaimReply } },
    },
    async ({ body, caller, request, reply }, { engine, longPolls }) => {
      const holder = holderOf(caller, body.worker_id)
      const leaseMs = Math.round((body.lease_seconds ?? LEASE_SECONDS) * 1000)
      const waitMs = Math.round((body.wait_seconds ?? 0) * 1000)
      const fetch = (signal?: AbortSignal): Promise<readonly RunRow[]> =>
        engine.leases.fetch({
          holder,
          types: body.types,
          queues: body.queues ?? null,
          runtime: body.runtime ?? null,
          limit: body.limit ?? 1,
          waitMs,
          tenant: caller.tenant,
          leaseMs: () => leaseMs,
          ...(signal === undefined ? {} : { signal }),
        })
      const runs = waitMs === 0 ? await fetch() : await longPolls.during({ request, reply }, fetch, holder)
      if (runs.length === 0) return { runs: [] }
      // A caller who hung up while we claimed is known to be gone one turn later. Nobody is there to do them: they go back
      // now instead of when their leases run out.
      await nextTurn()
      if (reply.raw.destroyed) {
        await engine.leases.settle(runs.map((run) => ({ ...heldAs(run), outcome: { kind: 'released' } })))
        return { runs: [] }
      }
      const texts = await delivered(engine, runs, (some) => Promise.all(some.map((run) => claimedText(engine, run))))
      return reply.type('application/json; charset=utf-8').send(`{"runs":[${texts.join(',')}]}`)
    },
  ),

  // A worker that goes down cannot hang up safely: what is just being answered to it would be lost until its lease ends.
  route(
    'POST /v1/runs/claim/stop',
    {
      tag: 'Inbox',
      summary: 'End the waiting claims of a worker',
      description:
        'For a worker that goes down: its claims that wait on this server are answered at once, with nothing. Hanging up ' +
        'instead may lose a run that is just being answered until its lease ends.',
      body: { schema: StopRequest },
      answers: { '200': { description: 'How many there were.', schema: StopReply } },
    },
    async ({ body, caller }, { longPolls }) => ({ stopped: longPolls.stop(holderOf(caller, body.worker_id)) }),
  ),

  route(
    'POST /v1/runs/:id/heartbeat',
    {
      tag: 'Inbox',
      summary: 'Renew a lease',
      body: { schema: HeartbeatRequest },
      answers: { '200': { description: 'It lasts from now on for lease_seconds.', schema: HeartbeatReply } },
      errors: ['not_found', 'conflict'],
    },
    async ({ params, body, caller }, { engine }) => {
      const { epoch, lease_seconds: seconds } = body
      const id = await knownId(engine, params.id, caller)
      const holder = holderOf(caller, body.worker_id)
      // Left out: as long as before.
      const leaseMs = seconds == null ? null : Math.round(seconds * 1000)
      const renewed = await engine.leases.extend({ holder, runIds: [id], epochs: [epoch], leaseMs })
      const run = await findRun(engine, id, caller)
      if (renewed.length === 0 || run.status !== 'leased' || run.epoch !== epoch) throw lost(run, holder, epoch)
      return {
        status: run.status,
        lease_until: time(run.leaseUntil) as string,
        cancel_requested: run.cancelRequestedAt !== null,
      }
    },
  ),

  route(
    'POST /v1/runs/:id/complete',
    {
      tag: 'Inbox',
      summary: 'Report a success',
      description: REPORTS,
      body: { schema: CompleteRequest },
      answers: { '200': AS_IT_IS },
      errors: ['not_found', 'conflict'],
    },
    async (asked, context) => {
      const { result = null } = asked.body
      return runReply(await settle('complete', asked, context, { kind: 'succeeded', result: result as Json }))
    },
  ),

  route(
    'POST /v1/runs/:id/fail',
    {
      tag: 'Inbox',
      summary: 'Report a failure',
      description: REPORTS,
      body: { schema: FailRequest },
      answers: { '200': { description: 'Failed, or to be tried again.', schema: FailReply } },
      errors: ['not_found', 'conflict'],
    },
    async (asked, context) => {
      const settled = await settle('fail', asked, context, failed(asked.body))
      const { retryDelayMs } = settled
      return { ...runReply(settled), retry_in_seconds: retryDelayMs === null ? null : retryDelayMs / 1000 }
    },
  ),

  route(
    'POST /v1/runs/:id/later',
    {
      tag: 'Inbox',
      summary: 'Go on with a run at another time',
      description:
        'Claimable again after delay_seconds, on the same attempt: nothing counts as failed, and what it holds under limits ' +
        `is free meanwhile. In a workflow that is ending it is cancelled. ${REPORTS}`,
      body: { schema: LaterRequest },
      answers: { '200': AS_IT_IS },
      errors: ['not_found', 'conflict'],
    },
    async (asked, context) => {
      const delayMs = Math.ceil(asked.body.delay_seconds * 1000)
      return runReply(await settle('later', asked, context, { kind: 'later', delayMs }))
    },
  ),

  route(
    'POST /v1/runs/:id/release',
    {
      tag: 'Inbox',
      summary: 'Give a run back',
      description: `Claimable again at once; no attempt is spent. ${REPORTS}`,
      body: { schema: ReleaseRequest },
      answers: { '200': AS_IT_IS },
      errors: ['not_found', 'conflict'],
    },
    async (asked, context) => runReply(await settle('release', asked, context, { kind: 'released' })),
  ),
]

interface Reported {
  readonly params: { readonly id: string }
  readonly body: Hold & Said
  readonly caller: Caller
}

async function settle(
  verb: string,
  { params, body, caller }: Reported,
  { engine }: CoreContext,
  outcome: LeaseOutcome,
): Promise<LeaseSettled> {
  const id = await knownId(engine, params.id, caller)
  const holder = holderOf(caller, body.worker_id)
  const { epoch, set, notes } = body
  const report: LeaseReport = {
    runId: id,
    attempt: null,
    // Sent again after its answer was lost, it is known by this name.
    reportId: `${verb}:${epoch}:${holder}`,
    holder,
    epoch,
    outcome,
    ...(set == null ? {} : { set: set as { readonly [name: string]: Json } }),
    ...(notes == null ? {} : { notes: notes as readonly Json[] }),
  }
  const [settled] = await engine.leases.settle([report])
  if (settled === undefined || settled instanceof Error) throw reportProblem(settled, id)
  return settled
}

function runReply({ run }: LeaseSettled): Value<typeof InboxRunReply> {
  return { run: inboxRunWire(run) }
}

function failed({ error, retryable = null }: Value<typeof FailRequest>): LeaseOutcome {
  const { code, message, category, details } = error
  const failure: Failure = {
    code: code ?? 'handler_error',
    message,
    ...(category == null ? {} : { category }),
    ...(details == null ? {} : { details: details as Json }),
  }
  return {
    kind: 'failed',
    error: retryable === null ? failure : { ...failure, retryable },
    // Its word counts more than a policy that would not; attempts still run out.
    how: retryable === true ? 'retry' : 'policy',
  }
}

/**
 * What its handler needs: the run with all of its arguments, its fencing number, what its step says is to be done, and
 * the results of what came before it in its workflow.
 */
async function claimedWire(engine: EngineApi, run: RunRow): Promise<ClaimedRun> {
  const [before, program] =
    inputPlace(run).instanceId === null
      ? [null, null]
      : await Promise.all([engine.resultsBefore(run), engine.program(run)])
  return {
    ...inboxRunWire(run),
    epoch: run.epoch,
    program,
    parent_results:
      before === null
        ? null
        : Object.fromEntries([...before].map(([node, result]) => [node, result === null ? null : readStored(result)])),
  }
}

/** JSON text, or why it cannot be given to a worker. */
async function claimedText(engine: EngineApi, run: RunRow): Promise<unknown> {
  try {
    readStored(run.payload)
    return written(await claimedWire(engine, run))
  } catch (error) {
    if (isStoreAway(error)) throw error
    return error
  }
}

function heldAs(run: RunRow) {
  return { runId: run.id, holder: run.leasedBy, epoch: run.epoch, attempt: null }
}

function lost(run: RunRow, holder: string, epoch: number): Error {
  const why =
    run.status !== 'leased'
      ? `is ${run.status}`
      : run.leasedBy !== holder
        ? `is held by worker ${unscopedName(run.leasedBy) ?? '?'}, not by ${unscopedName(holder)}`
        : run.epoch !== epoch
          ? `is at epoch ${run.epoch}, not ${epoch}`
          : 'has a lease that ran out'
  return conflict(run.id, run.status, `run ${run.id} ${why}; only the holder of its lease renews it`, 'report')
}

/** What the engine says cannot be stored is named as the body calls it. */
function reportProblem(error: PetrelError | undefined, id: string): unknown {
  if (error === undefined) return new Error('one report in, none out')
  const field = error.details['field']
  if (field === undefined || error.code === 'conflict') return runProblem(error, id, 'report')
  return new PetrelError(error.code, `${String(field)}: ${error.message}`, error.details)
}
