// @ts-check
/** SQLite: a file in a folder of its own. The binding and the settings are those of Petrel's store. */
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const FRAME_HEADER = 24
const WAL_HEADER = 32

/** Settings that decide what a commit costs, as in src/store/sqlite/connection.ts. */
export const SETTINGS = `
  PRAGMA busy_timeout = 0;
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  PRAGMA foreign_keys = OFF;
  PRAGMA temp_store = MEMORY;
  PRAGMA cache_size = -32768;
  PRAGMA wal_autocheckpoint = 8192;
  PRAGMA journal_size_limit = 67108864;
`

/** @returns {import('./store.mjs').BenchStore & { path: string, open(): Promise<any> }} */
export function createSqlite() {
  const folder = fs.mkdtempSync(join(process.env['PETREL_BENCH_TMP'] ?? tmpdir(), 'petrel-bench-'))
  const path = join(folder, 'bench.db')
  const wal = `${path}-wal`
  const open = async () => new (await loadBinding()).DatabaseSync(path)

  /** The connection whose changes are counted; Petrel's own is caught when it is opened. @type {any} */
  let counted = null
  /** @type {any} */
  let reader = null
  let changesBefore = 0
  let walBefore = 0

  return {
    kind: 'sqlite',
    url: `sqlite:${path}`,
    path,
    async open() {
      const database = await open()
      database.exec(SETTINGS)
      counted = database
      return database
    },

    async tap() {
      // total_changes() is known to the connection alone. Petrel asks this function for its binding: it gets one whose
      // connections are caught.
      const { getBuiltinModule } = process
      const binding = await loadBinding()
      class Caught extends binding.DatabaseSync {
        /** @param {string} path */
        constructor(path) {
          super(path)
          counted ??= this
        }
      }
      process.getBuiltinModule = /** @type {any} */ (
        (/** @type {string} */ id) =>
          id === 'node:sqlite' ? { ...binding, DatabaseSync: Caught } : getBuiltinModule.call(process, id)
      )
    },

    async beginCounting() {
      if (reader === null) {
        reader = await open()
        reader.exec('PRAGMA wal_checkpoint(TRUNCATE)')
      }
      // An open read keeps the WAL from being started over: what is written stays in the file.
      reader.exec('BEGIN; SELECT count(*) FROM sqlite_master')
      walBefore = fs.statSync(wal, { throwIfNoEntry: false })?.size ?? 0
      changesBefore = totalChanges(counted)
    },

    async endCounting() {
      const rows = totalChanges(counted) - changesBefore
      reader.exec('COMMIT')
      return { rows, ...framesSince(wal, walBefore) }
    },

    async closeCounting() {
      reader?.close()
      reader = null
    },

    async committer() {
      // A file of its own: a second writer on Petrel's would disturb what is measured.
      const database = new (await loadBinding()).DatabaseSync(join(folder, 'commit.db'))
      database.exec(SETTINGS)
      database.exec('CREATE TABLE IF NOT EXISTS bench_commit (id INTEGER PRIMARY KEY, text TEXT)')
      const insert = database.prepare('INSERT INTO bench_commit (text) VALUES (?)')
      return {
        async commit() {
          database.exec('BEGIN IMMEDIATE')
          insert.run('one row')
          database.exec('COMMIT')
        },
        async close() {
          database.close()
        },
      }
    },

    async remove() {
      fs.rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** The same choice as in src/store/sqlite/driver.ts. @returns {Promise<any>} */
async function loadBinding() {
  const binding = /** @type {any} */ (process.getBuiltinModule?.('node:sqlite'))
  if (binding && 'setReturnArrays' in binding.StatementSync.prototype) return binding
  return import('@photostructure/sqlite')
}

/** @param {any} database @returns {number} */
function totalChanges(database) {
  return Number(Object.values(database.prepare('SELECT total_changes()').get())[0])
}

/** A frame whose header carries the size of the database ends a transaction. @param {string} file @param {number} before */
function framesSince(file, before) {
  const content = fs.readFileSync(file)
  const pageSize = content.readUInt32BE(8)
  const frameSize = FRAME_HEADER + pageSize
  let commits = 0
  let walBytes = 0
  for (let at = Math.max(before, WAL_HEADER); at + frameSize <= content.length; at += frameSize) {
    if (content.readUInt32BE(at + 4) !== 0) commits++
    walBytes += frameSize
  }
  return { walBytes, commits }
}
