/** Enqueues runs, one or many: all or none, within the bounds of their queues. */
import type { EngineApi } from '../../engine/api.ts'
import { inputError, PetrelError } from '../../kernel/errors.ts'
import type { Enqueued, EnqueueParams } from '../../model/enqueue.ts'
import { actorOf, type Caller } from '../caller.ts'
import { operation } from '../operation.ts'
import type { QueuePressure } from '../queues/bounds.ts'
import { refuseQueueLimits } from '../queues/limits.ts'

export interface RunsEnqueued {
  /** In the order of the runs. */
  readonly made: readonly Enqueued[]
  /** A queue that is nearly full. */
  readonly pressure: QueuePressure | null
}

export interface EnqueueAsked {
  /** In the caller's tenant, if it has one, whatever the runs contain. */
  readonly runs: readonly EnqueueParams[]
  /** true: also reads rows that are not in memory; those that are null then have been removed since. */
  readonly rows?: boolean
}

export const enqueueRuns = operation(
  { scope: 'enqueue' },
  async ({ engine, bounds, caller }, { runs, rows = false }: EnqueueAsked): Promise<RunsEnqueued> => {
    const own = runs.map((run) => inTenant(run, caller))
    for (const { limits } of own) refuseQueueLimits(caller, limits)
    const { done, pressure } = await bounds.admit(perQueue(own), () => engine.enqueue(own))
    return { made: rows ? await withRows(engine, done) : done, pressure }
  },
)

export interface RunSubmitted {
  readonly made: Enqueued
  readonly pressure: QueuePressure | null
}

/** One run of the inbox, written in the name of the caller. */
export const submitRun = operation({ scope: 'enqueue' }, async (use, params: EnqueueParams): Promise<RunSubmitted> => {
  const actor = actorOf(use.caller)
  const run = { ...params, inbox: true, ...(actor === null ? {} : { actor }) }
  try {
    const { made, pressure } = await enqueueRuns.run(use, { runs: [run] })
    return { made: made[0] as Enqueued, pressure }
  } catch (error) {
    throw ofTheOnly(error)
  }
})

const PLACE = 'enqueue[0].'

/** The engine's path contains the index in a list of one. */
export function ofTheOnly(error: unknown): unknown {
  if (!(error instanceof PetrelError)) return error
  const { path, problem, ...details } = error.details
  if (problem === undefined || path?.startsWith(PLACE) !== true) return error
  const field = path.slice(PLACE.length)
  return inputError(error.code, field, problem, { ...details, field })
}

function inTenant(run: EnqueueParams, { tenant }: Caller): EnqueueParams {
  return tenant === null || run.tenant === tenant ? run : { ...run, tenant }
}

function perQueue(runs: readonly EnqueueParams[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const { queue = 'default' } of runs) counts.set(queue, (counts.get(queue) ?? 0) + 1)
  return counts
}

async function withRows(engine: EngineApi, made: readonly Enqueued[]): Promise<readonly Enqueued[]> {
  const missing = made.filter((one) => one.run === null).map((one) => one.id)
  if (missing.length === 0) return made
  const rows = new Map((await engine.queries.runs({ ids: missing })).map((run) => [run.id, run]))
  return made.map((one) => (one.run === null ? { ...one, run: rows.get(one.id) ?? null } : one))
}
