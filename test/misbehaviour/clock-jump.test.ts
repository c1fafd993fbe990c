/**
 * A clock that jumps an hour ahead and back. Times computed during the jump last, from the correction on, no longer
 * than their own duration; and times given by a caller stay as given.
 */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { WebhookRow } from '../../src/model/webhooks.ts'
import type { GateWork, Json } from '../../src/net/net.ts'
import { Drive, net, node, ONCE, PLACES, run } from '../engine/drive.ts'
import { Foreign, SHARED } from '../inbox/foreign.ts'

const HOUR = 3_600_000

describe.each(PLACES)('a clock that jumps ahead and back ($name)', (place) => {
  let d: Drive
  beforeEach(async () => {
    d = await Drive.open(place, { sessionTtlMs: 1e9, heartbeatMs: 1e6 })
    await d.engine.sweep()
  })
  afterEach(() => d.close())

  /** Runs an action an hour ahead; then the clock is correct again. */
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

  test('work that is due at once stays due', async () => {
    await ahead(() => enqueue())
    expect(await d.claim()).toHaveLength(1)
  })

  test('a time given by the caller stays', async () => {
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
    // Corrected once, however often it is checked.
    await d.store.sweep.clockWentBack({ known: true })
    expect((await d.store.read.run(id))?.runAt).toBe(runAt)
    await d.pass(10_100)
    expect(await d.claim()).toHaveLength(1)
  })

  test('a lease ends after its own duration', async () => {
    const id = await enqueue()
    const about = { holder: 'w', queues: null, types: null, limit: 1, runtime: null, tenant: null }
    await ahead(() => d.engine.leases.fetch({ ...about, leaseMs: () => 10_000, waitMs: 0 }))
    expect((await d.store.read.run(id))?.status).toBe('leased')
    await d.pass(10_100)
    expect((await d.store.read.run(id))?.status).not.toBe('leased')
  })

  test('a session without heartbeats is dead after its own time', async () => {
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
    const worker = {
      ...about,
      ...times,
      state: 'running' as const,
      tenant: null,
      holds: 'session' as const,
      build: null,
    }
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

  test('the window of a rate ends', async () => {
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
    // The minute that was due when the clock jumped fired during the jump, and is not repeated.
    for (const type of ['cron', 'every', 'inbox.v1']) {
      expect([2, 3], `${type} in ${fired}`).toContain(fired.filter((one) => one === type).length)
    }
  })

  /** Read after the correction; corrected once, however often it is checked. */
  async function expectStable(time: () => Promise<number | null | undefined>, lengthMs: number): Promise<void> {
    const now = await d.store.now()
    const at = await time()
    expect((at ?? Number.NaN) - now).toBeLessThanOrEqual(lengthMs)
    expect((at ?? Number.NaN) - now).toBeGreaterThan(lengthMs - 5_000)
    await d.store.sweep.clockWentBack({ known: true })
    expect(await time()).toBe(at)
  }
  const runOf = async (id: string) => (await d.store.read.run(id))!
  const CASES: readonly {
    what: string
    lengthMs: number
    of: () => Promise<() => Promise<number | null | undefined>>
  }[] = [
    {
      what: 'a delay that was counted from now',
      lengthMs: 10_000,
      of: async () => {
        const id = await ahead(() => enqueue({ delayMs: 10_000 }))
        return async () => (await runOf(id)).runAt
      },
    },
    {
      what: 'the delay of a step',
      lengthMs: 10_000,
      of: async () => {
        const id = await ahead(() => d.start({ net: net([node('a', [], { work: run('jump', { delayMs: 10_000 }) })]) }))
        return async () => (await d.store.read.instanceRuns({ instanceId: id, after: null, limit: 1 }))[0]?.runAt
      },
    },
    {
      what: 'a retry that waits for longer than the clock was ahead',
      lengthMs: 2 * HOUR,
      of: async () => {
        const retry = { maxAttempts: 3, backoff: 'constant' as const, initialMs: 2 * HOUR, maxMs: 9 * HOUR, jitter: 0 }
        const id = await ahead(async () => {
          const made = await enqueue({ retry })
          await d.fail(await d.claimOne())
          return made
        })
        return async () => (await runOf(id)).runAt
      },
    },
    {
      what: 'an expiry that was counted from now',
      lengthMs: 2 * HOUR,
      of: async () => {
        const id = await ahead(() => enqueue({ expiresInMs: 2 * HOUR }))
        return async () => (await runOf(id)).expiresAt
      },
    },
    {
      what: 'the timeout of a run that was leased ahead and starts now',
      lengthMs: 10_000,
      of: async () => {
        const id = await enqueue({ timeoutMs: 10_000 })
        const { runId, epoch } = await ahead(() => d.claimOne())
        await d.store.sweep.started({ runs: [{ id: runId, epoch, at: await d.store.now() }] })
        return async () => (await runOf(id)).timeoutAt
      },
    },
    {
      what: 'a timeout over all attempts, the first of them ahead',
      lengthMs: 2 * HOUR,
      of: async () => {
        const retry = { ...ONCE, maxAttempts: 3 }
        const start = { net: net([node('a', [], { timeout: { ms: 2 * HOUR, per: 'node' }, retry })]) }
        const id = await ahead(async () => {
          const made = await d.start(start)
          await d.fail(await d.claimOne())
          return made
        })
        const { runId, epoch } = await d.claimOne()
        await d.store.sweep.started({ runs: [{ id: runId, epoch, at: await d.store.now() }] })
        return async () => (await d.store.read.instanceRuns({ instanceId: id, after: null, limit: 1 }))[0]?.timeoutAt
      },
    },
    {
      what: 'the deadline of an instance that was there before',
      lengthMs: 2 * HOUR,
      of: async () => {
        const id = await d.start({ net: net([node('a')], { timeoutMs: 2 * HOUR }), start: false })
        await ahead(() => d.engine.startInstance({ id, actor: 'ada' }))
        return async () => (await d.store.read.instance(id))?.deadlineAt
      },
    },
    {
      what: 'the next attempt at a webhook',
      lengthMs: 2 * HOUR,
      of: async () => {
        await webhook()
        await ahead(async () => {
          await deliveries('failed', 'due')
          const attempt = { id: 'failed', state: 'pending' as const, delayMs: 2 * HOUR, status: 500, error: '', ms: 1 }
          await d.store.webhooks.attempted({ webhookId: 'w', attempt })
        })
        const due = await d.store.webhooks.due({ webhookId: 'w', ordered: false, limit: 9 })
        expect(due.map(({ id }) => id)).toEqual(['due'])
        return async () => (await d.store.webhooks.delivery('failed'))?.nextAt
      },
    },
    {
      what: 'the grace of a replaced secret',
      lengthMs: 2 * HOUR,
      of: async () => {
        await webhook()
        await ahead(async () => {
          const set = { oldSecret: 'before', oldSecretUntil: (await d.store.now()) + 2 * HOUR }
          await d.store.webhooks.update({ id: 'w', set })
        })
        return async () => (await d.store.webhooks.find('w'))?.oldSecretUntil
      },
    },
    {
      what: 'a key that expires',
      lengthMs: 2 * HOUR,
      of: async () => {
        await ahead(async () => {
          const createdAt = await d.store.now()
          const about = {
            id: 'k',
            hash: 'h',
            subject: 's',
            scopes: ['admin'],
            roles: [],
            tenant: null,
            revokedAt: null,
          }
          await d.store.keys.add({ ...about, createdAt, expiresAt: createdAt + 2 * HOUR } as never)
        })
        return async () => (await d.store.keys.list())[0]?.expiresAt
      },
    },
  ]
  test.each(CASES)('$what lasts for its own time', async ({ lengthMs, of }) => expectStable(await of(), lengthMs))

  async function webhook(): Promise<void> {
    const now = await d.store.now()
    const set = { url: 'http://127.0.0.1:1/', events: ['*'], queues: null, jobTypes: null, metadata: null, secret: 's' }
    const none = {
      oldSecret: null,
      oldSecretUntil: null,
      lastAt: null,
      lastStatus: null,
      leaseBy: null,
      leaseUntil: null,
    }
    const how = { active: true, ordered: false, timeoutMs: 1000, maxAttempts: 8, cursor: 0, failures: 0 }
    const by = { id: 'w', tenant: null, createdBy: null, createdAt: now, updatedAt: now }
    await d.store.webhooks.add({ ...set, ...none, ...how, ...by } as WebhookRow)
    await d.store.webhooks.hold({ holder: 'h', leaseMs: 1e7 })
  }
  async function deliveries(...ids: string[]): Promise<void> {
    const rows = ids.map((id, part) => ({ id, feedId: 1, part, eventId: id, eventType: 'job.enqueued', body: '{}' }))
    expect(await d.store.webhooks.advance({ id: 'w', holder: 'h', from: 0, to: 1, deliveries: rows })).toBe(true)
  }

  test('work that was returned during the jump, long after it was due, is due', async () => {
    await ahead(async () => {
      await enqueue()
      const delivery = await d.claimOne()
      await d.pass(20_000)
      await d.session.settle({
        delivery,
        reportId: 'r',
        startedAt: null,
        outcome: { kind: 'released' },
        wantNext: false,
      })
      await d.pass(-20_000)
    })
    expect(await d.claim()).toHaveLength(1)
  })

  test('a unique key is held for its period, however many processes correct it', async () => {
    const unique = { key: 'two', periodMs: 2 * HOUR, onConflict: 'ignore' as const, states: ['pending', 'available'] }
    const first = await ahead(() => enqueue({ unique }))
    await d.store.sweep.clockWentBack({ known: true })
    await d.store.sweep.clockWentBack({ known: true })
    await d.pass(HOUR + HOUR / 2)
    expect(await enqueue({ unique })).toBe(first)
    await d.pass(HOUR)
    expect(await enqueue({ unique })).not.toBe(first)
  })

  test('instances queued for a slot during the jump begin before those queued after the correction', async () => {
    const start = { net: net([node('a')]), slots: 1 }
    const first = await d.start(start)
    const second = await ahead(() => d.start(start))
    const third = await d.start(start)
    expect([await d.state(first), await d.state(second), await d.state(third)]).toEqual(['running', 'queued', 'queued'])
    await d.succeed(await d.claimOne())
    await d.pass(0)
    expect([await d.state(second), await d.state(third)]).toEqual(['running', 'queued'])
  })

  test('a schedule added during the jump fires by its expression', async () => {
    await ahead(() => d.engine.inboxSchedules.add({ type: 'inbox.v1', schedule: '* * * * *' }))
    await d.pass(60_000)
    expect((await d.claim()).map(({ type }) => type)).toEqual(['inbox.v1'])
  })

  test('an engine that starts after the correction detects it by itself', async () => {
    await d.pass(HOUR)
    const id = await enqueue()
    // No engine checks while the clock is set back.
    await d.store.moveClock(0)
    expect((await d.store.read.run(id))?.runAt).toBeGreaterThan(await d.store.now())
    expect(await d.store.sweep.clockWentBack({ known: false })).toBe(true)
    expect((await d.store.read.run(id))?.runAt).toBeLessThanOrEqual(await d.store.now())
  })
})

describe.each(SHARED)('plain SQL under a clock that jumps ahead and back ($name)', (place) => {
  test('a lease that began before and was renewed during the jump ends after its own duration', async () => {
    let url = ''
    const where = {
      ...place,
      open: async () => {
        const made = await place.open()
        url = made.url
        return made
      },
    }
    const d = await Drive.open(where, { sessionTtlMs: 1e9, heartbeatMs: 1e6 })
    const foreign = await Foreign.connect(url)
    try {
      await d.engine.sweep()
      const id = (await foreign.insert('jump.v1')) as string
      await foreign.claimed('go-1', '%', 7200)
      await d.pass(HOUR)
      await foreign.heartbeat(id, 5400)
      await d.pass(-HOUR)
      const left = ((await d.store.read.run(id))?.leaseUntil ?? 0) - (await d.store.now())
      expect(left).toBeLessThanOrEqual(5_400_000)
      expect(left).toBeGreaterThan(5_390_000)
    } finally {
      await foreign.close()
      await d.close()
    }
  })
})
