/** The suite on Postgres: one database for the file, emptied before each test. */
import pg from 'pg'
import { afterAll, beforeAll, describe } from 'vitest'
import { openStore } from '../../src/store/open.ts'
import type { Store } from '../../src/store/store.ts'
import { emptyTables, readSeeds, type Seeds } from '../clean-database.ts'
import { type FreshDatabase, freshDatabase, postgresUrl } from '../services.ts'
import { type Subject, setClock } from './subject.ts'
import { storeSuite } from './suite.ts'

describe.skipIf(postgresUrl() === null)('on postgres', () => {
  let database: FreshDatabase
  let foreign: pg.Client
  let store: Store
  let seeds: Seeds

  beforeAll(async () => {
    database = await freshDatabase()
    store = await openStore(database.url)
    await store.migrate()
    foreign = new pg.Client({ connectionString: database.url })
    await foreign.connect()
    await foreign.query('SET search_path TO workflow')
    seeds = await readSeeds(foreign)
  })

  afterAll(async () => {
    await store?.close()
    await foreign?.end()
    await database?.drop()
  })

  async function openSubject(): Promise<Subject> {
    await emptyTables(foreign, seeds)
    await setClock(store, 0)
    const opened: Store[] = []
    return {
      store,
      second: async (options) => {
        const other = await openStore(database.url, options)
        opened.push(other)
        return other
      },
      sql: async (text) => (await foreign.query(text)).rows,
      close: async () => {
        for (const one of opened) await one.close()
      },
    }
  }

  storeSuite('postgres', openSubject)
})
