/**
 * A connection to a database of DuckDB, fenced in: its statements reach the database and the folders that whoever runs the
 * worker has named, no other file, no network, and cannot change that. They are often put together from data, and DuckDB reads
 * whatever a statement names: `FROM '/etc/passwd'`, `FROM 'http://169.254.169.254/'`.
 */
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { PetrelError } from '../../engine/errors.ts'
import type { Connection, Duckdb, Instance } from './duckdb-module.ts'

export interface Fence {
  /** Folders that statements may read and write; `all` among them, or true: any file, the network, extensions. */
  readonly allowFolders: readonly string[] | true
  /** What one database may hold in memory, as DuckDB writes it: `512MB`. More is put on disk, or fails. */
  readonly memory: string
}

export interface Open extends Pick<Connection, 'extractStatements' | 'interrupt'> {
  close(): void
}

export const MEMORY = ':memory:'
/** How DuckDB says that this process has the file open as another database. */
export const STILL_OPEN = /^Binder Error: Unique file handle conflict/
const CLOSING_MS = 2000

export function checkFence({ memory }: Fence): void {
  if (/^\d+(\.\d+)? ?[KMGT]i?B$/i.test(memory)) return
  throw new PetrelError('invalid_request', `"${memory}" is no amount of memory for duckdb, such as 512MB or 4GB`)
}

let opened = 0

export async function open({ DuckDBInstance }: Duckdb, path: string, fence: Fence): Promise<Open> {
  const settings = { memory_limit: fence.memory }
  // What does not fit: not beside the worker, and not where another one puts its own.
  const spill = { temp_directory: join(tmpdir(), `petrel-duckdb-${process.pid}-${++opened}`) }
  const instance = await (path === MEMORY
    ? DuckDBInstance.create(path, { ...settings, ...spill })
    : shared(() => DuckDBInstance.fromCache(path, settings)))
  let connection: Connection | null = null
  const close = (): void => {
    connection?.closeSync()
    instance.closeSync()
  }
  try {
    connection = await instance.connect()
    const open = connection
    if (fence.allowFolders !== true && !fence.allowFolders.includes('all')) await putUp(open, fence.allowFolders)
    return {
      extractStatements: (sql) => open.extractStatements(sql),
      interrupt: () => open.interrupt(),
      close,
    }
  } catch (error) {
    close()
    throw error
  }
}

/**
 * The instance that others of this process have open, or a new one. The last of them may be closing it at this moment, on another
 * thread: it is no longer given out then, and its file not yet free. Closing takes about a millisecond, longer after many writes.
 */
async function shared(open: () => Promise<Instance>): Promise<Instance> {
  const until = performance.now() + CLOSING_MS
  for (;;) {
    try {
      return await open()
    } catch (error) {
      if (!STILL_OPEN.test((error as Error).message) || performance.now() > until) throw error
      await sleep(5)
    }
  }
}

/** Once for an instance, which other tasks may have open: they put up the same, and whoever comes later is refused. */
async function putUp(connection: Connection, folders: readonly string[]): Promise<void> {
  const listed = folders.map((folder) => `'${resolve(folder).replaceAll("'", "''")}'`).join(', ')
  for (const statement of [
    `SET allowed_directories = [${listed}]`,
    'SET enable_external_access = false',
    'SET lock_configuration = true',
  ]) {
    await connection.run(statement).catch(() => {})
  }
  const stands = "SELECT current_setting('lock_configuration') AND NOT current_setting('enable_external_access')"
  const rows = (await connection.runAndReadAll(stands)).getRows()
  if (rows[0]?.[0] !== true) throw new Error('Permission Error: this database cannot be fenced in')
}
