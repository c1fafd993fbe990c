// @ts-check
/**
 * A fresh database for one repetition, and what the benchmark needs of it beside Petrel.
 * @typedef {{ rows: number, walBytes: number, commits: number }} Written
 * @typedef {{
 *   kind: 'sqlite' | 'postgres',
 *   url: string,
 *   tap(dist: string): Promise<void>,
 *   beginCounting(): Promise<void>,
 *   endCounting(): Promise<Written>,
 *   closeCounting(): Promise<void>,
 *   committer(): Promise<{ commit(): Promise<void>, close(): Promise<void> }>,
 *   remove(): Promise<void>,
 * }} BenchStore
 * `tap` runs before Petrel opens the store. `committer`: durable transactions that insert one row.
 */

/** @param {'sqlite' | 'postgres'} kind @param {{ server: string | null, dist: string }} params @returns {Promise<BenchStore>} */
export async function benchStore(kind, params) {
  if (kind === 'sqlite') return (await import('./sqlite.mjs')).createSqlite(params)
  return (await import('./postgres.mjs')).createPostgres(params)
}
