import { PetrelError } from '../../kernel/errors.ts'
import type { Store } from '../../store/store.ts'

/** The caller's own open Postgres transaction: work that is enqueued in it is committed or rolled back with it. */
export interface CallerTransaction {
  readonly client: { query(...args: never[]): unknown }
}

/** Undefined: the engine uses a transaction of its own. */
export function transactIn(store: Store, caller: CallerTransaction | undefined): Store['transact'] | undefined {
  if (caller === undefined) return undefined
  const postgres = store as Store & { transactOn?: (client: unknown, params: unknown) => Promise<unknown> }
  if (postgres.transactOn === undefined) {
    throw new PetrelError('invalid_request', 'a caller transaction needs a Postgres store; this one is embedded')
  }
  return ((params: unknown) => postgres.transactOn?.(caller.client, params)) as Store['transact']
}
