/** Counts what a store is asked for: how often, how many rows it reads, how many it writes. */
import { expect } from 'vitest'
import type { Delta, Loaded } from '../../src/model/transaction.ts'
import type { Store, Transaction } from '../../src/store/store.ts'

export interface Cost {
  transactions: number
  /** Times that a transaction looked at what was loaded; more than one each: something was not foreseen. */
  looks: number
  rowsRead: number
  rowsWritten: number
  slotBytes: number
  netsRead: number
  /** Results of single firings: of a list, those of all its items. */
  gathered: number
  /** Runs made by the largest transaction. */
  mostRuns: number
}

/** Counts from now on; `reset` begins anew. */
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

/** What one of n things cost. */
function each(cost: Cost, n: number): Pick<Cost, 'transactions' | 'looks' | 'rowsRead' | 'rowsWritten'> {
  const { transactions, looks, rowsRead, rowsWritten } = cost
  return { transactions: transactions / n, looks: looks / n, rowsRead: rowsRead / n, rowsWritten: rowsWritten / n }
}

/**
 * No part of it may grow with the size of the workflow. The tenth leaves room for the first and the last step; `ahead`: rows
 * per step that are read for steps to come, of which a small one has fewer.
 */
export function expectAsSmall(large: Cost, largeSteps: number, small: Cost, smallSteps: number, ahead = 0): void {
  const [of, than] = [each(large, largeSteps), each(small, smallSteps)]
  for (const part of ['transactions', 'looks', 'rowsRead', 'rowsWritten'] as const) {
    const most = than[part] * 1.1 + 0.1 + (part === 'rowsRead' ? ahead : 0)
    const told = `${part} per step, ${JSON.stringify(of)} against ${JSON.stringify(than)}`
    expect(of[part], told).toBeLessThanOrEqual(most)
  }
}
