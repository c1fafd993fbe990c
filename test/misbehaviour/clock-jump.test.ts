/**
 * A clock that jumps an hour ahead and back. Whatever was derived from the hour that did not come lasts no longer, from the
 * correction on, than its own length; and times that a caller named stay as named.
 */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { GateWork, Json } from '../../src/net/net.ts'
import { Drive, net, node, PLACES, run } from '../engine/drive.ts'

const HOUR = 3_600_000

describe.each(PLACES)('a clock that jumps ahead and back ($name)', (place) => {
  let d: Drive
  beforeEach(async () => {
    d = await Drive.open(place, { sessionTtlMs: 1e9, heartbeatMs: 1e6 })
    await d.engine.sweep()
  })
  afterEach(() => d.close())

  /** What happens an hour ahead; then the clock is right again. */
  async function ahead<T>(work: () => Promise<T>): Promise<T> {
    await d.pass(HOUR)
    const value = await work()
    await d.pass(-HOUR)
    return value
  }

  const enqueue = async (rest: object = {}): Promise<string> => {
    const [made] = await d.engine.enqueue([{ type: 'jump', payload: {}, ...rest }])
    return (made as { id: string }).id
  }

  test('work that is due at once is', async () => {
    await ahead(() => enqueue())
    expect(await d.claim()).toHaveLength(1)
  })

  test('a time that the caller named stays', async () => {
    const runAt = (await d.store.now()) + 2 * HOUR
    const id = await ahead(() => enqueue({ runAt }))
    expect((await d.store.read.run(id))?.runAt).toBe(runAt)
  })

  test('a retry waits for its own delay', async () => {
    const retry = { maxAttempts: 3, backoff: 'constant' as const, initialMs: 10_000, jitter: 0 }
    const id = await ahead(async () => {
      const made = await enqueue({ retry })
      await d.fail(await d.claimOne())
      return made
    })
    const { runAt, status } = (await d.store.read.run(id))!
    expect(status).toBe('pending')
    expect(runAt - (await d.store.now())).toBeLessThanOrEqual(10_000)
    // Corrected once, whoever looks again.
    await d.store.sweep.clockWentBack({ known: true })
    expect((await d.store.read.run(id))?.runAt).toBe(runAt)
    await d.pass(10_100)
    expect(await d.claim()).toHaveLength(1)
  })

  test('a lease ends after its own length', async () => {
    const id = await enqueue()
    const about = { holder: 'w', queues: null, types: null, limit: 1, runtime: null, tenant: null }
    await ahead(() => d.engine.leases.fetch({ ...about, leaseMs: () => 10_000, waitMs: 0 }))
    expect((await d.store.read.run(id))?.status).toBe('leased')
    await d.pass(10_100)
    expect((await d.store.read.run(id))?.status).not.toBe('leased')
  })

  test('a session that no longer beats is dead after its own time', async () => {
    const about = {
      id: 'gone',
      name: 'gone',
      host: 'h',
      pid: 1,
      runtime: 'node',
      queues: [],
      types: [],
      concurrency: 1,
    }
    const times = { startedAt: 0, heartbeatAt: 0, expiresAt: 0 }
    const worker = { ...about, ...times, state: 'running' as const, tenant: null, holds: 'session' as const }
    await ahead(() => d.store.sweep.beat({ worker, ttlMs: 10_000 }))
    const state = async (): Promise<string | undefined> =>
      (await d.store.read.workers()).find(({ id }) => id === 'gone')?.state
    expect(await state()).toBe('running')
    await d.pass(10_100)
    expect(await state()).toBe('dead')
  })

  test('a timeout counts from the correction', async () => {
    const id = await enqueue({ timeoutMs: 10_000, maxAttempts: 1 })
    await ahead(async () => {
      const { runId, epoch } = await d.claimOne()
      await d.store.sweep.started({ runs: [{ id: runId, epoch, at: await d.store.now() }] })
    })
    expect((await d.store.read.run(id))?.status).toBe('leased')
    await d.pass(10_100)
    expect((await d.store.read.run(id))?.status).toBe('failed')
  })

  test('the window of a rate opens again', async () => {
    await d.engine.setLimit({ key: 'queue:default', ratePer: 1, periodMs: 10_000 })
    await enqueue()
    await enqueue()
    await ahead(async () => {
      expect(await d.claim()).toHaveLength(1)
      expect(await d.claim()).toHaveLength(0)
    })
    await d.pass(10_100)
    expect(await d.claim()).toHaveLength(1)
  })

  test('a unique key is free after its period', async () => {
    const unique = {
      key: 'one',
      periodMs: 10_000,
      onConflict: 'ignore' as const,
      states: ['pending', 'available', 'succeeded'],
    }
    await ahead(() => enqueue({ unique }))
    await d.pass(10_100)
    await enqueue({ unique })
    expect(await d.claim()).toHaveLength(2)
  })

  test('a deadline of an instance and of a gate count from the correction', async () => {
    const work: GateWork = { kind: 'gate', options: {} as Json, timeoutMs: 10_000, onTimeout: 'reject' }
    const ids = await ahead(async () => [
      await d.start({ net: net([node('a', [], { work: run('jump') })], { timeoutMs: 10_000 }) }),
      await d.start({ net: net([node('g', [], { work })]) }),
    ])
    await d.pass(10_100)
    expect(await Promise.all(ids.map((id) => d.state(id)))).toEqual(['failed', 'failed'])
  })

  test('crons and schedules fire by their expression, and no time twice', async () => {
    await d.engine.putSchedule({
      name: 'm',
      expression: '* * * * *',
      overlap: 'allow',
      run: { type: 'cron', payload: {} },
    })
    await d.engine.putSchedule({
      name: 'e',
      expression: '@every 1m',
      overlap: 'allow',
      run: { type: 'every', payload: {} },
    })
    await d.engine.inboxSchedules.add({ type: 'inbox.v1', schedule: '* * * * *' })
    await ahead(async () => void (await d.claim()))
    for (let minute = 0; minute < 3; minute++) await d.pass(60_000)
    const fired = (await d.claim()).map(({ type }) => type)
    // The minute that was due when the clock jumped has fired ahead of it, and is not repeated.
    for (const type of ['cron', 'every', 'inbox.v1']) {
      expect([2, 3], `${type} in ${fired}`).toContain(fired.filter((one) => one === type).length)
    }
  })

  test('an engine that starts after the correction finds it out by itself', async () => {
    await d.pass(HOUR)
    const id = await enqueue()
    // No engine looks while the clock is set back.
    await d.store.moveClock(0)
    expect((await d.store.read.run(id))?.runAt).toBeGreaterThan(await d.store.now())
    expect(await d.store.sweep.clockWentBack({ known: false })).toBe(true)
    expect((await d.store.read.run(id))?.runAt).toBeLessThanOrEqual(await d.store.now())
  })
})
