/** A worker that lost its lease changes nothing, even if it reports before the new holder does. */
import { fileURLToPath } from 'node:url'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { group, job, Petrel } from '../../src/index.ts'
import { audit } from '../crash/audit.ts'
import { type StoreKind, TestDatabase } from '../crash/database.ts'
import { built, Program } from '../crash/process.ts'
import { postgresUrl } from '../services.ts'

const RUNS = 20
const engine = { sessionTtlMs: 1_000, heartbeatMs: 100, pollMs: 50 }
const file = fileURLToPath(new URL('holder.mjs', import.meta.url))

export function fencingSuite(kind: StoreKind): void {
  describe.skipIf(kind === 'postgres' && postgresUrl() === null)(`a lost lease (${kind})`, () => {
    let dist = ''
    let database: TestDatabase
    let holders: Program[] = []

    beforeAll(() => {
      dist = built()
    }, 120_000)

    afterEach(async () => {
      await Promise.all(holders.map((holder) => holder.kill()))
      await database.drop()
    }, 120_000)

    it('of a process that was suspended: its reports are stale, those of the new holder count', {
      timeout: 60_000,
    }, async () => {
      database = await TestDatabase.create(kind)
      const petrel = await Petrel.open(database.url, engine)
      const begin = (name: string): Program => new Program(file, { dist, url: database.url, engine, name })
      const [sleeper, heir] = [begin('sleeper'), begin('heir')]
      holders = [sleeper, heir]
      await Promise.all(holders.map((holder) => holder.line('ready')))

      const retry = { retry: { maxAttempts: 1 } }
      const handle = await petrel.start(group(Array.from({ length: RUNS }, (_, n) => job('part', n, retry))))
      sleeper.tell({ claim: RUNS })
      await sleeper.line('claimed')
      sleeper.tell({ sleep: true })
      await sleeper.line('sleeping')
      heir.tell({ claim: RUNS })
      await heir.line('claimed')

      // It resumes with its reports already on the way, before it learns that the lease is lost.
      sleeper.tell({ settle: RUNS })
      sleeper.signal('SIGCONT')
      expect(await sleeper.line('settled')).toEqual({ settled: 0 })
      heir.tell({ settle: RUNS })
      expect(await heir.line('settled')).toEqual({ settled: RUNS })
      expect(await handle.result()).toEqual(Array.from({ length: RUNS }, () => 'heir'))

      await petrel.close()
      const { violations, counts } = await audit(database, { effects: false })
      expect(violations).toEqual([])
      expect(counts).toMatchObject({ runs: RUNS, returned: RUNS })
    })
  })
}
