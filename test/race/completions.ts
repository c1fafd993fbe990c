/** The last jobs of one group end at the same moment in three processes: the step after it is created exactly once. */

import { fileURLToPath } from 'node:url'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { batch, chain, group, job, Petrel } from '../../src/index.ts'
import { audit } from '../crash/audit.ts'
import { type StoreKind, TestDatabase } from '../crash/database.ts'
import { built, Program } from '../crash/process.ts'
import { engineOf } from '../engine-of.ts'
import { postgresUrl } from '../services.ts'

const full = process.env['PETREL_TEST_FULL'] === '1'
const ROUNDS = full ? 200 : 20
const timeout = full ? 900_000 : 90_000
const JOBS = 100
const SHARES = [34, 33, 33]
/** Runs that each process keeps back for the last moment. */
const LAST = 5
const file = fileURLToPath(new URL('holder.mjs', import.meta.url))

export function completionsSuite(kind: StoreKind): void {
  describe.skipIf(kind === 'postgres' && postgresUrl() === null)(`concurrent last completions (${kind})`, () => {
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

    it(`the callback of ${JOBS} jobs from 3 processes is created once: ${ROUNDS} rounds`, { timeout }, async () => {
      database = await TestDatabase.create(kind)
      const petrel = await Petrel.open(database.url, { sweep: false })
      holders = SHARES.map(() => new Program(file, { dist, url: database.url }))
      await Promise.all(holders.map((holder) => holder.line('ready')))
      const began = performance.now()

      for (let round = 1; round <= ROUNDS; round++) {
        const jobs = Array.from({ length: JOBS }, (_, n) => job('part', n))
        // Alternates between a batch with its callback, and a group nested in a chain with the step after it.
        const workflow = round % 2 === 0 ? batch(jobs, { onComplete: job('last') }) : chain([group(jobs), job('last')])
        const handle = await petrel.start(workflow as never)

        for (const [i, holder] of holders.entries()) {
          holder.tell({ claim: SHARES[i] })
          await holder.line('claimed')
        }
        for (const [i, holder] of holders.entries()) holder.tell({ settle: (SHARES[i] as number) - LAST })
        for (const [i, holder] of holders.entries()) {
          expect(await holder.line('settled')).toEqual({ settled: (SHARES[i] as number) - LAST })
        }
        const releaseAt = Date.now() + 10
        for (const holder of holders) holder.tell({ releaseAt })
        for (const holder of holders) expect(await holder.line('released')).toEqual({ released: LAST })

        // The next step exists exactly once, and one of the processes executes it.
        const after = await engineOf(petrel).queries.listRuns(PENDING)
        expect(after.map((run) => run.type)).toEqual(['last'])
        const [first] = holders as [Program]
        first.tell({ claim: 1 })
        await first.line('claimed')
        first.tell({ settle: 1 })
        expect(await first.line('settled')).toEqual({ settled: 1 })
        expect(await handle.status()).toBe('completed')
      }

      for (const holder of holders) holder.tell({ exit: true })
      for (const holder of holders) expect(await holder.exit()).toBe('code 0')
      await petrel.close()
      const { violations, counts } = await audit(database, { effects: false })
      const seconds = ((performance.now() - began) / 1000).toFixed(1)
      const raced = LAST * SHARES.length
      console.log(`${kind}: ${ROUNDS} rounds of ${raced} last completions in ${seconds} s`, JSON.stringify(counts))
      expect(violations).toEqual([])
      expect(counts).toMatchObject({ runs: ROUNDS * (JOBS + 1), finals: ROUNDS / 2 })
    })
  })
}

const PENDING = {
  status: ['pending'],
  queue: null,
  type: null,
  deadLetter: null,
  tenant: null,
  limit: 10,
  before: null,
} as const
