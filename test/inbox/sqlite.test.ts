/** Work by plain SQL on an SQLite file: the sqlite3 tool, as a separate process, produces and executes. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openStore } from '../../src/store/open.ts'
import type { Drive } from '../engine/drive.ts'
import { chain, events, job, workflow } from '../engine/specifications/stage.ts'
import { ToolStage } from './sqlite-stage.ts'
import { hasSqlite3, SqliteTool, type ToolWorker } from './sqlite-tool.ts'
import { eventually, NEVER_MS } from './stage.ts'

describe.skipIf(!hasSqlite3())('the sqlite3 tool as a producer', () => {
  let t: ToolStage
  let d: Drive
  beforeEach(async () => {
    t = await ToolStage.open()
    d = t.s.d
  })
  afterEach(async () => {
    expect(await d.doctor()).toEqual([])
    await t.close()
  })

  it('an INSERT with type, payload and key is an inbox run, on the store’s clock, created once', async () => {
    await d.store.moveClock(86_400_000)
    const id = await t.insert({ idempotency_key: 'content:c_123' })
    const run = await t.run(id)
    const now = await d.store.now()
    expect(run).toMatchObject({
      status: 'pending',
      priority: 100,
      attempt: 0,
      maxAttempts: 3,
      queue: 'default',
      idempotencyKey: 'content:c_123',
      inbox: true,
    })
    for (const moment of [run.runAt, run.createdAt]) expect(Math.abs(moment - now)).toBeLessThan(60_000)
    expect(await t.recorded(id)).toEqual(['created'])
    expect(JSON.parse((await d.claimOne()).payload)).toEqual({ width: 300 })
  })

  it('fields set by a producer are kept: priority, a later time, attempts, queue', async () => {
    const later = (await d.store.now()) + 3_600_000
    const id = await t.insert({ priority: -5, run_at: later, max_attempts: 7, queue: 'media', tenant: 'acme' })
    expect(await t.run(id)).toMatchObject({
      priority: -5,
      runAt: later,
      maxAttempts: 7,
      queue: 'media',
      tenant: 'acme',
    })
    expect(await t.recorded(id)).toEqual([`created ${JSON.stringify({ run_at: new Date(later).toISOString() })}`])
    expect(await d.claim()).toEqual([])
  })

  it('a second INSERT of a key changes nothing and wakes no process, also when retention has removed the first', async () => {
    await t.insert({ idempotency_key: 'k' })
    const again = `INTO workflow_run (type, payload, idempotency_key) VALUES ('a.v1', '{}', 'k')`
    const second = [
      `INSERT ${again} ON CONFLICT (idempotency_key) DO NOTHING`,
      `INSERT ${again} ON CONFLICT DO NOTHING`,
      `INSERT OR IGNORE ${again}`,
    ]
    // The file that wakes other processes: it changes with every commit that writes.
    const watcher = t.another()
    const version = (): Promise<unknown> => watcher.one('PRAGMA data_version')
    const before = await version()
    for (const sql of second) {
      expect(await t.tool.ask(`${sql} RETURNING id`)).toEqual([])
      expect(await t.tool.change(sql)).toBe(0)
    }
    expect(await version()).toEqual(before)
    await expect(t.tool.ask(`INSERT ${again}`)).rejects.toThrow(
      'UNIQUE constraint failed: workflow_run.idempotency_key',
    )
    await d.succeed(await d.claimOne())
    await d.store.sweep.prune({ endedBefore: (await d.store.now()) + 1, eventsBefore: 0, limit: 100 })
    for (const sql of [...second, `INSERT ${again}`]) expect(await t.tool.change(sql)).toBe(0)
    expect(await d.claim()).toEqual([])
  })

  it('an insert that is rolled back, or whose process is killed, leaves nothing', async () => {
    const insert = `INSERT INTO workflow_run (type, payload) VALUES ('a.v1', '{}')`
    await t.tool.ask(`BEGIN; ${insert}; ROLLBACK`)
    const killed = new SqliteTool(t.path)
    await killed.ask(`BEGIN; ${insert}`)
    await killed.kill()
    expect(await t.tool.ask('SELECT id FROM workflow_run UNION ALL SELECT id FROM workflow_event')).toEqual([])
    await t.insert()
    expect(await d.claim()).toHaveLength(1)
  })

  it('a run committed while no Petrel process ran is executed by the next', async () => {
    await d.engine.close()
    await d.store.close()
    const id = await t.insert()
    const store = await openStore(t.s.url)
    const found = await store.read.run(id)
    expect(found).toMatchObject({ status: 'pending', inbox: true })
    expect(await t.recorded(id)).toEqual(['created'])
    await store.close()
    // Opened again for afterEach.
    await t.close()
    t = await ToolStage.open()
    d = t.s.d
  })

  it('a running worker begins at once, however rarely it polls', async () => {
    await d.session.close()
    const engine = await t.s.second({ pollMs: NEVER_MS })
    const got: string[] = []
    const session = await engine.workers.open(
      { name: 'w', runtime: 'node', queues: null, types: ['content.%'], concurrency: 10, tenant: null },
      {
        room: () => 0,
        deliver: () => {},
        wake: () => void session.claim(10).then((runs) => got.push(...runs.map((run) => run.runId))),
        holding: () => got,
        stop: () => {},
      },
    )
    const id = await t.insert()
    const since = performance.now()
    await eventually(() => got.includes(id), 'the worker has it')
    expect(performance.now() - since).toBeLessThan(2_000)
    await session.close()
  })
})

describe.skipIf(!hasSqlite3())('the sqlite3 tool as a worker', () => {
  let t: ToolStage
  let d: Drive
  let sh: ToolWorker
  beforeEach(async () => {
    t = await ToolStage.open()
    d = t.s.d
    sh = t.worker()
  })
  afterEach(async () => {
    await d.engine.sweep()
    expect(await d.doctor()).toEqual([])
    await t.close()
  })

  it('claims, sends heartbeats and completes; the row is clean and every event recorded once', async () => {
    const id = await t.insert({ timeout_ms: 60_000 })
    expect(await sh.claimed('content.%')).toEqual({ id, attempt: 0 })
    const held = await t.run(id)
    const now = await d.store.now()
    expect(held).toMatchObject({ status: 'leased', leasedBy: 'sh-1', sessionId: null, leaseMs: null, leasedAt: null })
    expect(held.firstStartedAt).toBe(held.startedAt)
    expect(held.timeoutAt).toBe((held.startedAt as number) + 60_000)
    expect(Math.abs((held.startedAt as number) - now)).toBeLessThan(60_000)
    expect(await sh.heartbeat(id, 90)).toBe(1)
    expect(await sh.succeed(id, '{"url":"/t/1"}')).toBe(1)
    await d.engine.sweep()
    expect(await t.run(id)).toMatchObject({
      status: 'succeeded',
      result: '{"url":"/t/1"}',
      leasedBy: null,
      leaseUntil: null,
      epoch: 1,
      attempt: 0,
      error: null,
      settledAt: expect.any(Number),
      finishedAt: expect.any(Number),
    })
    expect(await t.recorded(id)).toEqual([
      'created',
      'leased {"worker_id":"sh-1","attempt":0}',
      'started {"worker_id":"sh-1"}',
      'heartbeat {"extended_by_seconds":90}',
      'succeeded',
    ])
  })

  it('fails: the attempt counts, the run is pending again, the last failure is final', async () => {
    const id = await t.insert({ max_attempts: 2 })
    expect(await sh.fail(await sh.claimed())).toBe(1)
    const waiting = await t.run(id)
    expect(waiting).toMatchObject({
      status: 'pending',
      attempt: 1,
      epoch: 1,
      leasedBy: null,
      leaseUntil: null,
      startedAt: null,
      lastError: 'no route',
      error: '{"code":"handler_error","message":"no route"}',
    })
    expect(await sh.claim()).toBeNull()
    await d.pass(61_000)
    // It is pending without attempts left.
    expect(await sh.fail(await sh.claimed())).toBe(1)
    await d.engine.sweep()
    expect(await t.run(id)).toMatchObject({ status: 'failed', attempt: 2, epoch: 2, unknown: false })
    const error = '"error":{"code":"handler_error","message":"no route"}'
    expect(await t.recorded(id)).toEqual([
      'created',
      'leased {"worker_id":"sh-1","attempt":0}',
      'started {"worker_id":"sh-1"}',
      `retried {"attempt":1,${error},"run_at":"${new Date(waiting.runAt).toISOString()}"}`,
      'leased {"worker_id":"sh-1","attempt":1}',
      'started {"worker_id":"sh-1"}',
      `failed {"attempt":2,${error}}`,
    ])
  })

  it('ends a run as failed without counting: the attempt is counted for it', async () => {
    const id = await t.insert()
    await sh.claimed()
    const failed = `UPDATE workflow_run SET status = 'failed', last_error = 'bad input' WHERE id = '${id}'`
    expect(await t.tool.change(failed)).toBe(1)
    await d.engine.sweep()
    expect(await t.run(id)).toMatchObject({ status: 'failed', attempt: 1, lastError: 'bad input' })
    expect(await t.words(id)).toEqual(['created', 'leased', 'started', 'failed'])
  })

  it('returns a run: at no cost in time, for an attempt after its lease', async () => {
    const id = await t.insert()
    await sh.claimed()
    expect(await sh.giveBack(id)).toBe(1)
    expect(await t.run(id)).toMatchObject({ status: 'pending', attempt: 0, epoch: 1, leasedBy: null })
    await sh.claimed()
    await d.store.moveClock(31_000)
    expect(await sh.giveBack(id)).toBe(1)
    expect(await t.run(id)).toMatchObject({ status: 'pending', attempt: 1, epoch: 2, lastError: 'the lease ran out' })
    expect(await t.words(id)).toEqual(['created', 'leased', 'started', 'returned', 'leased', 'started', 'retried'])
  })

  it('takes over another worker’s expired lease, for an attempt; without one left the run fails', async () => {
    const id = await t.insert({ max_attempts: 2 })
    const other = t.worker('sh-2')
    await sh.claimed()
    await d.store.moveClock(31_000)
    // RETURNING could only show the old attempt, so the first statement takes the run back and the second leases it.
    expect(await other.claim()).toBeNull()
    expect(await t.run(id)).toMatchObject({ status: 'pending', attempt: 1, epoch: 1 })
    expect(await other.claim()).toEqual({ id, attempt: 1 })
    await d.store.moveClock(62_000)
    expect(await sh.claim()).toBeNull()
    expect(await t.run(id)).toMatchObject({ status: 'failed', attempt: 2, unknown: true, settledAt: null })
    await d.engine.sweep()
    const recorded = await t.recorded(id)
    expect(recorded.map((line) => line.split(' ')[0])).toEqual([
      'created',
      'leased',
      'started',
      'retried',
      'leased',
      'started',
      'failed',
    ])
    expect(recorded.at(-1)).toContain('lease_expired')
    expect((await t.run(id)).settledAt).not.toBeNull()
  })

  it('its completion advances a workflow at once, however rarely the engine polls', async () => {
    const engine = await t.s.second({ pollMs: NEVER_MS })
    const id = await workflow(d, chain(job('order.check.v1', { n: 7 }), job('order.ship.v1')))
    const first = await sh.claimed('order.check.%')
    await sh.succeed(first.id, '"checked"')
    let second = await sh.claim('order.ship.%')
    await eventually(async () => (second ??= await sh.claim('order.ship.%')) !== null, 'the next step is there')
    await sh.succeed((second as unknown as { id: string }).id, '"shipped"')
    expect(await engine.ended({ id, kind: 'instance' })).toBe('completed')
    expect(await d.results(id)).toEqual({ 0: 'checked', 1: 'shipped' })
    expect((await events(d, id)).filter((line) => line.startsWith('succeeded'))).toEqual(['succeeded 0', 'succeeded 1'])
    expect(await t.words(first.id)).toEqual(['created', 'leased', 'started', 'succeeded'])
  })

  it('a step that fails for the last time ends its workflow with the reason', async () => {
    const id = await workflow(d, chain(job('order.check.v1', null, 1), job('order.ship.v1')))
    await sh.fail(await sh.claimed(), true)
    await d.engine.sweep()
    expect(await d.state(id)).toBe('failed')
    expect((await d.engine.view(id))?.error).toMatchObject({ message: 'no route' })
  })
})
