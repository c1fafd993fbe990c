/** Workers: list, get, and direct them to take no more work or to stop. */
import type { EngineApi } from '../../engine/api.ts'
import { PetrelError } from '../../kernel/errors.ts'
import type { RunRow, WorkerRow } from '../../model/rows.ts'
import { actorOf, holderOf, maySee } from '../caller.ts'
import { operation, type Use } from '../operation.ts'
import { pageOf } from '../page.ts'

/** With more active runs than this, they are not read. */
const MOST_ACTIVE = 2_000

const OPERATORS = { scope: 'admin', shared: true } as const

interface ById {
  readonly id: string
}

export interface Crew {
  /** By id. */
  readonly workers: readonly WorkerRow[]
  /** The runs held by all of them; null: too many to read. */
  readonly active: readonly RunRow[] | null
}

export const listWorkers = operation({ scope: 'read', shared: true }, async (use, _: null): Promise<Crew> => {
  const [workers, active] = await Promise.all([visible(use), activeRuns(use.engine)])
  return { workers, active }
})

export interface WorkerListed {
  readonly worker: WorkerRow
  /** Runs that it holds; null: too many are active to count. */
  readonly active: number | null
}

/** By id. */
export const pageOfWorkers = operation(
  { scope: 'read', shared: true },
  async (use, { limit, after }: { readonly limit: number; readonly after: string | null }) => {
    const { workers, active } = await listWorkers.run(use, null)
    return pageOf<WorkerListed>(limit, async (most) =>
      workers
        .filter(({ id }) => after === null || id > after)
        .slice(0, most)
        .map((worker) => ({ worker, active: active === null ? null : heldBy(worker, active).length })),
    )
  },
)

export interface WorkerSeen {
  readonly worker: WorkerRow
  /** null: too many active runs in total to read them. */
  readonly runs: readonly RunRow[] | null
  readonly now: number
}

/** With the runs it holds. */
export const inspectWorker = operation(
  { scope: 'read', shared: true },
  async (use, { id }: ById): Promise<WorkerSeen> => {
    const worker = await find(use, id)
    const [active, now] = await Promise.all([activeRuns(use.engine), use.engine.queries.now()])
    return { worker, runs: active === null ? null : heldBy(worker, active), now }
  },
)

export const showWorker = operation({ scope: 'read' }, (use, { id }: ById): Promise<WorkerRow> => find(use, id))

/** quiet: it takes no more work. terminate: it stops. Neither can be reverted. */
export const directWorker = operation(
  OPERATORS,
  async (use, { id: name, state }: ById & { readonly state: 'quiet' | 'terminate' }): Promise<WorkerRow> => {
    const { id } = await find(use, name)
    return use.engine.directWorker({ id, state, actor: actorOf(use.caller) })
  },
)

/**
 * A worker with its own leases ends at once, together with its leases; one of a Petrel process finishes the runs it
 * holds.
 */
export const removeWorker = operation(OPERATORS, async (use, { id: name }: ById): Promise<void> => {
  const { id, state } = await find(use, name)
  if (state === 'dead') return
  await use.engine.directWorker({ id, state: 'terminate', actor: actorOf(use.caller), now: true })
})

export function heldBy(worker: WorkerRow, runs: readonly RunRow[]): readonly RunRow[] {
  return runs.filter((run) =>
    worker.holds === 'session' ? run.sessionId === worker.id : run.sessionId === null && run.leasedBy === worker.id,
  )
}

/** Without their arguments and results. null: too many to read. */
export async function activeRuns({ queries }: EngineApi): Promise<readonly RunRow[] | null> {
  const filter = { status: ['leased'] as const, queue: null, type: null, deadLetter: null, tenant: null, before: null }
  const runs = await queries.listRuns({ ...filter, limit: MOST_ACTIVE + 1, maxBytes: 0 })
  return runs.length > MOST_ACTIVE ? null : runs
}

async function visible({ engine, caller }: Use): Promise<readonly WorkerRow[]> {
  const rows = await engine.queries.workers()
  return rows.filter((row) => maySee(caller, row)).sort((a, b) => (a.id < b.id ? -1 : 1))
}

async function find(use: Use, id: string): Promise<WorkerRow> {
  const stored = use.caller.tenant === null ? id : holderOf(use.caller, id)
  const row = (await visible(use)).find((worker) => worker.id === stored || worker.id === id)
  if (row !== undefined) return row
  throw new PetrelError('not_found', `there is no worker ${id}`, {
    kind: 'worker',
    id,
    hint: 'Workers over HTTP are known from their first heartbeat on.',
  })
}
