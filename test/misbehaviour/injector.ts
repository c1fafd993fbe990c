/**
 * A store that throws on request: in any transaction that would write one of the poisoned rows, and in the operations
 * named as broken. It throws plain errors, as a bug in the engine's own code would.
 */
import type { Delta } from '../../src/model/transaction.ts'
import type { Store, Transaction } from '../../src/store/store.ts'

type Operation = (...args: unknown[]) => unknown

export class Injector {
  /** Ids of runs, instances and gates, and names of schedules. */
  readonly poisoned = new Set<string>()
  /** Results of runs, as JSON text. */
  readonly poisonedResults = new Set<string | null>()
  /** Such as `sweep.overdueRuns`. */
  readonly broken = new Set<string>()
  /** Transactions that reached their decision. */
  decisions = 0
  readonly calls = new Map<string, number>()

  wrap(store: Store): Store {
    return this.#proxy(store, '')
  }

  calledTimes(operation: string): number {
    return this.calls.get(operation) ?? 0
  }

  #proxy<T extends object>(target: T, path: string): T {
    return new Proxy(target, {
      get: (inner, name) => {
        const value = inner[name as keyof T] as unknown
        const operation = `${path}${String(name)}`
        if (operation === 'transact') return (transaction: Transaction<unknown>) => this.#transact(inner, transaction)
        if (typeof value === 'object' && value !== null) return this.#proxy(value, `${operation}.`)
        if (typeof value !== 'function') return value
        return (...args: unknown[]) => {
          this.calls.set(operation, this.calledTimes(operation) + 1)
          if (this.broken.has(operation)) return Promise.reject(new Error(`injected into ${operation}`))
          return (value as Operation).apply(inner, args)
        }
      },
    })
  }

  #transact(store: object, transaction: Transaction<unknown>): Promise<unknown> {
    return (store as Store).transact({
      ...transaction,
      decide: (loaded) => {
        const decision = transaction.decide(loaded)
        if (!('delta' in decision)) return decision
        this.decisions++
        if (decision.delta.runs?.update?.some(({ result }) => this.poisonedResults.has(result))) {
          throw new RangeError('injected into a result')
        }
        for (const id of written(decision.delta)) if (this.poisoned.has(id)) throw new TypeError(`injected into ${id}`)
        return decision
      },
    })
  }
}

function written({ runs, instances, gates, schedules }: Delta): readonly string[] {
  const rows: readonly (readonly { readonly id: string }[] | undefined)[] = [
    runs?.update,
    runs?.insert,
    instances?.update,
    instances?.insert,
    gates?.update,
  ]
  const ids = rows.flatMap((some) => (some ?? []).map(({ id }) => id))
  return [...ids, ...(schedules?.put ?? []).map(({ name }) => name)]
}
