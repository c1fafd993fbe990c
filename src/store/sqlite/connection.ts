/**
 * One connection to one file, and the order of its operations.
 *
 * A write is BEGIN IMMEDIATE, synchronous work, COMMIT: nothing else in this process can interfere. While another
 * process holds the write lock, the first write in line waits on a timer (never inside SQLite, which would block the
 * event loop) and retries, up to 5 s; the writes behind it wait for their turn. So: idle → trying → done, or
 * trying → waiting → trying … → done | StoreUnavailableError.
 */

import { chmod, open, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { sleep } from '../../kernel/sleep.ts'
import { StoreUnavailableError, StoreUnusableError } from '../../kernel/store-errors.ts'
import { type Database, openDatabase, prepareArrays, type Statement } from './driver.ts'
import { isBusy, storeFailure } from './failure.ts'
import { LongReads, type Reading } from './long-reads.ts'
import { Recent } from './row/recent.ts'
import { forgetTriggers } from './triggers.ts'

export type Probe = (point: 'before-commit' | 'after-commit') => void

const MOST_STATEMENTS = 2_000
const PATIENCE_MS = 5_000
/** Short, so that a process whose neighbour writes without pause still hits the gaps between two transactions. */
const LONGEST_PAUSE_MS = 8

/** FULL: NORMAL lost acknowledged commits in a simulated power cut. */
const SETTINGS = `
  PRAGMA synchronous = FULL;
  PRAGMA foreign_keys = OFF;
  PRAGMA temp_store = MEMORY;
  PRAGMA cache_size = -32768;
  PRAGMA journal_size_limit = 67108864;
`

export class Connection {
  readonly memory: boolean
  readonly #database: Database
  readonly #probe: Probe | null
  readonly #statements = new Map<string, Statement>()
  readonly #path: string
  #longReads: LongReads | null = null
  #queue: Promise<unknown> | null = null
  #ready = false
  #closed = false

  private constructor(database: Database, path: string, probe: Probe | null) {
    this.#database = database
    this.#path = path
    this.memory = path === ':memory:'
    this.#probe = probe
  }

  /** Opens without changing the file; `prepareForWriting` does that once the schema is known to be compatible. */
  static async open(path: string, probe: Probe | null): Promise<Connection> {
    const memory = path === ':memory:'
    if (!memory) await checkPath(path)
    try {
      const database = await openDatabase(path)
      database.exec('PRAGMA busy_timeout = 0')
      return new Connection(database, path, probe)
    } catch (error) {
      throw storeFailure(error)
    }
  }

  async prepareForWriting(): Promise<void> {
    await this.patiently(() => {
      // Detects a read-only file at once, before anything in it is changed.
      if (!this.#database.isTransaction) this.#database.exec('BEGIN IMMEDIATE; ROLLBACK')
      if (!this.memory) this.#database.exec('PRAGMA journal_mode = WAL')
      this.#database.exec(SETTINGS)
    })
    await this.forgetTriggers()
    this.#ready = true
  }

  /** Call it once the schema is final. */
  async forgetTriggers(): Promise<void> {
    await this.patiently(() => forgetTriggers(this.#database))
  }

  /** Prepared once and kept. Searches have any number of texts, so all are forgotten when there are too many. */
  statement(sql: string): Statement {
    let statement = this.#statements.get(sql)
    if (statement === undefined) {
      if (this.#statements.size >= MOST_STATEMENTS) this.#statements.clear()
      statement = prepareArrays(this.#database, sql)
      this.#statements.set(sql, statement)
    }
    return statement
  }

  readonly recent = new Recent()
  /** Throws if another process has migrated the file to a schema that this program does not know. */
  checkSchema: () => void = () => {}

  exec(sql: string): void {
    this.#database.exec(sql)
  }

  async read<T>(work: () => T): Promise<T> {
    return this.patiently(work)
  }

  /** From now on reads that may take long run outside the event loop. */
  offload(): void {
    if (!this.memory) this.#longReads ??= new LongReads(this.#path)
  }

  /** A read that may take long: see long-reads.ts. */
  async readLong<T>(work: (on: Reading) => T): Promise<T> {
    return this.#longReads === null ? this.patiently(() => work(this)) : this.#longReads.run(work)
  }

  /** `committed` is called in the same turn as the commit; without it everything remembered is forgotten. */
  async write<T>(work: () => T, committed = (): void => this.recent.forget()): Promise<T> {
    return this.#write(() => this.#writeNow(work, committed))
  }

  /**
   * The same, but the commit does not wait for the disk: the next `write` syncs it too. Until then a power cut may lose
   * it as a whole; a killed process loses nothing.
   */
  async writeUnsynced<T>(work: () => T, committed: () => void): Promise<T> {
    return this.#write(() => {
      this.#database.exec('PRAGMA synchronous = NORMAL')
      try {
        return this.#writeNow(work, committed)
      } finally {
        this.#database.exec('PRAGMA synchronous = FULL')
      }
    })
  }

  async #write<T>(writeNow: () => T): Promise<T> {
    if (this.#queue === null) {
      const done = this.#tryWrite(writeNow)
      if (done !== null) return done.value
    }
    const turn = (this.#queue ?? Promise.resolve()).then(() => this.patiently(writeNow))
    const settled = turn.then(
      () => {},
      () => {},
    )
    this.#queue = settled
    void settled.then(() => {
      if (this.#queue === settled) this.#queue = null
    })
    return turn
  }

  /** Repeats `work` while the database is locked, with growing random pauses. */
  async patiently<T>(work: () => T): Promise<T> {
    const giveUpAt = performance.now() + PATIENCE_MS
    for (let pause = 0.5; ; pause = Math.min(pause * 1.5, LONGEST_PAUSE_MS)) {
      this.#refuseIfClosed()
      try {
        return work()
      } catch (error) {
        if (!isBusy(error) || performance.now() > giveUpAt) throw storeFailure(error)
      }
      await sleep(pause * (0.5 + Math.random()))
    }
  }

  async close(): Promise<void> {
    while (this.#queue !== null) await this.#queue
    await this.#longReads?.close()
    if (this.#closed) return
    this.#closed = true
    this.#statements.clear()
    if (this.#ready && !this.memory) this.#leaveWal()
    this.#database.close()
  }

  /**
   * The binding for Node 20 keeps a closed file open until its statements are collected as garbage, so the last process
   * would not clean up. Leaving WAL mode does: one file remains. While other processes have the file open this fails,
   * and the last of them does it.
   */
  #leaveWal(): void {
    try {
      this.#database.exec('PRAGMA journal_mode = DELETE')
    } catch (error) {
      if (!isBusy(error)) throw storeFailure(error)
    }
  }

  #tryWrite<T>(writeNow: () => T): { readonly value: T } | null {
    this.#refuseIfClosed()
    try {
      return { value: writeNow() }
    } catch (error) {
      if (isBusy(error)) return null
      throw storeFailure(error)
    }
  }

  #writeNow<T>(work: () => T, committed: () => void): T {
    this.statement('BEGIN IMMEDIATE').get()
    let value: T
    try {
      value = work()
      this.#probe?.('before-commit')
      this.#commit()
    } catch (error) {
      if (this.#database.isTransaction) this.statement('ROLLBACK').get()
      else this.recent.forget()
      throw error
    }
    committed()
    this.#probe?.('after-commit')
    return value
  }

  /** When the disk fails during the commit itself, the outcome is unknown. */
  #commit(): void {
    try {
      this.statement('COMMIT').get()
    } catch (error) {
      const failure = storeFailure(error)
      if (!(failure instanceof StoreUnavailableError) || failure.code !== 'io_error') throw error
      throw new StoreUnavailableError('commit_unknown', `the disk failed during a commit: ${failure.message}`, {
        cause: error,
      })
    }
  }

  #refuseIfClosed(): void {
    if (this.#closed) throw new StoreUnavailableError('closed', 'the store is closed')
  }
}

async function checkPath(path: string): Promise<void> {
  const found = await stat(path).catch(() => null)
  if (found?.isFile()) return keepPrivate(path)
  if (found) throw new StoreUnusableError('not_a_file', `${path} is not a file; name a file, such as ${path}/petrel.db`)
  const folder = await stat(dirname(path)).catch(() => null)
  if (!folder?.isDirectory()) {
    throw new StoreUnusableError(
      'cannot_open',
      `the folder ${dirname(path)} does not exist; create it or choose another path`,
    )
  }
  await createPrivate(path)
}

/**
 * Creates a missing file, readable by its owner only: among other things it contains the secret that signs links to
 * gates. SQLite gives its -wal and -shm files the permissions of the file itself.
 */
async function createPrivate(path: string): Promise<void> {
  const file = await open(path, 'wx', 0o600).catch(() => null)
  // If it cannot be created, opening the database reports why.
  await file?.close()
}

/**
 * Removes the access of all others if every user has some. A file that only a group shares is shared on purpose. One
 * that belongs to another user cannot be changed from here: its owner must.
 */
async function keepPrivate(path: string): Promise<void> {
  for (const each of [path, `${path}-wal`, `${path}-shm`]) {
    const found = await stat(each).catch(() => null)
    if (found === null || (found.mode & 0o007) === 0) continue
    await chmod(each, found.mode & 0o700).catch(() => {
      const message = `every user of this machine can read ${each}, which holds the secret that signs links to gates; as its owner: chmod 600 ${each}`
      process.emitWarning(message, { code: 'PETREL_STORE_READABLE' })
    })
  }
}
