/** The suite on SQLite, and failures that only a file can have. */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openStore } from '../../src/store/open.ts'
import { openDatabase } from '../../src/store/sqlite/driver.ts'
import { openSqlite } from '../../src/store/sqlite/store.ts'
import type { Store } from '../../src/store/store.ts'
import { aRun } from './rows.ts'
import { load, put, type Subject, setClock } from './subject.ts'
import { storeSuite } from './suite.ts'

let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'petrel-store-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

async function openSubject(): Promise<Subject> {
  const path = join(folder, 'petrel.db')
  const store = await openSqlite({ path })
  await store.migrate()
  await setClock(store, 0)
  const opened: Store[] = [store]
  const foreign = await openDatabase(path)
  foreign.exec('PRAGMA busy_timeout = 5000')
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

storeSuite('sqlite', openSubject)

describe('sqlite: files', () => {
  const path = () => join(folder, 'petrel.db')
  const digest = (file: string) => createHash('sha256').update(readFileSync(file)).digest('hex')

  /** Opening fails with this code, suggests a remedy, and changes nothing. */
  async function refuses(file: string, code: string): Promise<void> {
    const before = statSync(file, { throwIfNoEntry: false })?.isFile() ? digest(file) : null
    const opening = openSqlite({ path: file }).then((store) => store.migrate())
    await expect(opening).rejects.toMatchObject({ name: 'StoreUnusableError', code })
    if (before !== null) expect(digest(file)).toBe(before)
  }

  it('works in memory', async () => {
    const store = await openStore('sqlite::memory:')
    await store.migrate()
    const run = aRun()
    await put(store, { runs: { insert: [run] } })
    expect(await store.read.run(run.id)).toEqual(run)
    const stop = store.onWake(() => {})
    stop()
    await store.close()
  })

  it('finds everything again after a restart', async () => {
    const run = aRun()
    const first = await openStore(`sqlite:${path()}`)
    await first.migrate()
    await put(first, { runs: { insert: [run] } })
    await first.close()
    const second = await openStore(`sqlite://${path()}`)
    expect(await second.read.run(run.id)).toEqual(run)
    await second.close()
  })

  it('refuses a file that is not a database', async () => {
    writeFileSync(path(), 'This is a letter to my aunt, not a database. '.repeat(100))
    await refuses(path(), 'not_a_database')
  })

  it('refuses a damaged database', async () => {
    const store = await openSqlite({ path: path() })
    await store.migrate()
    await store.close()
    const file = openSync(path(), 'r+')
    writeSync(file, Buffer.alloc(4_000, 0xff), 0, 4_000, 100)
    closeSync(file)
    await refuses(path(), 'corrupt')
  })

  it('refuses a folder, and a path whose folder is missing', async () => {
    mkdirSync(join(folder, 'dir'))
    await refuses(join(folder, 'dir'), 'not_a_file')
    await refuses(join(folder, 'missing', 'petrel.db'), 'cannot_open')
  })

  it('refuses a database without write permission', async () => {
    const store = await openSqlite({ path: path() })
    await store.migrate()
    await store.close()
    // A write version of the file format that is too new makes SQLite open the file read-only, for root as well.
    const file = openSync(path(), 'r+')
    writeSync(file, Buffer.from([9]), 0, 1, 18)
    closeSync(file)
    await refuses(path(), 'read_only')
  })

  // Permissions do not bind root; the case above applies to it.
  if (process.getuid?.() !== 0) {
    it('refuses a file without write permission', async () => {
      const store = await openSqlite({ path: path() })
      await store.migrate()
      await store.close()
      chmodSync(path(), 0o444)
      await refuses(path(), 'read_only')
    })
  }

  it('refuses a newer schema when it is opened', async () => {
    const store = await openSqlite({ path: path() })
    await store.migrate()
    await store.close()
    const foreign = await openDatabase(path())
    foreign.exec(`INSERT INTO workflow_migration VALUES (9999, 'from_the_future', 'x', 0)`)
    foreign.close()
    await refuses(path(), 'schema_newer')
  })

  it('asks to migrate first if the tables are missing', async () => {
    const store = await openSqlite({ path: path() })
    await expect(put(store, { runs: { insert: [aRun()] } })).rejects.toMatchObject({ code: 'not_migrated' })
    await expect(store.read.run('x')).rejects.toMatchObject({ code: 'not_migrated' })
    await store.close()
  })

  it('works in a database that has other tables', async () => {
    const foreign = await openDatabase(path())
    foreign.exec('CREATE TABLE customer (id INTEGER PRIMARY KEY)')
    foreign.close()
    const store = await openSqlite({ path: path() })
    await store.migrate()
    await put(store, { runs: { insert: [aRun()] } })
    await store.close()
  })
})

describe('sqlite: locks', () => {
  it('waits for another writer without blocking the event loop', async () => {
    const subject = await openSubject()
    const { store } = subject
    await subject.sql('BEGIN IMMEDIATE')
    const order: string[] = []
    const writes = ['first', 'second', 'third'].map(async (name) => {
      await put(store, { queues: [{ name, paused: false }] })
      order.push(name)
    })
    // Readers do not wait for a writer, and timers continue.
    expect(await store.read.countRuns({ queue: null })).toEqual(new Map())
    await new Promise((resolve) => setTimeout(resolve, 20))
    expect(order).toEqual([])
    await subject.sql('COMMIT')
    await Promise.all(writes)
    expect(order).toEqual(['first', 'second', 'third'])
    await subject.close()
  })

  it('runs decide once however long it waited for the lock', async () => {
    const subject = await openSubject()
    await subject.sql('BEGIN IMMEDIATE')
    let decided = 0
    const write = subject.store.transact({
      roots: [],
      wait: true,
      need: {},
      decide: () => ({ delta: { runs: { insert: [aRun()] } }, result: ++decided }),
    })
    await new Promise((resolve) => setTimeout(resolve, 10))
    await subject.sql('COMMIT')
    expect(await write).toBe(1)
    await subject.close()
  })

  it('gives up after five seconds with nothing written', { timeout: 15_000 }, async () => {
    const subject = await openSubject()
    await subject.sql('BEGIN IMMEDIATE')
    const write = put(subject.store, { runs: { insert: [aRun()] } })
    await expect(write).rejects.toMatchObject({ name: 'StoreUnavailableError', code: 'busy' })
    await subject.sql('ROLLBACK')
    expect(await subject.store.read.countRuns({ queue: null })).toEqual(new Map())
    await put(subject.store, { runs: { insert: [aRun()] } })
    await subject.close()
  })
})

describe('sqlite: wakes', () => {
  it('notices any commit of another connection, and none of its own', async () => {
    const subject = await openSubject()
    let heard = 0
    const woken = new Promise<void>((resolve) => {
      subject.store.onWake((wake) => {
        expect(wake).toEqual({})
        heard++
        resolve()
      })
    })
    await put(subject.store, { runs: { insert: [aRun()] } })
    await new Promise((resolve) => setTimeout(resolve, 50))
    expect(heard).toBe(0)
    await subject.sql(`INSERT INTO workflow_run (type, payload) VALUES ('a.v1', '{}')`)
    await woken
    await subject.close()
  })
})

/** Plain SQL from another process, as the sqlite3 tool or any driver would send it; prints the rows. */
function plainSql(path: string, sql: string): string {
  const program = `
    const { DatabaseSync } = require('@photostructure/sqlite')
    const [path, sql] = process.argv.slice(1)
    for (const row of new DatabaseSync(path).prepare(sql).all()) console.log(Object.values(row).join('|'))`
  return execFileSync(process.execPath, ['-e', program, path, sql], { encoding: 'utf8' })
}

describe('sqlite: another program', () => {
  it('enqueues a run that the store notices and can claim', async () => {
    const subject = await openSubject()
    const { store } = subject
    await store.moveClock(0)
    const woken = new Promise((resolve) => store.onWake(resolve))
    const path = join(folder, 'petrel.db')
    plainSql(path, `INSERT INTO workflow_run (type, payload, idempotency_key) VALUES ('mail.send.v1', '{}', 'k')`)
    await woken
    const filter = {
      queues: null,
      types: ['mail.%'],
      tenant: null,
      runtime: null,
      limit: 5,
      skipQueues: [],
      skipLimitKeys: [],
    }
    const [run] = (await load(store, { candidates: filter })).candidates
    expect(run).toMatchObject({ type: 'mail.send.v1', idempotencyKey: 'k', queue: 'default' })
    const history = plainSql(path, 'SELECT event_type FROM workflow_history')
    expect(history.trim()).toBe('created')
    await subject.close()
  })
})
