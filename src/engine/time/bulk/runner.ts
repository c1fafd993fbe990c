/**
 * Carries out bulk operations. Everything it knows is stored: any number of processes may work on the same operations, and
 * any of them may die.
 *
 *   due ──▶ select pages until everything is selected ──▶ take a portion of items in hand ──▶ perform each
 *    ▲                                                                                           │
 *    └──────────── next portion, when the rate admits it ◀───────────────────────────────────────┘
 *
 * One portion of each due operation follows the other, one operation of each tenant first. An item is settled by the
 * transaction that performs the action; an item in the hand of a process that died is free again after HOLD_MS. An operation
 * that cannot be handled is recorded as a fault and rests, and so is an item whose rows another transaction holds.
 */
import { PetrelError } from '../../../kernel/errors.ts'
import type { Logger } from '../../../kernel/logger.ts'
import { isStoreAway, StoreLockedError } from '../../../kernel/store-errors.ts'
import type { OperationItemRow, OperationRow } from '../../../model/bulk/rows.ts'
import { type ItemDeps, performItem } from '../../control/bulk-item.ts'
import {
  ItemClosed,
  type ItemResult,
  openItem,
  selectPage,
  settleItem,
  type Taken,
  takeItems,
} from '../../fold/bulk/operations.ts'
import type { Faults } from '../../transaction/faults.ts'
import { SharedTransactions } from '../../transaction/shared-transactions.ts'
import type { Transactor } from '../../transaction/transactor.ts'
import { selectionPage } from './selection.ts'

/** Operations that one look finds. */
const MOST_DUE = 100
/** Items that a process takes in hand together. */
const PORTION = 100
/** Items whose actions are in progress at the same time: they share transactions. */
const AT_ONCE = 32
const PAGES_AT_ONCE = 4
/** The next item of a paced operation is not waited for more closely than this. */
const AHEAD_MS = 20
/** What this process takes for the time of the store may be ahead by so much. */
const DRIFT_MS = 50
/** Operations are kept this long after they have ended. */
export const KEPT_MS = 30 * 86_400_000
const PRUNE_EVERY_MS = 60_000
const PRUNED = 1_000
const PLACE = 'bulk_operation'
const ITEM_PLACE = 'bulk_item'

export interface BulkDeps extends ItemDeps {
  readonly transactor: Transactor
  readonly faults: Faults
  readonly logger: Logger
  readonly probe: (point: string) => void
  /** Runs were asked to stop: their workers are to look. */
  readonly controlled: () => void
}

export class BulkRunner {
  readonly #deps: BulkDeps
  /** Actions on different items share transactions. */
  readonly #shared: SharedTransactions
  #started = false
  #closed = false
  #running: Promise<void> | null = null
  #timer: NodeJS.Timeout | null = null
  #wakeAt = Number.POSITIVE_INFINITY
  /** An operation should be due. */
  #expecting = false
  #prunedAt = Number.NEGATIVE_INFINITY

  constructor(deps: BulkDeps) {
    this.#deps = deps
    this.#shared = new SharedTransactions(deps.transactor)
  }

  /** From now on this process wakes by itself when an operation is due. */
  start(): void {
    this.#started = true
  }

  /** There is something to do at that time (store clock). */
  dueAt(at: number): void {
    if (!this.#started || this.#closed || at >= this.#wakeAt) return
    this.#wakeAt = at
    if (this.#timer !== null) clearTimeout(this.#timer)
    const delay = Math.min(Math.max(at - this.#deps.transactor.nowMs, 0), 60_000)
    this.#timer = setTimeout(() => {
      this.#wakeAt = Number.POSITIVE_INFINITY
      this.#expecting = true
      // The sweeper looks again within its poll interval.
      this.run().catch((error: unknown) =>
        this.#deps.logger.warn({}, `bulk operations, trying again: ${(error as Error).message}`),
      )
    }, delay).unref()
  }

  async close(): Promise<void> {
    this.#closed = true
    if (this.#timer !== null) clearTimeout(this.#timer)
    await this.#running?.catch(() => undefined)
  }

  /** Everything that is due, until nothing is. */
  run(): Promise<void> {
    this.#running ??= this.#rounds().finally(() => {
      this.#running = null
    })
    return this.#running
  }

  async #rounds(): Promise<void> {
    await this.#prune()
    const { store, faults, transactor } = this.#deps
    let looked = 0
    // A timer of this process may be early by the clock of the store.
    let worked = this.#expecting
    this.#expecting = false
    while (!this.#closed) {
      looked = transactor.nowMs
      const due = await store.bulk.due({ limit: MOST_DUE })
      const ready = due.filter(({ id }) => !faults.rests(PLACE, id))
      if (ready.length === 0) break
      worked = true
      for (const operation of ready) {
        if (this.#closed) return
        await this.#contained(operation)
      }
    }
    if (!worked) return
    // Those that were due before rest: the next pass of the sweeper tries them again.
    const next = await store.bulk.nextDueAt(looked - DRIFT_MS)
    if (next !== null) this.dueAt(Math.max(next, transactor.nowMs + AHEAD_MS))
  }

  async #contained(operation: OperationRow): Promise<void> {
    const { faults } = this.#deps
    try {
      await this.#portion(operation)
      faults.over(PLACE, operation.id)
    } catch (error) {
      if (isStoreAway(error)) throw error
      faults.note(PLACE, operation.id, error)
    }
  }

