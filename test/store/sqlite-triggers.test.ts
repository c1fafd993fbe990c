/** The engine's connection drops the triggers of the inbox from its schema: for speed, and only there. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openStore } from '../../src/store/open.ts'
import { Connection } from '../../src/store/sqlite/connection.ts'
import { type Database, openDatabase } from '../../src/store/sqlite/driver.ts'
import { migrate } from '../../src/store/sqlite/migrate.ts'
import { openSqlite } from '../../src/store/sqlite/store.ts'
import { forgetTriggers, RECALL_TRIGGERS } from '../../src/store/sqlite/triggers.ts'
import type { Store } from '../../src/store/store.ts'
import { aRun } from './rows.ts'
import { put, type Subject, setClock } from './subject.ts'
import { storeSuite } from './suite.ts'

let folder: string
let path: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'petrel-triggers-'))
  path = join(folder, 'petrel.db')
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const WRITES = [
  `INSERT INTO workflow_run (id, type, payload, engine_turn) VALUES ('a', 'b', '{}', 1)`,
  `UPDATE workflow_run SET status = 'leased', leased_by = 'x', attempt = 1, type = 'c', engine_turn = NOT engine_turn WHERE id = 'a'`,
  `INSERT INTO workflow_event (workflow_id, event_type, engine) VALUES ('a', 'created', 1)`,
]

/** Whether the programs of these statements include triggers, one by one. */
function carried(rows: (sql: string) => readonly unknown[]): boolean[] {
  return WRITES.map((sql) => rows(`EXPLAIN ${sql}`).some((row) => JSON.stringify(row).includes('"Program"')))
}
const NONE = [false, false, false]
const ALL = [true, true, true]
const on = (connection: Connection) => carried((sql) => connection.statement(sql).all())
const beside = (database: Database) => carried((sql) => database.prepare(sql).all())

async function connect(): Promise<Connection> {
  const connection = await Connection.open(path, null)
  await connection.prepareForWriting()
  return connection
}

describe('sqlite: the triggers of the inbox', () => {
  it('are dropped by every process of the engine, also by one that found the migrations done', async () => {
    const [first, second] = [await connect(), await connect()]
    await migrate(first)
    await migrate(second)
    const late = await connect()
    expect([on(first), on(second), on(late)]).toEqual([NONE, NONE, NONE])
    for (const one of [first, second, late]) await one.close()
  })

  it('stay in the file and in every other connection: dropping them writes nothing and wakes no process', async () => {
    const first = await connect()
    await migrate(first)
    const other = await openDatabase(path)
    const look = () =>
      ['PRAGMA data_version', 'PRAGMA schema_version', 'SELECT * FROM sqlite_schema', 'PRAGMA integrity_check'].map(
        (sql) => other.prepare(sql).all(),
      )
    const before = look()
    const second = await connect()
    await migrate(second)
    expect(look()).toEqual(before)
    expect([on(second), beside(other)]).toEqual([NONE, ALL])
    other.close()
    for (const one of [first, second]) await one.close()
  })

  it('leave the schema protected against writes', async () => {
    const connection = await connect()
    await migrate(connection)
    expect(connection.statement('PRAGMA writable_schema').get()).toEqual([0])
    expect(() => connection.exec('DELETE FROM sqlite_schema')).toThrow('may not be modified')
    await connection.close()
  })

  it('stay if the binding does not allow changes to the schema, which is not an error', async () => {
    const connection = await connect()
    await migrate(connection)
    await connection.close()
    const database = await openDatabase(path)
    if (database.enableDefensive === undefined) return database.close()
    database.enableDefensive(true)
    forgetTriggers({
      get isTransaction() {
        return database.isTransaction
      },
      exec: (sql) => database.exec(sql),
      prepare: (sql) => database.prepare(sql),
      close: () => database.close(),
    })
    expect([database.isTransaction, beside(database)]).toEqual([false, ALL])
    database.close()
  })

  it('return for a migration, which may change them', async () => {
    const connection = await connect()
    await migrate(connection)
    const drop = 'DROP TRIGGER workflow_run_update'
    await expect(connection.write(() => connection.exec(drop))).rejects.toThrow('no such trigger')
    await connection.write(() => {
      connection.exec(RECALL_TRIGGERS)
      connection.exec(drop)
    })
    await connection.close()
  })

  it("come back when another program has changed the schema, and affect only other clients' writes", async () => {
    const connection = await connect()
    await migrate(connection)
    const store = await openSqlite({ path })
    const run = aRun()
    await put(store, { runs: { insert: [run] } })
    const other = await openDatabase(path)
    other.exec('VACUUM')
    await connection.read(() => connection.statement('SELECT id FROM workflow_run').all())
    expect(on(connection)).toEqual(ALL)
    await put(store, { runs: { update: [{ ...run, status: 'leased', leasedBy: 'w', epoch: 3, startedAt: 7 }] } })
    expect(await store.read.run(run.id)).toMatchObject({ status: 'leased', leasedBy: 'w', epoch: 3, startedAt: 7 })
    other.close()
    await store.close()
    await connection.close()
  })
})

/** Nothing may rely on their absence. */
async function openCarrying(): Promise<Subject> {
  const store = await openSqlite({ path })
  await store.migrate()
  const foreign = await openDatabase(path)
  foreign.exec('PRAGMA busy_timeout = 5000; VACUUM')
  await setClock(store, 0)
  const opened: Store[] = [store]
  return {
    store,
    second: async (options) => {
      const other = await openStore(`sqlite:${path}`, options)
      opened.push(other)
      return other
    },
    sql: async (text) => {
      const rows: unknown = foreign.prepare(text).all()
      return rows as Record<string, unknown>[]
    },
    close: async () => {
      foreign.close()
      for (const one of opened) await one.close()
    },
  }
}

storeSuite('sqlite, its triggers not forgotten', openCarrying)
