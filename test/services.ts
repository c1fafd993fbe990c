/**
 * The servers tests run against: started by `npm test`, or by test/global-setup.ts, or named by environment
 * variables. Null where one is not installed; a test that needs it is then skipped:
 * `describe.skipIf(postgresUrl() === null)(…)`.
 */
import { randomBytes } from 'node:crypto'
import pg from 'pg'

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

/** An empty database of its own for one test file or test. */
export async function freshDatabase(): Promise<FreshDatabase> {
  const server = postgresUrl()
  if (server === null) throw new Error('There is no Postgres to create a database on (PETREL_TEST_POSTGRES_URL).')
  const name = `petrel_test_${process.pid}_${randomBytes(6).toString('hex')}`
  // template0: template1 cannot be copied while anyone is connected to it.
  await administer(server, `CREATE DATABASE ${name} TEMPLATE template0`)
  const url = new URL(server)
  url.pathname = `/${name}`
  return {
    url: url.href,
    drop: () => administer(server, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`),
  }
}

async function administer(server: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: server })
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}