  async #portion(operation: OperationRow): Promise<void> {
    await this.#select(operation)
    const { items, last, operation: taken } = await this.#take(operation.id, PORTION)
    this.#deps.probe('bulk-taken')
    const waiting = [...items]
    const work = async (): Promise<void> => {
      for (let item = waiting.shift(); item !== undefined && !this.#closed; item = waiting.shift()) {
        await this.#perform(taken, item)
      }
    }
    const ended = await Promise.allSettled(Array.from({ length: AT_ONCE }, work))
    for (const one of ended) if (one.status === 'rejected') throw one.reason
    if (items.length > 0 && taken.action === 'cancel') this.#deps.controlled()
    // Perhaps it is complete now.
    if (items.length > 0 && last) await this.#take(operation.id, 0)
  }

  async #select(operation: OperationRow): Promise<void> {
    let row = operation
    for (let pages = 0; row.selecting && pages < PAGES_AT_ONCE && !this.#closed; pages++) {
      const { ids, next } = await selectionPage(this.#deps.store.read, row)
      this.#deps.probe('bulk-selecting')
      const page = { operationId: row.id, from: row.cursor, ids, next }
      const { value } = await this.#transact(row.id, (change) => selectPage(change, page))
      // Another process is at it.
      if (!value) return
      row = { ...row, cursor: next, selecting: next !== null }
    }
  }

  async #take(id: string, most: number): Promise<Taken> {
    return (await this.#transact(id, (change) => takeItems(change, id, most))).value
  }

  #transact<T>(id: string, fold: (change: Parameters<typeof takeItems>[0]) => T): Promise<{ readonly value: T }> {
    return this.#deps.transactor.run({ roots: [], wait: true, need: { bulk: [{ kind: 'operation', id }] }, fold })
  }

  async #perform(operation: OperationRow, item: OperationItemRow): Promise<void> {
    const { faults } = this.#deps
    try {
      this.#deps.probe('bulk-item')
      await performItem({ ...this.#deps, transactor: this.#shared }, operation, item)
    } catch (error) {
      if (error instanceof ItemClosed) return
      if (error instanceof StoreLockedError) return faults.note(ITEM_PLACE, item.itemId, error)
      if (isStoreAway(error)) throw error
      await this.#settle(item, resultOf(error))
      if (!(error instanceof PetrelError)) faults.note(ITEM_PLACE, item.itemId, error)
    }
  }

  /** The action was not performed. */
  async #settle(item: OperationItemRow, result: ItemResult): Promise<void> {
    const { operationId, itemId } = item
    const need = { bulk: [{ kind: 'items', operationId, ids: [itemId] }] } as const
    const fold = (change: Parameters<typeof settleItem>[0]): void => settleItem(change, openItem(change, item), result)
    try {
      await this.#shared.run({ roots: [], wait: true, need, fold })
    } catch (error) {
      if (!(error instanceof ItemClosed)) throw error
    }
  }

  async #prune(): Promise<void> {
    const here = performance.now()
    if (here - this.#prunedAt < PRUNE_EVERY_MS) return
    this.#prunedAt = here
    const { store, transactor } = this.#deps
    const cut = { endedBefore: Math.max(transactor.nowMs - KEPT_MS, 0), limit: PRUNED }
    while (!this.#closed && (await store.bulk.prune(cut)) >= PRUNED);
  }
}

const MOST_MESSAGE = 1_000

/** A refusal is the answer that the same request for this item alone would have got. */
function resultOf(error: unknown): ItemResult {
  const message = (error instanceof Error ? error.message : String(error)).slice(0, MOST_MESSAGE)
  if (error instanceof PetrelError) return { state: 'refused', code: error.code, message, newId: null }
  return { state: 'failed', code: 'engine_error', message, newId: null }
}
