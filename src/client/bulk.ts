/** Bulk operations in a program. */
import type { EngineApi } from '../engine/api.ts'
import { missing, PetrelError } from '../kernel/errors.ts'
import { sleep } from '../kernel/sleep.ts'
import type { Action, ItemState, Operation, OperationItemRow, OperationState, Target } from '../model/bulk/rows.ts'
import type { Operation as UseCase } from '../operations/operation.ts'
import type { By } from './queues.ts'

export interface BulkSearch {
  /** On instances: cancel, roll_back, retry, pause, resume, delete. On runs: cancel, redrive, delete, dismiss. */
  readonly action: Action
  /** Default `instances`. */
  readonly target?: Target
  /** `state:failed name:order*`; empty: everything. */
  readonly query: string
  /** Only what belongs to this tenant. */
  readonly tenant?: string
}

export interface BulkOrder extends BulkSearch, By {
  /** Default: no limit. */
  readonly ratePerMinute?: number
  readonly reason?: string
  /** Of a pause: what happens to times meanwhile. Default `stop`. */
  readonly timeouts?: 'stop' | 'run'
  /** Needed by an empty query. */
  readonly confirm?: 'everything'
}

export interface BulkPreview {
  readonly count: number
  /** There are more than were counted. */
  readonly more: boolean
  /** The ids of the newest five. */
  readonly examples: readonly string[]
  /** Why some of the newest would be refused. */
  readonly refusals: readonly { readonly reason: string; readonly count: number }[]
}

const LOOK_MS = 100

/** Performs a use case in the name of this subject and tenant. */
type PerformAs = <P, R>(
  who: { readonly subject: string | null; readonly tenant: string | null },
  useCase: UseCase<P, R>,
  params: P,
) => Promise<R>

/** One action on everything that a search finds, item by item, each exactly once. */
export class BulkOperations {
  readonly #engine: EngineApi
  readonly #perform: PerformAs

  constructor(engine: EngineApi, perform: PerformAs) {
    this.#engine = engine
    this.#perform = perform
  }

  /** What an order would change. Changes nothing. */
  async preview({ action, target = 'instances', query, tenant }: BulkSearch): Promise<BulkPreview> {
    const { previewBulkOperation } = await import('../operations/bulk/orders.ts')
    const who = { subject: null, tenant: tenant ?? null }
    const found = await this.#perform(who, previewBulkOperation, { action, target, query })
    const { count, more, instances, runs, refusals } = found
    return { count, more, examples: [...instances, ...runs].map(({ id }) => id), refusals }
  }

  /** Stores the order; every process that has this store open carries it out. */
  async order(asked: BulkOrder): Promise<Operation> {
    const { orderBulkOperation } = await import('../operations/bulk/orders.ts')
    const { action, target = 'instances', query, tenant, actor, ratePerMinute, reason, timeouts, confirm } = asked
    const who = { subject: actor ?? null, tenant: tenant ?? null }
    const given = {
      rate: ratePerMinute ?? null,
      reason: reason ?? null,
      timeouts: timeouts ?? null,
      confirm: confirm ?? null,
    }
    return this.#perform(who, orderBulkOperation, { action, target, query, ...given })
  }

  /** Newest first; `before` takes the last id of the page before. */
  list(
    filter: { readonly states?: readonly OperationState[]; readonly limit?: number; readonly before?: string } = {},
  ): Promise<readonly Operation[]> {
    const { states = null, limit = 100, before = null } = filter
    return this.#engine.bulk.list({ tenant: null, states, limit, before })
  }

  async get(id: string): Promise<Operation> {
    const found = await this.#engine.bulk.get(id)
    if (found === null) throw missing('bulk operation', id)
    return found
  }

  /** By id, newest first; `before` takes the last id of the page before. */
  items(
    id: string,
    filter: { readonly state?: ItemState; readonly limit?: number; readonly before?: string } = {},
  ): Promise<readonly OperationItemRow[]> {
    const { state = null, limit = 100, before = null } = filter
    return this.#engine.bulk.items({ operationId: id, state, limit, before })
  }

  /** Actions that are being performed end; no further one begins. */
  stop(id: string, by: By = {}): Promise<Operation> {
    return this.#engine.bulk.change({ id, state: 'stopped', actor: by.actor ?? null })
  }

  resume(id: string, by: By = {}): Promise<Operation> {
    return this.#engine.bulk.change({ id, state: 'running', actor: by.actor ?? null })
  }

  /** null: no limit. */
  async setRate(id: string, perMinute: number | null, by: By = {}): Promise<Operation> {
    const { checkRate } = await import('../operations/bulk/orders.ts')
    checkRate(perMinute)
    return this.#engine.bulk.change({ id, rate: perMinute, actor: by.actor ?? null })
  }

  /** Resolves when it is completed or stopped. */
  async ended(id: string, { signal }: { readonly signal?: AbortSignal } = {}): Promise<Operation> {
    for (;;) {
      const found = await this.get(id)
      if (found.state !== 'running') return found
      if (signal?.aborted === true) throw new PetrelError('unavailable', 'the wait was aborted')
      await sleep(LOOK_MS, signal)
    }
  }
}
