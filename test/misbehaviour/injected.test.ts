/**
 * An exception is thrown at each place where one row, outcome or finding is handled among others: in settles, sweeps,
 * claims, intake and completions. The one is left out and recorded; everything else continues.
 */
import { randomUUID } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Engine } from '../../src/engine/engine.ts'
import type { EnqueueParams } from '../../src/model/enqueue.ts'
import type { RunRow } from '../../src/model/rows.ts'
import type { GateWork } from '../../src/net/net.ts'
import { startServer } from '../../src/server/server.ts'
import type { Delivery, Session } from '../../src/worker/port.ts'
import { Drive, net, node, ONCE, PLACES } from '../engine/drive.ts'
import { Injector } from './injector.ts'
import { Neighbour } from './neighbour.ts'

const LASTING = { sessionTtlMs: 1e9, heartbeatMs: 3_600_000, pollMs: 60_000 }
/** Nothing becomes due by itself: the engine that prepares the data would handle it. */
const MINUTE = 60_000
const HOUR = 60 * MINUTE

for (const place of PLACES) {
  describe(`an injected exception on '${place.name}'`, { timeout: 60_000 }, () => {
    let d: Drive
    let inject: Injector
    let engine: Engine

    beforeEach(async () => {
      // Prepares and reads; the tested engine works through the injector.
      d = await Drive.open(place, LASTING)
      inject = new Injector()
      engine = await Engine.open({ store: inject.wrap(d.store), sweep: false, random: () => 0.5, ...LASTING })
    })
    afterEach(async () => {
      await engine.close()
      await d.close()
    })

    const enqueue = async (n: number, params: Partial<EnqueueParams> = {}): Promise<string[]> => {
      const all = Array.from({ length: n }, (_, i) => ({ type: 'job', payload: i, retry: ONCE, ...params }))
      return (await d.engine.enqueue(all)).map(({ id }) => id)
    }
    const statuses = async (ids: readonly string[]): Promise<string[]> => {
      const rows = new Map((await d.store.read.runs({ ids })).map((row) => [row.id, row.status]))
      return ids.map((id) => rows.get(id) ?? 'gone')
    }
    const session = (): Promise<Session> => {
      const options = { name: 'w', runtime: 'node', queues: null, types: null, concurrency: 100, tenant: null }
      const inbox = { room: () => 0, holding: () => [], deliver() {}, wake() {}, stop() {} }
      return engine.workers.open(options, inbox)
    }
    const succeed = (on: Session, delivery: Delivery, result = '1') =>
      on.settle({
        delivery,
        reportId: `r-${delivery.runId}`,
        startedAt: Date.now(),
        outcome: { kind: 'succeeded', result },
        wantNext: false,
      })
    const at = async (offsetMs: number): Promise<void> => {
      await d.store.moveClock(offsetMs)
      // The engine learns the time with its next commit.
      await engine.enqueue([{ type: 'other', queue: 'other', payload: null }])
    }
    const fetch = (limit: number, leaseMs: (row: RunRow) => number = () => 60_000) => {
      const any = { queues: ['default'], types: null, runtime: null, tenant: null }
      return engine.leases.fetch({ ...any, limit, holder: 'h', leaseMs, waitMs: 0 })
    }

    it('in the settle of one outcome among 50: its run fails, 49 are recorded', async () => {
      const ids = await enqueue(50)
      const worker = await session()
      const held = await worker.claim(50)
      const offender = held[20] as Delivery
      inject.poisonedResults.add('"poison"')
      const replies = await Promise.all(
        held.map((delivery) => succeed(worker, delivery, delivery === offender ? '"poison"' : '1')),
      )
      expect(replies.map(({ status }) => status)).toEqual(replies.map(() => 'recorded'))
      const found = await d.store.read.runs({ ids })
      expect(found.filter(({ status }) => status === 'succeeded')).toHaveLength(49)
      expect(JSON.parse(found.find(({ id }) => id === offender.runId)?.error as string).code).toBe('unstorable')
    })

    it('in the settle of any outcome: only its caller gets the error, and the next settle works', async () => {
      const ids = await enqueue(50)
      const worker = await session()
      const held = await worker.claim(50)
      inject.poisoned.add(ids[33] as string)
      const replies = await Promise.allSettled(held.map((delivery) => succeed(worker, delivery)))
      expect(replies.filter(({ status }) => status === 'rejected')).toHaveLength(1)
      expect(await statuses(ids)).toEqual(ids.map((_, i) => (i === 33 ? 'leased' : 'succeeded')))
      // Halved, not one by one.
      expect(inject.decisions).toBeLessThan(30)
      expect(engine.faults.counts().get('settle_failed')).toBe(1)
      inject.poisoned.clear()
      const late = held.find(({ runId }) => runId === ids[33]) as Delivery
      expect(await succeed(worker, late)).toMatchObject({ status: 'recorded' })
    })

    it('in one of many calls that enqueue and start: that call is refused, the others are stored', async () => {
      const poison = 'ffffffff-0000-7000-8000-000000000001'
      inject.poisoned.add(poison)
      const calls = Array.from({ length: 40 }, (_, i) =>
        engine.enqueue([{ type: 'job', payload: i, ...(i === 17 ? { id: poison } : {}) }]),
      )
      const ended = await Promise.allSettled(calls)
      expect(ended.map(({ status }) => status)).toEqual(ended.map((_, i) => (i === 17 ? 'rejected' : 'fulfilled')))
      expect(inject.decisions).toBeLessThan(20)
      const starts = Array.from({ length: 40 }, (_, i) =>
        engine.start([{ net: net([node('a')]), ...(i === 5 ? { id: poison } : {}) }]),
      )
      const started = await Promise.allSettled(starts)
      expect(started.map(({ status }) => status)).toEqual(started.map((_, i) => (i === 5 ? 'rejected' : 'fulfilled')))
    })

    it('in one claim among five: four are delivered, and the fifth fails instead of blocking its queue', async () => {
      const ids = await enqueue(5)
      const refuse = (row: RunRow): number => {
        if (row.id === ids[0]) throw new TypeError('injected into the lease')
        return 60_000
      }
      expect((await fetch(1, refuse)).map(({ id }) => id)).toEqual([ids[1]])
      expect((await fetch(10, refuse)).map(({ id }) => id)).toEqual(ids.slice(2))
      expect(await statuses(ids)).toEqual(['failed', 'leased', 'leased', 'leased', 'leased'])
      expect(engine.faults.counts().get('undeliverable')).toBe(1)
    })

    it('in one of many reports of a batch: it is refused, the others are recorded', async () => {
      const ids = await enqueue(10)
      await fetch(10)
      inject.poisoned.add(ids[4] as string)
      const outcome = { kind: 'succeeded', result: null } as const
      const answers = await engine.leases.settle(
        ids.map((runId) => ({ runId, holder: 'h', attempt: null, epoch: null, outcome })),
      )
      expect(answers.map((answer) => answer instanceof Error)).toEqual(ids.map((_, i) => i === 4))
      expect(await statuses(ids)).toEqual(ids.map((_, i) => (i === 4 ? 'leased' : 'succeeded')))
    })

    it('in the expiry of one lease: fetches are answered, and do not spin', async () => {
      const ids = await enqueue(3, { retry: { ...ONCE, maxAttempts: 3 } })
      await fetch(3, () => MINUTE)
      inject.poisoned.add(ids[0] as string)
      await at(2 * MINUTE)
      const again = await fetch(10)
      expect(again.map(({ id }) => id).sort()).toEqual(ids.slice(1).sort())
      const before = inject.calledTimes('sweep.expiredLeases')
      expect(await fetch(10)).toEqual([])
      expect(inject.calledTimes('sweep.expiredLeases') - before).toBeLessThan(3)
    })

    it('in one of many completions: it is refused, the others are recorded', async () => {
      const ids = await enqueue(10)
      const worker = await session()
      for (const delivery of await worker.claim(10)) {
        const outcome = { kind: 'deferred' } as const
        await worker.settle({ delivery, reportId: `d-${delivery.runId}`, startedAt: null, outcome, wantNext: false })
      }
      inject.poisoned.add(ids[7] as string)
      const outcome = { kind: 'succeeded', result: 1 } as const
      const ended = await Promise.allSettled(ids.map((runId) => engine.complete({ runId, outcome })))
      expect(ended.map(({ status }) => status)).toEqual(ids.map((_, i) => (i === 7 ? 'rejected' : 'fulfilled')))
    })

    /** Two findings of each kind: the first of each is poisoned. */
    async function findings(): Promise<{ readonly poisoned: string[]; look(): Promise<Record<string, string[]>> }> {
      const leases = await enqueue(2)
      await fetch(2, () => MINUTE)
      const expiring = await enqueue(2, { expiresInMs: MINUTE })
      const slow = net([node('late')], { timeoutMs: MINUTE })
      const deadlines = [await d.start({ net: slow }), await d.start({ net: slow })]
      const work: GateWork = { kind: 'gate', options: {}, timeoutMs: MINUTE, onTimeout: 'reject' }
      const gated = net([node('gate', [], { work })])
      const gates = [await d.start({ net: gated }), await d.start({ net: gated })]
      const names = ['first', 'second']
      for (const name of names) {
        await d.engine.putSchedule({ name, expression: '@every 10m', run: { type: `cron-${name}`, payload: null } })
      }
      const fired = async (name: string): Promise<string> => {
        const row = (await d.store.read.schedules()).find((schedule) => schedule.name === name)
        return row?.fireCount === 0 ? 'due' : 'fired'
      }
      const states = (ids: readonly string[]) => Promise.all(ids.map((id) => d.state(id)))
      const gateIds = await Promise.all(
        gates.map(async (id) => (await d.store.read.openGates({ instanceId: id, limit: 1 }))[0]?.id as string),
      )
      return {
        poisoned: [leases[0], expiring[0], deadlines[0], gateIds[0], names[0]] as string[],
        look: async () => ({
          leases: await statuses(leases),
          expiring: await statuses(expiring),
          deadlines: await states(deadlines),
          gates: await states(gates),
          crons: await Promise.all(names.map(fired)),
        }),
      }
    }
    const AS_BEFORE = {
      leases: ['leased', 'failed'],
      expiring: ['pending', 'failed'],
      deadlines: ['running', 'failed'],
      gates: ['waiting', 'failed'],
      crons: ['due', 'fired'],
    }

    it('in one finding of each kind of sweep: the others are handled, and that one as soon as possible', async () => {
      const { poisoned, look } = await findings()
      for (const id of poisoned) inject.poisoned.add(id)
      await at(HOUR)
      await engine.sweep()
      expect(await look()).toEqual(AS_BEFORE)
      const codes = ['sweep_expired_lease', 'sweep_overdue_run', 'sweep_deadline', 'sweep_gate', 'sweep_cron']
      expect(codes.map((code) => engine.faults.standing().get(code))).toEqual(codes.map(() => 1))
      // They are suspended: another pass does not try them.
      const { decisions } = inject
      await engine.sweep()
      expect(inject.decisions - decisions).toBeLessThan(2)
      // A restart does not reintroduce the fault: each is tried again, and the others were done.
      const second = await Engine.open({ store: inject.wrap(d.store), sweep: false, ...LASTING })
      await second.sweep()
      await second.close()
      expect(await look()).toEqual(AS_BEFORE)
      inject.poisoned.clear()
      await at(2 * HOUR)
      await engine.sweep()
      expect(Object.values(await look()).flat()).not.toContain('pending')
      expect((await look()).crons).toEqual(['fired', 'fired'])
      expect((await look()).deadlines).toEqual(['failed', 'failed'])
    })

    it.for([
      ['sweep.lostRuns', 'sweep.overdueRuns', 'sweep.overdueGates'],
      ['sweep.expiredLeases', 'sweep.overdueInstances', 'sweep.dueSchedules'],
    ])('in %j, which search for findings: the other kinds of sweep continue', async (broken) => {
      const { look } = await findings()
      for (const operation of broken) inject.broken.add(operation)
      await at(HOUR)
      await engine.sweep()
      const kinds: Record<string, string> = {
        leases: 'sweep.expiredLeases',
        expiring: 'sweep.overdueRuns',
        deadlines: 'sweep.overdueInstances',
        gates: 'sweep.overdueGates',
        crons: 'sweep.dueSchedules',
      }
      for (const [kind, [first, second]] of Object.entries(await look())) {
        expect([kind, first === second, first]).toEqual([kind, true, first])
        const waits = ['leased', 'pending', 'running', 'waiting', 'due'].includes(first as string)
        expect([kind, waits]).toEqual([kind, broken.includes(kinds[kind] as string)])
      }
      expect(engine.faults.counts().get('sweep_failed')).toBe(broken.length)
    })

    it('in the first 510 findings of a search: the 511th is handled', async () => {
      const poisoned = await enqueue(510, { expiresInMs: MINUTE })
      const [sound] = await enqueue(1, { expiresInMs: 2 * MINUTE })
      for (const id of poisoned) inject.poisoned.add(id)
      await at(HOUR)
      await engine.sweep()
      await engine.sweep()
      expect(await statuses([sound as string])).toEqual(['failed'])
      expect(engine.faults.standing().get('sweep_overdue_run')).toBe(510)
    })

    it('in one instance that should leave the queue: those behind it leave it', async () => {
      const limited = net([node('a')])
      const ids = []
      for (let i = 0; i < 3; i++) ids.push(await d.start({ net: limited, slots: 1 }))
      const [first, second, third] = ids as [string, string, string]
      inject.poisoned.add(second)
      const worker = await session()
      const [delivery] = await worker.claim(1)
      await succeed(worker, delivery as Delivery)
      await engine.sweep()
      expect([await d.state(first), await d.state(second)]).toEqual(['completed', 'queued'])
      await expect.poll(() => d.state(third), { timeout: 10_000 }).toBe('running')
    })

    it('repeatedly in settles, sweeps and searches: a neighbour is unaffected', async () => {
      const sweeping = await Engine.open({ store: inject.wrap(d.store) })
      const server = await startServer({ version: '1.2.3', port: 0, engine: sweeping })
      const neighbour = await Neighbour.of(server.url)
      await neighbour.calm(4)
      for (const look of ['sweep.overdueGates', 'sweep.dueSchedules']) inject.broken.add(look)
      const asked = { queues: ['odd'], types: null, runtime: null, tenant: null, limit: 10, holder: 'h', waitMs: 0 }
      const report = { holder: 'h', attempt: null, epoch: null, outcome: { kind: 'succeeded', result: null } } as const
      await neighbour.beside(async () => {
        for (let round = 0; round < 5; round++) {
          const ids = await enqueue(10, { queue: 'odd' })
          const expired = randomUUID()
          inject.poisoned.add(expired)
          await enqueue(1, { id: expired, queue: 'late', expiresInMs: 1 })
          const held = await sweeping.leases.fetch({ ...asked, leaseMs: () => 300 })
          inject.poisoned.add(ids[3] as string)
          await sweeping.leases.settle(held.map(({ id }) => ({ ...report, runId: id })))
          const left = (): number | undefined => sweeping.faults.standing().get('sweep_overdue_run')
          await expect.poll(left, { timeout: 10_000 }).toBe(round + 1)
        }
      })
      await neighbour.expectUnaffected()
      await server.close({ graceMs: 500 })
      await sweeping.close()
    })

    it('in a finding that stays due: the sweeper does not spin', async () => {
      const [id] = await enqueue(1, { expiresInMs: MINUTE })
      inject.poisoned.add(id as string)
      await at(HOUR)
      const sweeping = await Engine.open({ store: inject.wrap(d.store), ...LASTING, pollMs: 500 })
      const before = inject.calledTimes('sweep.nextDueAt')
      await new Promise((resolve) => setTimeout(resolve, 1_500))
      await sweeping.close()
      // 20, 40, 80, … 500 ms; without a growing pause there were 70.
      expect(inject.calledTimes('sweep.nextDueAt') - before).toBeLessThan(15)
    })
  })
}
