// @ts-check
/**
 * A fresh database for one repetition, and what the benchmark needs of it beside Petrel.
 *
 * @typedef {{ rows: number, walBytes: number }} Written
 * @typedef {{ commit(): Promise<void>, close(): Promise<void> }} Committer
 * @typedef {{
 *   prepare(): Promise<void>,
 *   begin(rows: import('../bare/rows.mjs').Begin): Promise<void>,
 *   advance(rows: import('../bare/rows.mjs').Advance): Promise<void>,
 *   close(): Promise<void>,
 * }} BareWriter
 * @typedef {{
 *   kind: 'sqlite' | 'postgres',
 *   url: string,
 *   settleConnections: number,
 *   tap(): Promise<void>,
 *   beginCounting(): Promise<void>,
 *   endCounting(): Promise<void>,
 *   counted(): Promise<Written>,
 *   committer(): Promise<Committer>,
 *   bareWriter(): Promise<BareWriter>,
 *   remove(): Promise<void>,
 * }} BenchStore
 * `settleConnections`: how many Petrel settles over at once. `tap`: before Petrel opens the store. `counted`: after
 * the writers are closed. `committer`: durable transactions that insert one row.
 */

/** @param {'sqlite' | 'postgres'} kind @param {{ server: string, folder: string, internal: (path: string) => Promise<any> }} params @returns {Promise<BenchStore>} */
export async function benchStore(kind, params) {
  if (kind === 'sqlite') return (await import('./sqlite.mjs')).createSqlite(params)
  return (await import('./postgres.mjs')).createPostgres(params)
}
