/**
 * Processes that work on one database are killed one after the other with SIGKILL; each one finishes what the previous
 * one left, and is then killed in the next round.
 */
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { postgresUrl } from '../services.ts'
import { type StoreKind, TestDatabase } from './database.ts'
import { built, type Program } from './process.ts'
import { Rounds } from './rounds.ts'
import { EXPECTED, EXPECTED_ROLES, EXPECTED_SWEPT } from './workloads.mjs'

const full = process.env['PETREL_TEST_FULL'] === '1'
const POINT_ROUNDS = full ? 50 : 2
const RANDOM_ROUNDS = full ? 200 : 5
const SLEEPER_ROUNDS = full ? 30 : 2
const timeout = full ? 1_800_000 : 120_000

/** The point, and the last of its passings at which a process may be killed. */
const POINTS = [
  { point: 'after-claim', name: 'after a claim', passings: 6 },
  { point: 'before-commit', name: 'before the commit of a settle', passings: 40 },
  { point: 'after-commit', name: 'after the commit of a settle, before the reply', passings: 40 },
  { point: 'in-sweeper', name: 'in the sweeper', passings: 5 },
] as const

export function crashSuite(kind: StoreKind): void {
  describe.skipIf(kind === 'postgres' && postgresUrl() === null)(`killed with SIGKILL (${kind})`, () => {
    let dist = ''
    let database: TestDatabase
    let running: Program | null = null

    beforeAll(() => {
      dist = built()
    }, 120_000)

    afterEach(async () => {
      await running?.kill()
      running = null
      await database.drop()
    }, 120_000)

    for (const { point, name, passings } of POINTS) {
      it(`${name}: ${POINT_ROUNDS} rounds`, { timeout }, async () => {
        database = await TestDatabase.create(kind)
        const rounds = roundsOf(database, dist, point === 'in-sweeper')
        for (let round = 1; round <= POINT_ROUNDS; round++) {
          const arm = { point, at: 1 + Math.floor(Math.random() * passings) }
          running = rounds.begin({ next: `r${round}`, arm })
          await rounds.recovered(running)
          expect(await running.line('stopped')).toEqual({ stopped: point })
          await rounds.killed(running)
        }
        await rounds.verify(point, (program) => (running = program))
      })
    }

    it(`at any instant: ${RANDOM_ROUNDS} kills`, { timeout }, async () => {
      database = await TestDatabase.create(kind)
      const rounds = roundsOf(database, dist, true)
      let recovers = true
      for (let round = 1; round <= RANDOM_ROUNDS; round++) {
        running = rounds.begin({ next: `r${round}`, arm: null })
        // Occasionally while it recovers from the last kill, but not twice in a row, since attempts are limited.
        recovers = !recovers || Math.random() < 0.75
        if (recovers) {
          await rounds.recovered(running)
          await running.line('began')
        }
        await new Promise((resolve) => setTimeout(resolve, Math.random() * 500))
        await rounds.killed(running)
      }
      await rounds.verify('any instant', (program) => (running = program))
    })

    it(`suspended for longer than its session lasts, then resumed: ${SLEEPER_ROUNDS} rounds`, { timeout }, async () => {
      database = await TestDatabase.create(kind)
      const rounds = roundsOf(database, dist, false)
      for (let round = 1; round <= SLEEPER_ROUNDS; round++) {
        const sleeper = rounds.begin({ next: `r${round}`, arm: null })
        running = sleeper
        await rounds.recovered(sleeper)
        await sleeper.line('began')
        await new Promise((resolve) => setTimeout(resolve, Math.random() * 150))
        sleeper.signal('SIGSTOP')
        const successor = rounds.begin({ next: null, arm: null })
        try {
          // A process suspended inside a transaction holds its locks: the other cannot finish before it resumes.
          const finished = rounds.recovered(successor)
          await Promise.race([finished, new Promise((resolve) => setTimeout(resolve, 2_000))])
          sleeper.signal('SIGCONT')
          await finished
          expect(await successor.exit()).toBe('code 0')
        } finally {
          await successor.kill()
        }
        await sleeper.line('finished')
        await rounds.killed(sleeper)
      }
      await rounds.verify('stopped and woken', (program) => (running = program))
    })
  })
}

function roundsOf(database: TestDatabase, dist: string, swept: boolean): Rounds {
  const ends = swept ? { ...EXPECTED, ...EXPECTED_SWEPT } : EXPECTED
  return new Rounds(database, { dist, swept }, { ends, roles: EXPECTED_ROLES })
}
