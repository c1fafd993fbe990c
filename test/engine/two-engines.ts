/** Two engines with separate connections to one database, as two processes would have. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { EngineOptions } from '../../src/engine/api.ts'
import { Engine } from '../../src/engine/engine.ts'
import type { RunRow } from '../../src/model/rows.ts'
import { openStore } from '../../src/store/open.ts'
import type { Store } from '../../src/store/store.ts'
import type { Place } from './drive.ts'

const OPTIONS = { sweep: false, sessionTtlMs: 1e9, heartbeatMs: 3_600_000, pollMs: 60_000 }

export class TwoEngines {
  readonly url: string
  readonly store: Store
  readonly engines: readonly [Engine, Engine]
  readonly #drop: () => Promise<void>

  private constructor(url: string, engines: readonly [Engine, Engine], drop: () => Promise<void>) {
    this.url = url
    this.store = engines[0].store
    this.engines = engines
    this.#drop = drop
  }

  static async open(place: Place, first: Partial<EngineOptions> = {}): Promise<TwoEngines> {
    const database = await place.open()
    // An in-memory database has one connection.
    const folder = mkdtempSync(join(tmpdir(), 'petrel-pair-'))
    const url = place.name === 'sqlite' ? `sqlite:${join(folder, 'petrel.db')}` : database.url
    const stores = [await openStore(url), await openStore(url)] as const
    await stores[0].migrate()
    const engines = [
      await Engine.open({ ...OPTIONS, store: stores[0], ...first }),
      await Engine.open({ ...OPTIONS, store: stores[1] }),
    ] as const
    return new TwoEngines(url, engines, async () => {
      await database.drop()
      rmSync(folder, { recursive: true, force: true })
    })
  }

  /** Waits up to `waitMs` for work. */
  fetch(engine: Engine, holder: string, limit: number, waitMs: number): Promise<readonly RunRow[]> {
    const any = { queues: null, types: null, runtime: null, tenant: null }
    return engine.leases.fetch({ ...any, limit, holder, leaseMs: () => 60_000, waitMs })
  }

  async succeed(engine: Engine, runs: readonly RunRow[]): Promise<void> {
    const outcome = { kind: 'succeeded', result: null } as const
    const reports = runs.map(({ id }) => ({ runId: id, holder: null, attempt: null, outcome }))
    for (const settled of await engine.leases.settle(reports)) if (settled instanceof Error) throw settled
  }

  /** Closes both; the database can still be read by others. */
  async stop(): Promise<void> {
    for (const engine of this.engines) await engine.close()
    for (const engine of this.engines) await engine.store.close()
  }

  drop(): Promise<void> {
    return this.#drop()
  }
}
