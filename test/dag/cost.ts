/** Counts the calls of a store, the rows it reads, and the rows it writes. */
import { expect } from 'vitest'
import type { Delta, Loaded } from '../../src/model/transaction.ts'
import type { Store, Transaction } from '../../src/store/store.ts'

export interface Cost {
  transactions: number
  /** How often a transaction was folded; more than once means that a row was not foreseen. */
  looks: number
  rowsRead: number
  rowsWritten: number
  slotBytes: number
  netsRead: number
  /** Results read individually; for a list, those of all its items. */
  gathered: number
  /** Runs created by the largest transaction. */
  mostRuns: number
}

/** Counts from now on; `reset` starts from zero. */
export function countCost(store: Store): { readonly cost: Cost; reset(): void } {
  const cost: Cost = newCost()
  const transact = store.transact.bind(store) as Store['transact']
  store.transact = <T>(transaction: Transaction<T>): Promise<T> => {
    cost.transactions++
    return transact({
      ...transaction,
      decide: (loaded) => {
        cost.looks++
        const decision = transaction.decide(loaded)
        if ('delta' in decision) count(cost, loaded, decision.delta)
        return decision
      },
    })
  }
  return { cost, reset: () => void Object.assign(cost, newCost()) }
}

function newCost(): Cost {
  return { transactions: 0, looks: 0, rowsRead: 0, rowsWritten: 0, slotBytes: 0, netsRead: 0, gathered: 0, mostRuns: 0 }
}

function count(cost: Cost, loaded: Loaded, delta: Delta): void {
  const { runs, instances, slots, results, places, items, nets } = loaded
  for (const { size } of [runs, instances, slots, results, places, items]) cost.rowsRead += size
  cost.netsRead += nets.size
  cost.gathered += loaded.resultsAt.size
  const written = [
    delta.runs?.insert,
    delta.runs?.update,
    delta.instances?.insert,
    delta.instances?.update,
    delta.slots?.put,
    delta.slots?.remove,
    delta.events,
  ]
  for (const rows of written) cost.rowsWritten += rows?.length ?? 0
  for (const { value } of delta.slots?.put ?? []) cost.slotBytes += value.length
  cost.mostRuns = Math.max(cost.mostRuns, delta.runs?.insert?.length ?? 0)
}

/** The cost per item, for n items. */
function each(cost: Cost, n: number): Pick<Cost, 'transactions' | 'looks' | 'rowsRead' | 'rowsWritten'> {
  const { transactions, looks, rowsRead, rowsWritten } = cost
  return { transactions: transactions / n, looks: looks / n, rowsRead: rowsRead / n, rowsWritten: rowsWritten / n }
}

/**
 * No component may grow with the size of the workflow. The tenth allows for the first and the last step; `ahead`: rows
 * per step that are prefetched for later steps, of which a small workflow has fewer.
 */
export function expectAsSmall(large: Cost, largeSteps: number, small: Cost, smallSteps: number, ahead = 0): void {
  const [of, than] = [each(large, largeSteps), each(small, smallSteps)]
  for (const part of ['transactions', 'looks', 'rowsRead', 'rowsWritten'] as const) {
    const most = than[part] * 1.1 + 0.1 + (part === 'rowsRead' ? ahead : 0)
    const message = `${part} per step, ${JSON.stringify(of)} against ${JSON.stringify(than)}`
    expect(of[part], message).toBeLessThanOrEqual(most)
  }
}
