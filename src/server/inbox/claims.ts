/**
 * Workers over HTTP: claim with long poll, heartbeat, and the four reports that end a lease. A report names the worker
 * and the epoch that came with the run; with any others it is refused and changes nothing. The same report sent twice
 * gets the same answer.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { PetrelError } from '../../kernel/errors.ts'
import { readStored } from '../../kernel/json-limits.ts'
import { isStoreAway } from '../../kernel/store-errors.ts'
import type { LeaseOutcome, LeaseReport, LeaseSettled } from '../../model/leases.ts'
import type { RunRow } from '../../model/rows.ts'
import type { Failure } from '../../net/marking.ts'
import type { Json } from '../../net/net.ts'
import { type Caller, holderOf } from '../../operations/caller.ts'
import type { Perform } from '../../operations/operation.ts'
import { deliverRuns, NO_INPUTS, needsInputs, runInputs } from '../../operations/runs/deliver.ts'
import { fetchRuns, renewLease, returnRuns, settleRuns } from '../../operations/runs/leases.ts'
import { InboxRunReply, inboxRunWire } from '../../wire/inbox-run.ts'
import type { Value } from '../../wire/schema.ts'
import { time } from '../../wire/value.ts'
import { route } from '../context.ts'
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
  type ReportExtras,
  StopReply,
  StopRequest,
} from './claim-wire.ts'
import { aboutRun, runProblem } from './run-problem.ts'

const LEASE_SECONDS = 30

const AS_IT_IS = { description: 'Its current state.', schema: InboxRunReply }

const REPORTS =
  'Requires the worker_id and epoch of the claim; with others 409, with its status, and nothing changes. Sent ' +
  'again after its answer was lost, it gets the same answer.'

export const CLAIM_ROUTES = [
  route(
    'POST /v1/runs/claim',
    {
      tag: 'Inbox',
      summary: 'Claim runs',
      does: fetchRuns,
      description:
        'By priority, then age. Paused queues, limits, the registry and the tenant of the key apply. Arguments that a ' +
        'workflow stores separately (`{ "$ref": "x:7" }` in the table) are complete. Fewer than `limit` if more would exceed 8 MiB.',
      body: {
        schema: ClaimRequest,
        example: { worker_id: 'billing-1', types: ['billing.%'], lease_seconds: 30, wait_seconds: 20 },
      },
      answers: { '200': { description: 'Leased to the worker; empty: no run is due.', schema: ClaimReply } },
    },
    async ({ body, caller, perform, request, reply }, { longPolls }) => {
      const leaseMs = Math.round((body.lease_seconds ?? LEASE_SECONDS) * 1000)
      const waitMs = Math.round((body.wait_seconds ?? 0) * 1000)
      const fetch = (signal?: AbortSignal): Promise<readonly RunRow[]> =>
        perform(fetchRuns, {
          holder: body.worker_id,
          types: body.types,
          queues: body.queues ?? null,
          runtime: body.runtime ?? null,
          limit: body.limit ?? 1,
          waitMs,
          leaseMs: () => leaseMs,
          ...(signal === undefined ? {} : { signal }),
        })
      const poll = { request, reply }
      const runs = waitMs === 0 ? await fetch() : await longPolls.during(poll, fetch, holderOf(caller, body.worker_id))
      if (runs.length === 0) return { runs: [] }
      // A disconnect during the claim is detected one turn later. The runs are returned now instead of when their
      // leases expire.
      await nextTurn()
      if (reply.raw.destroyed) {
        await perform(returnRuns, { runs, how: 'released' })
        return { runs: [] }
      }
      const write = (some: readonly RunRow[]) => Promise.all(some.map((run) => claimedText(perform, run)))
      const texts = await perform(deliverRuns, { runs, write })
      return reply.type('application/json; charset=utf-8').send(`{"runs":[${texts.join(',')}]}`)
    },
  ),

  // A worker that shuts down cannot disconnect safely: runs in transit would be lost until their lease ends.
  route(
    'POST /v1/runs/claim/stop',
    {
      tag: 'Inbox',
      summary: 'End the waiting claims of a worker',
      does: 'work',
      description:
        'For a worker that shuts down: its waiting claims on this server return nothing, at once. Disconnecting ' +
        'instead may lose a run in transit until its lease ends.',
      body: { schema: StopRequest },
      answers: { '200': { description: 'The number of claims.', schema: StopReply } },
    },
    async ({ body, caller }, { longPolls }) => ({ stopped: longPolls.stop(holderOf(caller, body.worker_id)) }),
  ),

  route(
    'POST /v1/runs/:id/heartbeat',
    {
      tag: 'Inbox',
      summary: 'Renew a lease',
      does: renewLease,
      body: { schema: HeartbeatRequest },
      answers: { '200': { description: 'It lasts lease_seconds from now on.', schema: HeartbeatReply } },
      errors: ['not_found', 'conflict'],
    },
    async ({ params: { id }, body, perform }) => {
      const { worker_id: worker, epoch, lease_seconds: seconds } = body
      // If absent: the previous duration.
      const leaseMs = seconds == null ? null : Math.round(seconds * 1000)
      const run = await aboutRun('report', perform(renewLease, { id, worker, epoch, leaseMs }))
      return {
        status: 'leased' as const,
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
      does: settleRuns,
      description: REPORTS,
      body: { schema: CompleteRequest },
      answers: { '200': AS_IT_IS },
      errors: ['not_found', 'conflict'],
    },
    async (asked) => {
      const { result = null } = asked.body
      return runReply(await settle('complete', asked, { kind: 'succeeded', result: result as Json }))
    },
  ),

  route(
    'POST /v1/runs/:id/fail',
    {
      tag: 'Inbox',
      summary: 'Report a failure',
      does: settleRuns,
      description: REPORTS,
      body: { schema: FailRequest },
      answers: { '200': { description: 'Failed, or to be retried.', schema: FailReply } },
      errors: ['not_found', 'conflict'],
    },
    async (asked) => {
      const settled = await settle('fail', asked, failed(asked.body))
      const { retryDelayMs } = settled
      return { ...runReply(settled), retry_in_seconds: retryDelayMs === null ? null : retryDelayMs / 1000 }
    },
  ),

  route(
    'POST /v1/runs/:id/later',
    {
      tag: 'Inbox',
      summary: 'Continue a run at a later time',
      does: settleRuns,
      description:
        'Claimable again after delay_seconds, on the same attempt: this is not a failure, and its place under limits ' +
        `is free meanwhile. In a workflow that is ending it is cancelled. ${REPORTS}`,
      body: { schema: LaterRequest },
      answers: { '200': AS_IT_IS },
      errors: ['not_found', 'conflict'],
    },
    async (asked) => {
      const delayMs = Math.ceil(asked.body.delay_seconds * 1000)
      return runReply(await settle('later', asked, { kind: 'later', delayMs }))
    },
  ),

  route(
    'POST /v1/runs/:id/release',
    {
      tag: 'Inbox',
      summary: 'Return a run',
      does: settleRuns,
      description: `Claimable again at once; no attempt is spent. ${REPORTS}`,
      body: { schema: ReleaseRequest },
      answers: { '200': AS_IT_IS },
      errors: ['not_found', 'conflict'],
    },
    async (asked) => runReply(await settle('release', asked, { kind: 'released' })),
  ),
]

interface Reported {
  readonly params: { readonly id: string }
  readonly body: Hold & ReportExtras
  readonly caller: Caller
  readonly perform: Perform
}

async function settle(
  verb: string,
  { params, body, caller, perform }: Reported,
  outcome: LeaseOutcome,
): Promise<LeaseSettled> {
  const { worker_id: holder, epoch, set, notes, build } = body
  const report: LeaseReport = {
    runId: params.id,
    attempt: null,
    // The id under which a repeated report is recognised after its answer was lost.
    reportId: `${verb}:${epoch}:${holderOf(caller, holder)}`,
    holder,
    epoch,
    outcome,
    ...(set == null ? {} : { set: set as { readonly [name: string]: Json } }),
    ...(build == null ? {} : { build }),
    ...(notes == null ? {} : { notes: notes as readonly Json[] }),
  }
  const [settled] = await perform(settleRuns, { reports: [report] })
  if (settled === undefined || settled instanceof Error) throw reportProblem(settled)
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
    // It overrides a policy that would not retry; attempts are still limited.
    how: retryable === true ? 'retry' : 'policy',
  }
}

/**
 * The input of a handler: the run with all of its arguments, its fencing number, the program of its step, and the
 * results of the earlier steps of its workflow.
 */
async function claimedWire(perform: Perform, run: RunRow): Promise<ClaimedRun> {
  const { before, program } = needsInputs(run) ? await perform(runInputs, run) : NO_INPUTS
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
async function claimedText(perform: Perform, run: RunRow): Promise<unknown> {
  try {
    readStored(run.payload)
    return JSON.stringify(await claimedWire(perform, run))
  } catch (error) {
    if (isStoreAway(error)) throw error
    return error
  }
}

/** A value that cannot be stored is named as in the body. */
function reportProblem(error: PetrelError | undefined): unknown {
  if (error === undefined) return new Error('one report in, none out')
  const field = error.details['field']
  if (field === undefined || error.code === 'conflict') return runProblem(error, 'report')
  return new PetrelError(error.code, `${String(field)}: ${error.message}`, error.details)
}
