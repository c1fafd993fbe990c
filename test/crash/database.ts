/** A database that several processes work on, and a table of effects that the engine does not own. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { openStore } from '../../src/store/open.ts'
import { type Database, openDatabase } from '../../src/store/sqlite/driver.ts'
import type { Store } from '../../src/store/store.ts'
import { freshDatabase } from '../services.ts'

export type StoreKind = 'sqlite' | 'postgres'

export interface Effect {
  readonly runId: string
  readonly attempt: number
  readonly pid: number
}

export class TestDatabase {
  readonly kind: StoreKind
  readonly url: string
  /** An SQLite file beside either store: a handler records its effect before its process can be stopped. */
  readonly effectsFile: string
  readonly #folder: string
  readonly #drop: () => Promise<void>

  private constructor(kind: StoreKind, url: string, folder: string, drop: () => Promise<void>) {
    this.kind = kind
    this.url = url
    this.#folder = folder
    this.effectsFile = join(folder, 'effects.db')
    this.#drop = drop
  }

  /** Empty but migrated. */
  static async create(kind: StoreKind): Promise<TestDatabase> {
    const folder = mkdtempSync(join(tmpdir(), 'petrel-crash-'))
    const { url, drop } =
      kind === 'sqlite' ? { url: `sqlite:${join(folder, 'petrel.db')}`, drop: async () => {} } : await freshDatabase()
    const database = new TestDatabase(kind, url, folder, drop)
    await database.onStore((store) => store.migrate())
    await database.#onEffects((effects) => {
      effects.exec('PRAGMA journal_mode = WAL')
      effects.exec('CREATE TABLE test_effect (run_id TEXT, attempt INTEGER, pid INTEGER, at INTEGER)')
    })
    return database
  }

  async drop(): Promise<void> {
    await this.#drop()
    rmSync(this.#folder, { recursive: true, force: true })
  }

  async onStore<T>(work: (store: Store) => Promise<T>): Promise<T> {
    const store = await openStore(this.url)
    try {
      return await work(store)
    } finally {
      await store.close()
    }
  }

  /**
   * Plain SQL, bypassing the store. Table names include the schema of Postgres; SQLite has none. Numbers of any size
   * are returned as numbers.
   */
  async rows<Row>(sql: string): Promise<Row[]> {
    if (this.kind === 'postgres') {
      const client = new pg.Client({ connectionString: this.url })
      await client.connect()
      try {
        const types = { getTypeParser: (id: number) => (id === 20 ? Number : pg.types.getTypeParser(id)) }
        return (await client.query({ text: sql, types: types as never })).rows as Row[]
      } finally {
        await client.end()
      }
    }
    const database = await openDatabase(this.url.slice('sqlite:'.length))
    try {
      database.exec('PRAGMA busy_timeout = 5000')
      return database.prepare(sql.replaceAll('workflow.', '')).all() as unknown as Row[]
    } finally {
      database.close()
    }
  }

  async effects(): Promise<Effect[]> {
    return this.#onEffects(
      (effects) =>
        effects.prepare('SELECT run_id AS "runId", attempt, pid FROM test_effect').all() as unknown as Effect[],
    )
  }

  async #onEffects<T>(work: (effects: Database) => T): Promise<T> {
    const effects = await openDatabase(this.effectsFile)
    try {
      effects.exec('PRAGMA busy_timeout = 5000')
      return work(effects)
    } finally {
      effects.close()
    }
  }
}
