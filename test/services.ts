/**
 * The servers tests run against: started by `npm test`, or by test/global-setup.ts, or named by environment
 * variables. Null where one is not installed; a test that needs it is then skipped:
 * `describe.skipIf(postgresUrl() === null)(…)`.
 */
import { Databases } from './databases.ts'

export function postgresUrl(): string | null {
  return process.env['PETREL_TEST_POSTGRES_URL'] || null
}

export function natsUrl(): string | null {
  return process.env['PETREL_TEST_NATS_URL'] || null
}

export interface FreshDatabase {
  readonly url: string
  /** Ends the connections still open to it and removes it. */
  drop(): Promise<void>
}

let databases: Databases | null = null

/** A database of its own for one test file or test: migrated, otherwise empty. */
export async function freshDatabase(): Promise<FreshDatabase> {
  const from = onServer()
  const name = await from.take()
  return { url: from.urlOf(name), drop: () => from.giveBack(name) }
}

/** One that was never migrated. */
export async function emptyDatabase(): Promise<FreshDatabase> {
  const from = onServer()
  const name = await from.create()
  return { url: from.urlOf(name), drop: () => from.drop(name) }
}

function onServer(): Databases {
  const server = postgresUrl()
  if (server === null) throw new Error('There is no Postgres to create a database on (PETREL_TEST_POSTGRES_URL).')
  databases ??= new Databases(server)
  return databases
}
