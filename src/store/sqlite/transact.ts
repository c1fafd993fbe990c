/**
 * One state change: load, decide (repeatedly, until it has what it needs), write, commit; all within one turn of the
 * writer.
 */
import { StoreError } from '../../kernel/store-errors.ts'
import type { Delta } from '../../model/transaction.ts'
import type { Transaction } from '../store.ts'
import { recentClock } from './clock.ts'
import type { Connection } from './connection.ts'
import { Loading } from './load/loading.ts'
import type { DeltaWriter } from './write/apply.ts'

/** A decision that needs more rounds than this would never end. */
const MOST_ROUNDS = 1_000

export function transact<T>(connection: Connection, writer: DeltaWriter, transaction: Transaction<T>): Promise<T> {
  let written: Delta = {}
  const work = (): T => {
    connection.recent.check(connection)
    const loaded = new Loading(connection, recentClock(connection))
    loaded.lock(transaction.roots)
    loaded.load(transaction.need)
    for (let round = 0; round < MOST_ROUNDS; round++) {
      const decision = transaction.decide(loaded)
      if ('delta' in decision) {
        writer.apply(decision.delta, loaded)
        written = decision.delta
        return decision.result
      }
      loaded.load(decision.need)
    }
    throw new StoreError('undecided', `a decision asked ${MOST_ROUNDS} times for more`)
  }
  return connection.write(work, () => connection.recent.keep(written))
}
