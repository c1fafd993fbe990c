/**
 * Real `petrel` processes on one store and a real NATS are killed with SIGKILL at every point of a saga, while the
 * domain services keep running as separate processes. The next engine continues. Every saga ends as requested, its
 * history has no gap, and the effect of each step exists once in the tables of its service, however often its command
 * was delivered.
 */
import { afterEach, describe, expect, it } from 'vitest'
import { shell } from '../cli/petrel.ts'
import { natsUrl, postgresUrl } from '../services.ts'
import type { StoreKind } from './database.ts'
import { SagaStage } from './saga-stage.ts'

const full = process.env['PETREL_TEST_FULL'] === '1'
const ROUNDS = full ? 50 : 1
const timeout = full ? 3_600_000 : 180_000

/** `times`: how often a saga passes it; the engine is killed at any of these passes. */
const POINTS = [
  { what: 'a saga', points: ['before', 'after'], times: 1 },
  { what: 'a command', points: ['before', 'after'], times: 3 },
  { what: 'taken', points: ['after'], times: 3 },
  { what: 'published', points: ['before', 'after'], times: 3 },
  { what: 'a completion', points: ['before', 'after'], times: 3 },
  { what: 'the end of a saga', points: ['before', 'after'], times: 1 },
  { what: 'a refusal', points: ['before', 'after'], times: 1 },
  { what: 'the command of an undo', points: ['before', 'after'], times: 1 },
  { what: 'an undo taken', points: ['after'], times: 1 },
  { what: 'an undo published', points: ['before', 'after'], times: 1 },
  { what: 'the completion of an undo', points: ['before', 'after'], times: 1 },
  { what: 'the end of a rollback', points: ['before', 'after'], times: 1 },
] as const

export function sagaCrashSuite(kind: StoreKind): void {
  const missing = natsUrl() === null || (kind === 'postgres' && postgresUrl() === null)
  describe.skipIf(missing)(`sagas whose engine is killed with SIGKILL (${kind})`, () => {
    const sh = shell()
    let stage: SagaStage | null = null

    afterEach(async () => {
      await stage?.close()
      stage = null
    }, 60_000)

    it(`at every point of provision_parties: ${ROUNDS} rounds each`, { timeout }, async () => {
      stage = await SagaStage.open(kind, sh)
      for (const { what, points, times } of POINTS) {
        for (const point of points) {
          for (let round = 1; round <= ROUNDS; round++) {
            // Unfinished sagas of the previous engine continue in this one, along with two new ones.
            await Promise.all([stage.begin('good'), stage.begin('bad')])
            await stage.killed({ what, point, at: 1 + Math.floor(Math.random() * times) })
          }
          if (full) await stage.verify(`${point} ${what}`)
        }
      }
      await stage.verify('at every point')
    })

    it('two engines share the load, and one of them is killed in the middle', { timeout }, async () => {
      stage = await SagaStage.open(kind, sh)
      const engines = [await stage.engine(), await stage.engine()] as const
      await Promise.all(Array.from({ length: 60 }, (_, i) => stage?.begin(i % 10 === 0 ? 'bad' : 'good')))
      await stage.reached(15)
      engines[0].child.kill('SIGKILL')
      await engines[0].ended
      await stage.ended()
      const shares = stage.shares(engines)
      console.log(`${kind}, the one that was killed and the other:`, JSON.stringify(shares))
      for (const { published, recorded } of shares) expect(Math.min(published, recorded)).toBeGreaterThan(0)
      await stage.leave(engines[1])
      await stage.verify('two engines')
    })
  })
}
