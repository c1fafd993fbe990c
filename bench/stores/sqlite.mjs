// @ts-check
/** SQLite: a file in a folder of its own. The binding and the settings are those of Petrel's store. */
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

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

/** @param {{ dist: string }} params @returns {import('./store.mjs').BenchStore & { path: string, open(): Promise<any> }} */
export function createSqlite({ dist }) {
  const folder = fs.mkdtempSync(join(process.env['PETREL_BENCH_TMP'] ?? tmpdir(), 'petrel-bench-'))
  const path = join(folder, 'bench.db')
  const wal = `${path}-wal`
  const driver = () => import(pathToFileURL(join(dist, 'store/sqlite/driver.js')).href)
  const open = async () => (await driver()).openDatabase(path)

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
      // total_changes() is known to the connection alone, so Petrel's is caught at the first thing it does.
      const probe = await open()
      const prototype = Object.getPrototypeOf(probe)
      probe.close()
      const { exec } = prototype
      prototype.exec = function (/** @type {string} */ sql) {
        counted = this
        prototype.exec = exec
        return exec.call(this, sql)
      }
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
      const { frames, commits } = framesSince(wal, walBefore)
      return { rows, walBytes: frames.bytes, commits }
    },

    async closeCounting() {
      reader?.close()
      reader = null
    },

    async commitLatencies(count) {
      const database = await open()
      database.exec(SETTINGS)
      database.exec('CREATE TABLE IF NOT EXISTS bench_commit (id INTEGER PRIMARY KEY, text TEXT)')
      const insert = database.prepare('INSERT INTO bench_commit (text) VALUES (?)')
      const latencies = []
      for (let i = 0; i < count; i++) {
        const from = performance.now()
        database.exec('BEGIN IMMEDIATE')
        insert.run(`row ${i}`)
        database.exec('COMMIT')
        latencies.push(performance.now() - from)
        await new Promise((resolve) => setImmediate(resolve))
      }
      database.close()
      return latencies
    },

    async remove() {
      fs.rmSync(folder, { recursive: true, force: true })
    },
  }
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
  let bytes = 0
  for (let at = Math.max(before, WAL_HEADER); at + frameSize <= content.length; at += frameSize) {
    if (content.readUInt32BE(at + 4) !== 0) commits++
    bytes += frameSize
  }
  return { frames: { bytes }, commits }
}
