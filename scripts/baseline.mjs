// @ts-check
/**
 * Writes src/store/{postgres,sqlite}/baseline.sql: the tables, indexes and rows that all numbered migrations of a store
 * leave behind, for databases that are new (decision 049). Run it after adding a migration; test/store/baseline.test.ts
 * compares the result with the migrations themselves.
 *
 *   npm run baseline
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { postgresBaseline } from './baseline/postgres.mjs'
import { sqliteBaseline } from './baseline/sqlite.mjs'

/**
 * @param {string} store
 * @param {(migrations: readonly string[]) => Promise<readonly string[]>} baselineOf
 */
async function write(store, baselineOf) {
  const folder = fileURLToPath(new URL(`../src/store/${store}/`, import.meta.url))
  const files = readdirSync(`${folder}migrations`).sort()
  const statements = await baselineOf(files.map((file) => readFileSync(`${folder}migrations/${file}`, 'utf8')))
  const header = `-- Migrations 1 to ${files.length}.\n-- Written by scripts/baseline.mjs.\n`
  writeFileSync(`${folder}baseline.sql`, `${header}\n${statements.map((text) => `${text};`).join('\n\n')}\n`)
  console.log(`src/store/${store}/baseline.sql: migrations 1 to ${files.length}`)
}

await write('sqlite', sqliteBaseline)
await write('postgres', postgresBaseline)
