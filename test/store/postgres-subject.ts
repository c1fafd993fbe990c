/** Shared by the Postgres-only tests: a fresh migrated database, stores on it, and a foreign session beside them. */
import pg from 'pg'
import { openPostgres, type PostgresParams, type PostgresStore } from '../../src/store/postgres/store.ts'
import { emptyDatabase, freshDatabase } from '../services.ts'

export interface PostgresSubject {
  readonly url: string
  readonly store: PostgresStore
  /** A session of a foreign client: search_path is the schema alone. */
  readonly foreign: pg.Client
  open(params?: Partial<PostgresParams>): Promise<PostgresStore>
  connect(): Promise<pg.Client>
  /** Ends the server side of the store's connections of one kind; returns how many there were. */
  kill(kind: 'work' | 'patient' | 'read' | 'beat' | 'notify' | 'listen'): Promise<number>
  /** Waits until that many connections of a kind wait for a lock, or sleep. */
  untilWaiting(kind: string, count: number): Promise<void>
  close(): Promise<void>
}

/** `ownStatistics`: none from earlier tests of the database, and none that autovacuum takes at an arbitrary moment. */
export async function postgresSubject({ ownStatistics = false } = {}): Promise<PostgresSubject> {
  const database = await (ownStatistics ? emptyDatabase() : freshDatabase())
  const stores: PostgresStore[] = []
  const clients: pg.Client[] = []
  const open = async (params: Partial<PostgresParams> = {}): Promise<PostgresStore> => {
    const store = await openPostgres({ url: database.url, ...params })
    stores.push(store)
    return store
  }
  const connect = async (): Promise<pg.Client> => {
    const client = new pg.Client({ connectionString: database.url, options: '-c search_path=workflow' })
    client.on('error', () => {})
    await client.connect()
    clients.push(client)
    return client
  }
  const store = await open()
  await store.migrate()
  const foreign = await connect()
  const admin = await connect()
  if (ownStatistics) {
    for (const table of ['workflow_run', 'workflow_instance']) {
      await admin.query(`ALTER TABLE ${table} SET (autovacuum_enabled = false)`)
    }
  }
  return {
    url: database.url,
    store,
    foreign,
    open,
    connect,
    async kill(kind) {
      const killed = await admin.query(
        'SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = current_database() AND application_name = $1',
        [`petrel ${kind}`],
      )
      return killed.rowCount ?? 0
    },
    async untilWaiting(kind, count) {
      for (;;) {
        const found = await admin.query(
          `SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name = $1 AND (wait_event_type = 'Lock' OR wait_event = 'PgSleep')`,
          [kind],
        )
        if ((found.rowCount ?? 0) >= count) return
        await new Promise((resolve) => setTimeout(resolve, 10))
      }
    },
    async close() {
      await Promise.all(stores.map((each) => each.close()))
      await Promise.all(clients.map((each) => each.end().catch(() => {})))
      await database.drop()
    },
  }
}
