/** The subject of the suite, and the two operations every test consists of: put these rows, load those. */

import type { Delta, Loaded, Need } from '../../src/model/transaction.ts'
import type { StoreOptions } from '../../src/store/open.ts'
import type { Store } from '../../src/store/store.ts'
import { T0 } from './rows.ts'

export interface Subject {
  readonly store: Store
  /** The same database as another process would open it. Closed with the subject. */
  second(options?: StoreOptions): Promise<Store>
  /** Plain SQL bypassing the store, as a foreign client sends it; tables without a schema prefix. */
  sql(text: string): Promise<readonly Readonly<Record<string, unknown>>[]>
  close(): Promise<void>
}

/** An empty, migrated database whose clock shows T0. */
export type OpenSubject = () => Promise<Subject>

export async function put(store: Store, delta: Delta): Promise<void> {
  await store.transact({ roots: [], wait: true, need: {}, decide: () => ({ delta, result: null }) })
}

export async function load(store: Store, need: Need, roots: readonly string[] = []): Promise<Loaded> {
  return store.transact({ roots, wait: true, need, decide: (loaded) => ({ delta: {}, result: loaded }) })
}

/** Moves the store's clock to T0 + ms. It continues from there, so tests stay seconds away from due times. */
export async function setClock(store: Store, ms: number): Promise<void> {
  await store.moveClock(T0 + ms - Date.now())
}

export function ids(rows: readonly { readonly id: string }[]): string[] {
  return rows.map((row) => row.id)
}
