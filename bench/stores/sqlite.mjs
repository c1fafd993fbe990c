// @ts-check
/** SQLite: a file in a folder of its own, with the binding and the settings of Petrel's store. */
import * as fs from 'node:fs'
import { join } from 'node:path'
import { bareSqlite } from '../bare/sqlite.mjs'

const FRAME_HEADER = 24
const WAL_HEADER = 32

/** As in src/store/sqlite/connection.ts. */
const SETTINGS = `
  PRAGMA busy_timeout = 5000;
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  PRAGMA foreign_keys = OFF;
  PRAGMA temp_store = MEMORY;
  PRAGMA cache_size = -32768;
  PRAGMA wal_autocheckpoint = 8192;
  PRAGMA journal_size_limit = 67108864;
`

/** @param {{ folder: string }} params @returns {import('./store.mjs').BenchStore} */
export function createSqlite(params) {
  const folder = fs.mkdtempSync(join(params.folder, 'sqlite-'))
  const path = join(folder, 'bench.db')
  const wal = `${path}-wal`

  /** The connection whose changes are counted: the one opened last before counting begins. @type {any} */
  let writer = null
  /** @type {any} */
  let reader = null
  const before = { changes: 0, walBytes: 0 }
  const written = { rows: 0, walBytes: 0 }

  return {
    kind: 'sqlite',
    url: `sqlite:${path}`,
    settleConnections: 1,

    async tap() {
      // total_changes() is available on the connection only. Petrel requests its binding from this function, and gets
      // one whose connections are recorded here.
      const binding = await loadBinding()
      const { getBuiltinModule } = process
      class Seen extends binding.DatabaseSync {
        /** @param {string} file */
        constructor(file) {
          super(file)
          if (reader === null) writer = this
        }
      }
      process.getBuiltinModule = /** @type {any} */ (
        (/** @type {string} */ id) =>
          id === 'node:sqlite' ? { ...binding, DatabaseSync: Seen } : getBuiltinModule.call(process, id)
      )
    },

    async beginCounting() {
      const counting = writer
      reader = await openDatabase(path)
      writer = counting
      reader.exec('PRAGMA wal_checkpoint(TRUNCATE)')
      // An open read prevents the WAL from being restarted, so that everything written stays in the file.
      reader.exec('BEGIN; SELECT count(*) FROM sqlite_master')
      before.changes = totalChanges(writer)
      before.walBytes = fs.statSync(wal).size
    },

    async endCounting() {
      written.rows = totalChanges(writer) - before.changes
      written.walBytes = walEnd(wal) - before.walBytes
      reader.exec('COMMIT')
      reader.close()
    },

    async counted() {
      return written
    },

    async committer() {
      // A separate file: a second writer on Petrel's would disturb the measurement.
      const database = await openDatabase(join(folder, 'commit.db'))
      database.exec('CREATE TABLE bench_commit (id INTEGER PRIMARY KEY, text TEXT)')
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

    async bareWriter() {
      writer = await openDatabase(path)
      return bareSqlite(writer)
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

/** @param {string} path */
async function openDatabase(path) {
  const { DatabaseSync } = await loadBinding()
  const database = new DatabaseSync(path)
  database.exec(SETTINGS)
  return database
}

/** @param {any} database */
function totalChanges(database) {
  return Number(Object.values(database.prepare('SELECT total_changes()').get())[0])
}

/** The end of the last complete frame: the file itself may be longer, left from before. @param {string} file */
function walEnd(file) {
  const handle = fs.openSync(file, 'r')
  try {
    const header = Buffer.alloc(WAL_HEADER)
    fs.readSync(handle, header, 0, WAL_HEADER, 0)
    const frame = Buffer.alloc(FRAME_HEADER)
    const step = FRAME_HEADER + header.readUInt32BE(8)
    const salt = header.subarray(16, 24)
    let at = WAL_HEADER
    while (fs.readSync(handle, frame, 0, FRAME_HEADER, at) === FRAME_HEADER && frame.subarray(8, 16).equals(salt))
      at += step
    return at
  } finally {
    fs.closeSync(handle)
  }
}
