/**
 * The store is unavailable for a while, or the operator stops a process: work waits and continues, and nothing is lost.
 */

import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { chain, group, job, Petrel } from '../../src/index.ts'
import { engineOf } from '../engine-of.ts'
import { postgresUrl } from '../services.ts'
import { audit } from './audit.ts'
import { type StoreKind, TestDatabase } from './database.ts'
import { wrongEnds } from './ends.ts'
import { built, Program } from './process.ts'
import { EXPECTED } from './workloads.mjs'

const full = process.env['PETREL_TEST_FULL'] === '1'
const WAVES = full ? 40 : 4
/** After this time the connections are left alone, so that the remaining waves can end. */
const CUTTING_MS = full ? 60_000 : 5_000
const TIMEOUT_MS = full ? 600_000 : 90_000
const program = (name: string): string => fileURLToPath(new URL(name, import.meta.url))

let dist = ''
let database: TestDatabase
let running: Program[] = []

beforeAll(() => {
  dist = built()
}, 120_000)

afterEach(async () => {
  await Promise.all(running.map((p) => p.kill()))
  running = []
  await database.drop()
}, 120_000)

function begin(name: string, settings: object): Program {
  const begun = new Program(program(name), { dist, url: database.url, effectsFile: database.effectsFile, ...settings })
  running.push(begun)
  return begun
}

describe.skipIf(postgresUrl() === null)('connections to Postgres that are cut repeatedly', () => {
  it(`${WAVES} waves of workflows in two processes end correctly`, { timeout: TIMEOUT_MS }, async () => {
    database = await TestDatabase.create('postgres')
    const orders = { finish: [], arm: null, swept: false, sessionTtlMs: 3_000, waves: WAVES / 2 }
    const processes = ['a', 'b'].map((next) => begin('program.mjs', { ...orders, next }))
    await Promise.all(processes.map((p) => p.line('ready')))

    const cutter = cutConnections(database.url, CUTTING_MS)
    const wrong = await Promise.all(processes.map((p) => wrongOf(p, WAVES / 2))).finally(() => cutter.stop())
    const cuts = await cutter.stop()
    for (const p of processes) expect(await p.exit()).toBe('code 0')

    const { violations, counts } = await audit(database, { effects: true })
    console.log(`${cuts} connections cut during ${WAVES} waves`, JSON.stringify(counts))
    expect(wrong.flat()).toEqual([])
    expect(violations).toEqual([])
    expect(cuts).toBeGreaterThan(WAVES)
  })
})

async function wrongOf(process: Program, waves: number): Promise<string[]> {
  const wrong: string[] = []
  for (let wave = 0; wave < waves; wave++) {
    const finished = await process.line('finished', TIMEOUT_MS)
    wrong.push(...wrongEnds(finished, EXPECTED))
  }
  return wrong
}

/** Ends all connections to a database, at irregular intervals, for some time or until stopped. */
function cutConnections(url: string, forMs: number): { stop(): Promise<number> } {
  let cutting = true
  const endsAt = performance.now() + forMs
  const done = (async () => {
    const admin = new pg.Client({ connectionString: postgresUrl() as string })
    await admin.connect()
    let cuts = 0
    const name = new URL(url).pathname.slice(1)
    const cut = 'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1'
    while (cutting && performance.now() < endsAt) {
      await new Promise((resolve) => setTimeout(resolve, 100 + Math.random() * 400))
      cuts += (await admin.query(cut, [name])).rowCount ?? 0
    }
    await admin.end()
    return cuts
  })()
  return {
    stop: () => {
      cutting = false
      return done
    },
  }
}

describe('SIGTERM during work (sqlite)', () => sigtermSuite('sqlite'))
describe.skipIf(postgresUrl() === null)('SIGTERM during work (postgres)', () => sigtermSuite('postgres'))

