/**
 * A Petrel for tests of workflows: on a store of its own, with a clock that is moved instead of waited for. Sessions do
 * not expire, however far the clock is moved, and backoff has no jitter.
 */

import type { Engine } from '../engine/engine.ts'
import { PetrelError } from '../kernel/errors.ts'
import type { RunRow } from '../model/rows.ts'
import { type OpenOptions, openEngine } from './open.ts'
import { type Petrel, petrelOn } from './petrel.ts'

const LOOK_MS = 5
const PATIENCE_MS = 10_000
const PORTION = 1_000
const SESSION_TTL_MS = 1e12

export interface TestOptions extends OpenOptions {
  /** Default `sqlite::memory:`. Any other database should be used by this test alone: its clock is moved. */
  readonly url?: string
}

export interface TestClock {
  /** Milliseconds since the epoch. */
  now(): Promise<number>
  /** Moves the clock forward. Whatever became due by that has happened, or can be claimed, when this resolves. */
  move(ms: number): Promise<void>
  /** Moves the clock to the next moment at which something becomes due. false: time alone changes nothing. */
  moveToNext(): Promise<boolean>
}

export interface TestPetrel {
  readonly petrel: Petrel
  readonly clock: TestClock
  /**
   * Resolves when nothing more happens unless the clock is moved or a client acts: no handler runs, and no worker could
   * claim anything. Rejects if that takes longer than `timeoutMs`, 10 seconds unless given.
   */
  idle(options?: { readonly timeoutMs?: number }): Promise<void>
  /** Stops the workers and closes the store. */
  close(): Promise<void>
}

export async function openTestPetrel(options: TestOptions = {}): Promise<TestPetrel> {
  const { url = 'sqlite::memory:', ...rest } = options
  const given = { sessionTtlMs: SESSION_TTL_MS, heartbeatMs: 50, pollMs: 20, random: () => 0.5, ...rest }
  const engine = await openEngine(url, given)
  const petrel = petrelOn(engine, given)
  return {
    petrel,
    clock: clockOf(engine),
    idle: ({ timeoutMs = PATIENCE_MS } = {}) => untilIdle(engine, timeoutMs),
    close: () => petrel.close({ graceMs: 0 }),
  }
}

function clockOf({ simulation }: Engine): TestClock {
  const move = async (ms: number): Promise<void> => {
    if (!(ms >= 0)) throw new PetrelError('invalid_request', `the clock only moves forward: ${ms}`)
    await simulation.moveBy(ms)
    await simulation.sweep()
  }
  return {
    now: () => simulation.now(),
    move,
    moveToNext: async () => {
      const dueAt = await simulation.nextDueAt()
      if (dueAt === null) return false
      await move(Math.max(0, dueAt - (await simulation.now())))
      return true
    },
  }
}

async function untilIdle(engine: Engine, timeoutMs: number): Promise<void> {
  const until = performance.now() + timeoutMs
  for (;;) {
    if (await engine.simulation.isCutOff()) await engine.simulation.sweep()
    const busy = await firstBusy(engine)
    if (busy === null) return
    if (performance.now() > until) {
      const { id, type, status } = busy
      throw new Error(`not idle after ${timeoutMs} ms: run ${id} of type '${type}' is ${status}`)
    }
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
  }
}

/** A run that a worker executes, or will claim. */
async function firstBusy(engine: Engine): Promise<RunRow | null> {
  const all = { queue: null, type: null, deadLetter: null, tenant: null, limit: PORTION, before: null }
  const runs = await engine.queries.listRuns({ ...all, status: ['pending', 'leased'] })
  const now = await engine.simulation.now()
  for (const run of runs) {
    if (run.status === 'leased' ? !run.deferred : run.runAt <= now && (await isClaimable(engine, run))) return run
  }
  return null
}

/** Only its place in the queue delays it. */
async function isClaimable(engine: Engine, run: RunRow): Promise<boolean> {
  const { reasons } = await engine.whyRun(run)
  return reasons.every(({ kind }) => kind === 'queue')
}
