/**
 * Workers over HTTP: claim with long poll, heartbeat, and the four reports that end a lease. A report names the worker
 * and the epoch it was given with the run; under any other it is refused and changes nothing. The same report sent twice
 * is answered twice.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import type { EngineApi } from '../../engine/api.ts'
import { bodyObject } from '../../http/body.ts'
import { holderOf } from '../../http/caller.ts'
import { delivered, written } from '../../http/delivered.ts'
import type { LongPolls } from '../../http/long-polls.ts'
import { PetrelError } from '../../kernel/errors.ts'
import { readStored } from '../../kernel/json-limits.ts'
import { unscopedName } from '../../kernel/scoped-names.ts'
import { isStoreAway } from '../../kernel/store-errors.ts'
import { parseTypeFilter, TypeFilterError } from '../../kernel/type-filters.ts'
import type { LeaseOutcome, LeaseReport, LeaseSettled } from '../../model/leases.ts'
import { inputPlace } from '../../model/retried-runs.ts'
import type { RunRow } from '../../model/rows.ts'
import type { Failure } from '../../net/marking.ts'
import type { Json } from '../../net/net.ts'
import { kindOf, type Part } from '../../notations/source/reader.ts'
import { inboxRunWire } from '../../wire/inbox-run.ts'
import { time, type Wire } from '../../wire/value.ts'
import { LONGEST_DELAY_MS } from '../../worker/later.ts'
import { needName, readBody, readEntries, readName, readNotes, readQueue, readRuntime } from './fields.ts'
import { conflict, findRun, knownId, runProblem } from './run-problem.ts'

const LEASE_SECONDS = { least: 1, most: 86_400, fallback: 30 }
const MOST_CLAIMED = 100
const LONGEST_WAIT_SECONDS = 30
const MOST_NAMES = 100

const CLAIMED = ['worker_id', 'types', 'queues', 'runtime', 'lease_seconds', 'limit', 'wait_seconds']
const HELD = ['worker_id', 'epoch']
const SAID = ['set', 'notes']

type ById = { Params: { readonly id: string } }

export interface ClaimContext {
  readonly engine: EngineApi
  readonly longPolls: LongPolls
}

export function claimRoutes(app: FastifyInstance, { engine, longPolls }: ClaimContext): void {
  app.post('/v1/runs/claim', async (request, reply) => {
    const { leaseMs, ...read } = readBody(bodyObject(request, { empty: 'refused' }), CLAIMED, 'a claim', readClaim)
    const asked = { ...read, holder: holderOf(request.caller, read.holder) }
    const fetch = (signal?: AbortSignal): Promise<readonly RunRow[]> =>
      engine.leases.fetch({
        ...asked,
        tenant: request.caller.tenant,
        leaseMs: () => leaseMs,
        ...(signal === undefined ? {} : { signal }),
      })
    const runs = asked.waitMs === 0 ? await fetch() : await longPolls.during({ request, reply }, fetch, asked.holder)
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
  })

  // A worker that goes down cannot hang up safely: what is just being answered to it would be lost until its lease ends.
  app.post('/v1/runs/claim/stop', async (request) => {
    const body = bodyObject(request, { empty: 'refused' })
    const holder = readBody(body, ['worker_id'], 'a stop', (part) => readWorker(part.get('worker_id')))
    return { stopped: longPolls.stop(holderOf(request.caller, holder)) }
  })

  app.post<ById>('/v1/runs/:id/heartbeat', async (request) => {
    const body = bodyObject(request, { empty: 'refused' })
    const asked = readBody(body, [...HELD, 'lease_seconds'], 'a heartbeat', (part) => ({
      ...readHold(part),
      // Left out: as long as before.
      leaseMs: readLease(part),
    }))
    const id = await knownId(engine, request.params.id, request.caller)
    const { epoch, leaseMs } = asked
    const holder = holderOf(request.caller, asked.holder)
    const renewed = await engine.leases.extend({ holder, runIds: [id], epochs: [epoch], leaseMs })
    const run = await findRun(engine, id, request.caller)
    if (renewed.length === 0 || run.status !== 'leased' || run.epoch !== epoch) throw lost(run, holder, epoch)
    return {
      status: run.status,
      lease_until: time(run.leaseUntil),
      cancel_requested: run.cancelRequestedAt !== null,
    }
  })

  report('complete', ['result', ...SAID], (part) => ({
    kind: 'succeeded',
    result: (part.get('result').value ?? null) as Json,
  }))
  report('fail', ['error', 'retryable', ...SAID], readFailure, ({ retryDelayMs }) => ({
    retry_in_seconds: retryDelayMs === null ? null : retryDelayMs / 1000,
  }))
  report('later', ['delay_seconds', ...SAID], (part) => ({ kind: 'later', delayMs: readDelay(part) }))
  report('release', [], () => ({ kind: 'released' }))

  function report(
    name: 'complete' | 'fail' | 'later' | 'release',
    keys: readonly string[],
    outcomeOf: (part: Part) => LeaseOutcome,
    more: (settled: LeaseSettled) => Wire = () => ({}),
  ): void {
    app.post<ById>(`/v1/runs/:id/${name}`, async (request) => {
      const body = bodyObject(request, { empty: 'refused' })
      const asked = readBody(body, [...HELD, ...keys], `a ${name}`, (part) => ({
        ...readHold(part),
        outcome: outcomeOf(part),
        ...readSaid(part),
      }))
      const id = await knownId(engine, request.params.id, request.caller)
      // Sent again after its answer was lost, it is known by this name.
      const holder = holderOf(request.caller, asked.holder)
      const reportId = `${name}:${asked.epoch}:${holder}`
      const [settled] = await engine.leases.settle([{ runId: id, attempt: null, reportId, ...asked, holder }])
      if (settled === undefined || settled instanceof Error) throw reportProblem(settled, id)
      return { run: inboxRunWire(settled.run), ...more(settled) }
    })
  }
}

function readClaim(part: Part) {
  const limit = part.get('limit').whole('limit', { least: 1, most: MOST_CLAIMED })
  const wait = part.get('wait_seconds').number('wait_seconds', 0, LONGEST_WAIT_SECONDS)
  const queues = part.get('queues')
  return {
    holder: readWorker(part.get('worker_id')),
    types: readTypes(part.get('types')),
    queues: queues.given ? readQueues(queues) : null,
    runtime: readRuntime(part.get('runtime')),
    leaseMs: readLease(part) ?? LEASE_SECONDS.fallback * 1000,
    limit: limit ?? 1,
    waitMs: Math.round((wait ?? 0) * 1000),
  }
}

function readTypes(part: Part): readonly string[] {
  return readList(part, 'types', 'a name such as billing.invoice.v1, or a prefix such as billing.%', (item) => {
    try {
      parseTypeFilter(item.value as string)
      return item.value as string
    } catch (error) {
      if (!(error instanceof TypeFilterError)) throw error
      item.wrong(error.message, 'a name such as billing.invoice.v1, or a prefix such as billing.%')
      return null
    }
  })
}

function readQueues(part: Part): readonly string[] {
  return readList(part, 'queues', 'such as ["default"]; the first is emptied first; left out: all of them', readQueue)
}

function readList(part: Part, what: string, hint: string, read: (item: Part) => string | null): readonly string[] {
  const items = part.items(what)
  if (items.length > MOST_NAMES) {
    part.wrong(`${what} is a list of 1 to ${MOST_NAMES}, this is ${items.length} of them`, hint)
    return []
  }
  if (items.length === 0 && (!part.given || Array.isArray(part.value))) part.wrong(`${what} names at least one`, hint)
  return items.flatMap((item) => {
    if (typeof item.value === 'string') return read(item) ?? []
    item.wrong(`${what} is a list of texts, this is ${kindOf(item.value)}`, hint)
    return []
  })
}

function readWorker(part: Part): string {
  return needName(part, 'worker_id', 'any name the worker keeps for its life')
}

function readLease(part: Part): number | null {
  const seconds = part.get('lease_seconds').number('lease_seconds', LEASE_SECONDS.least, LEASE_SECONDS.most)
  return seconds === null ? null : Math.round(seconds * 1000)
}

function readHold(part: Part): { readonly holder: string; readonly epoch: number } {
  const epoch = part.get('epoch')
  if (!epoch.given) epoch.wrong('epoch is missing', 'the number that came with the claimed run')
  return {
    holder: readWorker(part.get('worker_id')),
    epoch: epoch.whole('epoch', { least: 0, most: 2 ** 31 - 1 }) ?? -1,
  }
}

function readSaid(part: Part): Pick<LeaseReport, 'set' | 'notes'> {
  const set = readEntries(part.get('set'))
  const notes = readNotes(part.get('notes'))
  return { ...(set !== null && { set }), ...(notes !== null && { notes }) }
}

function readDelay(part: Part): number {
  const delay = part.get('delay_seconds')
  if (!delay.given) delay.wrong('delay_seconds is missing', 'how long it is to wait, such as 60; 0: not at all')
  return Math.ceil((delay.number('delay_seconds', 0, LONGEST_DELAY_MS / 1000) ?? 0) * 1000)
}

/** `{ error: { message, code?, category?, details? }, retryable? }` */
function readFailure(part: Part): LeaseOutcome {
  const retryable = part.get('retryable').flag('retryable')
  const error = readError(part.get('error'))
  return {
    kind: 'failed',
    error: retryable === null ? error : { ...error, retryable },
    // Its word counts more than a policy that would not; attempts still run out.
    how: retryable === true ? 'retry' : 'policy',
  }
}

function readError(part: Part): Failure {
  const example = '{ "message": "what went wrong", "code": "card_declined" }'
  if (!part.given) part.wrong('error is missing', example)
  else part.hasOnly(['message', 'code', 'category', 'details'], 'an error')
  const message = part.get('message')
  if (typeof message.value !== 'string' && part.isObject) {
    message.wrong(message.given ? `message is a text, this is ${kindOf(message.value)}` : 'message is missing', example)
  }
  const details = part.get('details')
  const delay = details.get('retry_delay_ms')
  if (delay.given) delay.whole('retry_delay_ms', { least: 0, most: LONGEST_DELAY_MS })
  const category = readName(part.get('category'), 'category')
  return {
    code: readName(part.get('code'), 'code') ?? 'handler_error',
    message: typeof message.value === 'string' ? message.value : '',
    ...(category === null ? {} : { category }),
    ...(details.given ? { details: details.value as Json } : {}),
  }
}

/**
 * What its handler needs: the run with all of its arguments, its fencing number, what its step says is to be done, and
 * the results of what came before it in its workflow.
 */
async function claimedWire(engine: EngineApi, run: RunRow): Promise<Wire> {
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