function sigtermSuite(kind: StoreKind): void {
  const step = (n: number) => job('step', n, { retry: { maxAttempts: 1 } })

  it('lets started steps end and returns the others; the next process executes those once', {
    timeout: 60_000,
  }, async () => {
    database = await TestDatabase.create(kind)
    const petrel = await Petrel.open(database.url, { sweep: false })
    const service = begin('service.mjs', { concurrency: 4, stepMs: 150, graceMs: 5_000 })
    await service.line('ready')
    const handles = await petrel.startMany([
      chain([step(1), step(2), step(3)]),
      chain([step(1), step(2), step(3)]),
      group(Array.from({ length: 12 }, (_, n) => step(n))),
    ] as const)
    await service.line('busy')
    service.signal('SIGTERM')

    expect(await service.line('stopping')).toEqual({ stopping: 4 })
    expect(await service.line('stopped')).toEqual({ stopped: 0 })
    expect(await service.exit()).toBe('code 0')
    // Started work is recorded; the process that left holds nothing.
    const runs = await database.rows<{ id: string; status: string; attempt: number }>(
      'SELECT id, status, attempt FROM workflow.workflow_run',
    )
    const begun = new Set((await database.effects()).map((effect) => effect.runId))
    expect(begun.size).toBeGreaterThanOrEqual(4)
    for (const { id, status, attempt } of runs) {
      expect({ status, attempt }).toEqual({ status: begun.has(id) ? 'succeeded' : 'pending', attempt: 0 })
    }

    const successor = begin('service.mjs', { concurrency: 4, stepMs: 10, graceMs: 5_000 })
    expect(await Promise.all(handles.map((handle) => handle.result()))).toEqual([
      3,
      3,
      Array.from({ length: 12 }, (_, n) => n),
    ])
    successor.signal('SIGTERM')
    expect(await successor.exit()).toBe('code 0')
    await petrel.close()
    const { violations, counts } = await audit(database, { effects: true })
    expect(violations).toEqual([])
    expect(counts).toMatchObject({ runs: 18, effects: 18, lost: 0 })
  })

  it('steps that do not end in time are aborted and count as failed by shutdown', { timeout: 60_000 }, async () => {
    database = await TestDatabase.create(kind)
    const petrel = await Petrel.open(database.url, { sweep: false })
    const service = begin('service.mjs', { concurrency: 1, stepMs: 20_000, graceMs: 100 })
    await service.line('ready')
    const run = await petrel.enqueue(job('step', 1, { retry: { maxAttempts: 2, initialMs: 1, jitter: 0 } }))
    await service.line('busy')
    service.signal('SIGTERM')
    expect(await service.exit()).toBe('code 0')
    const row = await engineOf(petrel).queries.run(run.id)
    expect(row).toMatchObject({ status: 'pending', attempt: 1 })
    expect(JSON.parse(row?.error as string)).toMatchObject({ code: 'shutdown' })
    await petrel.close()
  })
}

describe('an SQLite file locked by another program', () => {
  it('for 2 s: work waits and continues', { timeout: 60_000 }, async () => {
    const { tookMs, counts } = await lockedFor(2_000)
    expect(tookMs).toBeGreaterThan(1_500)
    expect(counts).toMatchObject({ runs: 10 * 5, effects: 10 * 5, lost: 0, returned: 0 })
  })

  if (full) {
    // Longer than the store itself waits: outcomes are kept and sent again.
    it('for 8 s: outcomes wait and are recorded', { timeout: 60_000 }, async () => {
      const { tookMs, counts } = await lockedFor(8_000)
      expect(tookMs).toBeGreaterThan(7_500)
      expect(counts).toMatchObject({ runs: 10 * 5, effects: 10 * 5, lost: 0, returned: 0 })
    })
  }

  async function lockedFor(holdMs: number): Promise<{ tookMs: number; counts: object }> {
    database = await TestDatabase.create('sqlite')
    const service = begin('service.mjs', { concurrency: 10, stepMs: 100, graceMs: 5_000 })
    const locker = begin('locker.mjs', { holdMs })
    await Promise.all([service.line('ready'), locker.line('ready')])
    const petrel = await Petrel.open(database.url, { sweep: false })
    const five = () => chain(Array.from({ length: 5 }, (_, n) => job<number>('step', n)))
    const handles = await petrel.startMany(Array.from({ length: 10 }, five))
    await service.line('busy')
    locker.tell({ lock: true })
    await locker.line('locked')
    const lockedAt = performance.now()
    const results = await Promise.all(handles.map((handle) => handle.result()))
    const tookMs = performance.now() - lockedAt
    expect(results).toEqual(handles.map(() => 4))
    await locker.line('unlocked')
    service.signal('SIGTERM')
    expect(await service.exit()).toBe('code 0')
    await petrel.close()
    const { violations, counts } = await audit(database, { effects: true })
    expect(violations).toEqual([])
    return { tookMs, counts }
  }
})
