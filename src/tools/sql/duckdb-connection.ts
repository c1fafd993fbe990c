/**
 * A restricted connection to a DuckDB database: it reaches the folders that the operator of the worker has allowed, no
 * other file (not even the database itself) and no network, and cannot change that. Statements are often assembled from
 * data, and DuckDB reads whatever a statement names: `FROM '/etc/passwd'`, `FROM 'http://169.254.169.254/'`.
 */

import { lstat, realpath } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import { PetrelError } from '../../kernel/errors.ts'
import { sleep } from '../../kernel/sleep.ts'
import { isBelow } from '../file-below.ts'
import type { Connection, Duckdb, Instance } from './duckdb-module.ts'

export interface Fence {
  /** Folders with databases and files that it may read and write; `all` among them, or true: any file, the network, extensions. */
  readonly allowFolders: readonly string[] | true
  /** Memory limit of one database, in DuckDB's format: `512MB`. A larger one spills to disk, or fails. */
  readonly memory: string
}

export interface Open extends Pick<Connection, 'extractStatements' | 'interrupt'> {
  close(): void
}

export const MEMORY = ':memory:'
/** DuckDB's error when this process has the file open as another database. */
export const STILL_OPEN = /^Binder Error: Unique file handle conflict/
const CLOSING_MS = 2000

export function checkFence({ memory }: Fence): void {
  if (/^\d+(\.\d+)? ?[KMGT]i?B$/i.test(memory)) return
  throw new PetrelError('invalid_request', `"${memory}" is not an amount of memory for duckdb, such as 512MB or 4GB`)
}

let opened = 0

export async function open({ DuckDBInstance }: Duckdb, given: string, fence: Fence): Promise<Open> {
  const path = given === MEMORY ? MEMORY : await admitted(given, fence)
  const settings = { memory_limit: fence.memory }
  // Not beside the worker, and not where another one spills.
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
    if (!isOpen(fence)) await putUp(open, fence.allowFolders as readonly string[])
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

function isOpen({ allowFolders }: Fence): boolean {
  return allowFolders === true || allowFolders.includes('all')
}

/** The real path of a database's file, which must be in an allowed folder and is the one opened. */
async function admitted(path: string, fence: Fence): Promise<string> {
  if (isOpen(fence)) return path
  const file = await realFile(resolve(path))
  for (const allowed of file === null ? [] : (fence.allowFolders as readonly string[])) {
    if (isBelow(file as string, await realpath(allowed).catch(() => resolve(allowed)))) return file as string
  }
  throw new Error(
    `Permission Error: Cannot access file "${path}" - file system operations are disabled by configuration`,
  )
}

/**
 * A file that does not exist will be created: its folder counts. null: a dangling link, through which it could be
 * created anywhere.
 */
async function realFile(path: string): Promise<string | null> {
  const found = await realpath(path).catch(() => null)
  if (found !== null) return found
  const link = await lstat(path).catch(() => null)
  return link === null ? join(await realpath(dirname(path)).catch(() => dirname(path)), basename(path)) : null
}

/**
 * The instance that other tasks of this process have open, or a new one. The last of them may be closing it at this
 * moment, on another thread: then the instance is no longer available and its file not yet free. Closing takes about a
 * millisecond, longer after many writes.
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

/** Once for an instance. Other tasks with the same instance apply the same settings, and a later attempt is refused. */
async function putUp(connection: Connection, folders: readonly string[]): Promise<void> {
  const listed = folders.map((folder) => `'${resolve(folder).replaceAll("'", "''")}'`).join(', ')
  for (const statement of [
    `SET allowed_directories = [${listed}]`,
    'SET enable_external_access = false',
    'SET lock_configuration = true',
  ]) {
    await connection.run(statement).catch(() => {})
  }
  const restricted = "SELECT current_setting('lock_configuration') AND NOT current_setting('enable_external_access')"
  const rows = (await connection.runAndReadAll(restricted)).getRows()
  if (rows[0]?.[0] !== true) throw new Error('Permission Error: this database cannot be fenced in')
}
