import { expect, it } from 'vitest'
import type { RunRow } from '../../src/model/rows.ts'
import type { Store } from '../../src/store/store.ts'
import {
  aGate,
  aLeasedRun,
  aLimit,
  anEndedInstance,
  anEvent,
  anInstance,
  aRun,
  aStep,
  aWorker,
  newId,
  T0,
} from './rows.ts'
import { put, setClock } from './subject.ts'
import type { Current } from './suite.ts'

async function subjects(store: Store): Promise<string[]> {
  return [...new Set((await store.read.doctor()).map((finding) => finding.subject))]
}

export function doctorTopic(current: Current): void {
  it('is silent on good data', async () => {
    const { store } = current()
    const worker = aWorker()
    await store.sweep.beat({ worker, ttlMs: 60_000 })
    const running = anInstance({ open: 4, gates: 1, eventSeq: 2 })
    const child = anInstance({
      rootId: running.id,
      parentId: running.id,
      parentNode: 'sub',
      open: 0,
      held: 1,
      state: 'waiting',
    })
    const ended = anEndedInstance({ eventSeq: 2 })
    const done = aStep(ended, 'a', { status: 'succeeded', settledAt: T0, finishedAt: T0, doneSeq: 1 })
    const held = aLeasedRun({
      ...aStep(running, 'b'),
      sessionId: worker.id,
      status: 'leased',
      leasedBy: 'w',
      leasedAt: T0,
      limitKey: 'stripe',
    })
    const redriven = aRun({ status: 'failed', attempt: 3, settledAt: T0, finishedAt: T0 })
    const failed = { type: 'failed', runId: redriven.id }
    await put(store, {
      instances: {
        insert: [
          running,
          child,
          ended,
          anInstance({ state: 'queued', open: 0, live: 0, quotaKey: 'workflow::order', queuedAt: T0 }),
          anInstance({ open: 0, more: true }),
        ],
      },
      runs: { insert: [aStep(running, 'a'), held, done, redriven, aRun()] },
      gates: { insert: [aGate(running), aGate(ended, { state: 'closed' })] },
      limits: [
        aLimit('key:stripe', { maxConcurrent: 5, inUse: 1 }),
        aLimit('queue:default', { maxConcurrent: 5, inUse: 1 }),
        aLimit('queue:idle'),
        aLimit('workflow::order'),
      ],
      events: [
        anEvent({ type: 'instance.started', instanceId: running.id, seq: 1 }),
        anEvent({ type: 'created', runId: held.id, instanceId: running.id, seq: 2 }),
        anEvent({ type: 'created', runId: done.id, instanceId: ended.id, seq: 1 }),
        anEvent({ type: 'succeeded', runId: done.id, instanceId: ended.id, seq: 2 }),
        anEvent({ type: 'created', runId: redriven.id }),
        anEvent(failed),
        anEvent({ type: 'redriven', runId: redriven.id }),
        anEvent(failed),
      ],
    })
    expect(await store.read.doctor()).toEqual([])
  })

  it('finds instances whose end is only partly recorded', async () => {
    const { store } = current()
    const bad = [
      anEndedInstance({ endedAt: null }),
      anEndedInstance({ phase: 'final' }),
      anInstance({ endedAt: T0, open: 0, held: 1 }),
      anInstance({ phase: 'ended', open: 0, held: 1 }),
    ]
    await put(store, { instances: { insert: bad } })
    expect((await subjects(store)).sort()).toEqual(bad.map((instance) => instance.id).sort())
  })

  it('finds instances that nothing will advance, and wrong counts of open work', async () => {
    const { store } = current()
    const stuck = anInstance({ open: 0, live: 1 })
    const many = anInstance({ open: 3 })
    const few = anInstance({ open: 0, held: 1 })
    await put(store, {
      instances: { insert: [stuck, many, few] },
      runs: { insert: [aStep(many, 'a')] },
      gates: { insert: [aGate(few)] },
    })
    expect((await subjects(store)).sort()).toEqual([stuck.id, many.id, few.id].sort())
  })

  it('finds open work in an ended instance', async () => {
    const { store } = current()
    const [withRun, withGate] = [anEndedInstance(), anEndedInstance()]
    await put(store, {
      instances: { insert: [withRun, withGate] },
      runs: { insert: [aStep(withRun, 'a')] },
      gates: { insert: [aGate(withGate)] },
    })
    expect((await subjects(store)).sort()).toEqual([withRun.id, withGate.id].sort())
  })

  it('finds leases without a holder, ended runs still held, too many attempts, orphans', async () => {
    const { store } = current()
    const bad = [
      aRun({ status: 'leased' }),
      aRun({ status: 'succeeded', settledAt: T0, finishedAt: T0, sessionId: newId() }),
      aRun({ status: 'failed', settledAt: T0, finishedAt: T0, leaseUntil: T0 }),
      aRun({ attempt: 4, maxAttempts: 3 }),
      aRun({ instanceId: newId(), rootId: newId(), node: 'a' }),
    ]
    await put(store, { runs: { insert: bad } })
    expect((await subjects(store)).sort()).toEqual(bad.map((run) => run.id).sort())
  })

  it('finds limits with wrong counts', async () => {
    const { store } = current()
    await put(store, { limits: [aLimit('queue:mail', { inUse: 1 }), aLimit('key:stripe', { inUse: 0 })] })
    expect(await subjects(store)).toEqual(['queue:mail'])
    const worker = aWorker()
    await store.sweep.beat({ worker, ttlMs: 60_000 })
    await put(store, { runs: { insert: [aLeasedRun({ sessionId: worker.id, queue: 'mail', limitKey: 'stripe' })] } })
    expect(await subjects(store)).toEqual(['key:stripe'])
  })

  it('finds gaps in the numbers of events, two beginnings and two ends', async () => {
    const { store } = current()
    const gap = anInstance({ eventSeq: 3, open: 0, held: 1 })
    const behind = anInstance({ eventSeq: 5, open: 0, held: 1 })
    const [twice, zombie] = [aRun(), aRun({ status: 'succeeded', settledAt: T0, finishedAt: T0 })]
    await put(store, {
      instances: { insert: [gap, behind] },
      runs: { insert: [twice, zombie] },
      events: [
        ...[1, 3].map((seq) => anEvent({ type: 'node.done', instanceId: gap.id, seq })),
        anEvent({ type: 'node.done', instanceId: behind.id, seq: 1 }),
        ...[1, 2].map(() => anEvent({ type: 'created', runId: twice.id })),
        ...['created', 'succeeded', 'failed'].map((type) => anEvent({ type, runId: zombie.id })),
      ],
    })
    expect((await subjects(store)).sort()).toEqual([gap.id, behind.id, twice.id, zombie.id].sort())
  })

  it('finds runs held by sessions that are long dead', async () => {
    const { store } = current()
    const worker = aWorker()
    await store.sweep.beat({ worker, ttlMs: 1_000 })
    await put(store, { runs: { insert: [aLeasedRun({ sessionId: worker.id })] } })
    await setClock(store, 5_000)
    expect(await store.read.doctor()).toEqual([])
    await setClock(store, 3_600_000)
    expect(await subjects(store)).toEqual([worker.id])
  })

  it('finds runs that foreign clients ended or released while no engine ran', async () => {
    const { store } = current()
    const [ended, fresh] = [T0, T0 + 119_000].map((finishedAt) => aRun({ status: 'succeeded', finishedAt }))
    const held = { status: 'leased', leasedBy: 'go-1' } as const
    const [over, running] = [T0, T0 + 119_000].map((leaseUntil) => aRun({ ...held, leaseUntil }))
    await put(store, { runs: { insert: [ended, fresh, over, running] as RunRow[] } })
    await setClock(store, 120_000)
    expect(await store.read.doctor()).toEqual([
      {
        check: 'unsettled',
        subject: ended?.id,
        finding: 'was ended as succeeded by a foreign client 120 s ago, and no engine has settled it',
      },
      {
        check: 'lease_over',
        subject: over?.id,
        finding: 'is leased by go-1, whose lease ran out 120 s ago, and no engine has taken it back',
      },
    ])
  })

  it('finds deleted steps that their workflow waits for', async () => {
    const { store } = current()
    const running = anInstance({ open: 2 })
    const [deleted, fine] = [aStep(running, 'a', { deletedAt: T0 }), aStep(running, 'b')]
    await put(store, { instances: { insert: [running] }, runs: { insert: [deleted, fine, aRun({ deletedAt: T0 })] } })
    expect(await subjects(store)).toEqual([deleted.id])
  })

  it('reports foreign clients that bypass a pause or a limit, which do not bind them', async () => {
    const { store } = current()
    const foreign = (given: Partial<RunRow>): RunRow =>
      aRun({ status: 'leased', leasedBy: 'go-1', leaseUntil: T0 + 60_000, ...given })
    await put(store, {
      queues: [
        { name: 'mail', paused: true },
        { name: 'media', paused: false },
      ],
      limits: [
        aLimit('key:stripe', { maxConcurrent: 1, inUse: 0 }),
        aLimit('queue:media', { maxConcurrent: 1, inUse: 0 }),
        aLimit('queue:mail', { maxConcurrent: null, inUse: 0 }),
      ],
      runs: {
        insert: [
          ...['mail', 'mail', 'media', 'other'].map((queue) => foreign({ queue })),
          ...['stripe', 'stripe'].map((limitKey) => foreign({ queue: 'other', limitKey })),
        ],
      },
    })
    expect(await store.read.doctor()).toEqual([
      {
        check: 'paused_but_held',
        subject: 'mail',
        finding: 'is paused, but foreign clients hold 2 of its runs: a pause does not bind plain SQL',
      },
      {
        check: 'limit_passed',
        subject: 'key:stripe',
        finding: 'allows 1 at the same time, but besides 0 foreign clients hold 2: limits do not bind plain SQL',
      },
    ])
  })

  it('limits its report, and writes it in sentences', async () => {
    const { store } = current()
    await put(store, { runs: { insert: Array.from({ length: 150 }, () => aRun({ status: 'leased' })) } })
    const findings = await store.read.doctor()
    expect(findings).toHaveLength(100)
    for (const { check, finding } of findings) {
      expect(check).toMatch(/^[a-z_]+$/)
      expect(finding).toMatch(/ /)
    }
  })
}
