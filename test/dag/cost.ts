/** Counts what a store is asked for: how often, how many rows it reads, how many it writes. */
import type { Delta, Loaded, Store, Transaction } from '../../src/store/store.ts'

export interface Cost {
  transactions: number
  /** Times that a transaction looked at what was loaded; more than one each: something was not foreseen. */
  looks: number
  rowsRead: number
  rowsWritten: number
  slotBytes: number
  netsRead: number
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
  return { transactions: 0, looks: 0, rowsRead: 0, rowsWritten: 0, slotBytes: 0, netsRead: 0, mostRuns: 0 }
}

function count(cost: Cost, loaded: Loaded, delta: Delta): void {
  const { runs, instances, slots, results, places, items, nets } = loaded
  for (const { size } of [runs, instances, slots, results, places, items]) cost.rowsRead += size
  cost.netsRead += nets.size
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
export function each(cost: Cost, n: number): Pick<Cost, 'transactions' | 'looks' | 'rowsRead' | 'rowsWritten'> {
  const { transactions, looks, rowsRead, rowsWritten } = cost
  return { transactions: transactions / n, looks: looks / n, rowsRead: rowsRead / n, rowsWritten: rowsWritten / n }
}
