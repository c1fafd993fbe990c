import { expect, it } from 'vitest'
import type { SlotPrefix } from '../../src/net/slots.ts'
import type { Store } from '../../src/store/store.ts'
import { aGate, anEndedInstance, anEvent, anInstance, aRun, aStep, T0 } from './rows.ts'
import { put } from './subject.ts'
import type { Current } from './suite.ts'

const HOUR = 3_600_000
const OLD = T0 - 5 * HOUR
const CUT = { endedBefore: T0 - HOUR, eventsBefore: T0 - HOUR }

/** Prunes until nothing is left to remove. Returns what each call removed. */
async function pruneAll(store: Store, limit: number): Promise<number[]> {
  const removed: number[] = []
  for (let calls = 0; calls < 200; calls++) {
    const count = await store.sweep.prune({ ...CUT, limit })
    if (count === 0) return removed
    removed.push(count)
  }
  throw new Error('prune never ends')
}

export function retentionTopic(current: Current): void {
  const ended = { status: 'succeeded' as const, createdAt: OLD, settledAt: OLD, finishedAt: OLD }

  it('removes bare runs that ended before the cut, and no others', async () => {
    const { store } = current()
    const old = aRun(ended)
    const kept = [
      aRun({ ...ended, finishedAt: T0, settledAt: T0 }),
      aRun({ createdAt: OLD }),
      aRun({ ...ended, status: 'failed', deadLetter: true }),
    ]
    await put(store, { runs: { insert: [old, ...kept] } })
    await pruneAll(store, 100)
    expect(await store.read.run(old.id)).toBeNull()
    expect(await store.read.runs({ ids: kept.map((run) => run.id) })).toHaveLength(3)
  })

  it('removes a complete tree, once all of it has ended before the cut', async () => {
    const { store } = current()
    const root = anEndedInstance({ createdAt: OLD, endedAt: OLD })
    const child = anEndedInstance({
      rootId: root.id,
      parentId: root.id,
      parentNode: 'sub',
      createdAt: OLD,
      endedAt: OLD,
    })
    const halfDone = anEndedInstance({ createdAt: OLD, endedAt: OLD })
    const straggler = anInstance({ rootId: halfDone.id, parentId: halfDone.id, createdAt: OLD })
    const recent = anEndedInstance({ createdAt: OLD, endedAt: T0 })
    const running = anInstance({ createdAt: OLD })
    const run = aStep(child, 'a', ended)
    const gate = aGate(root, { state: 'approved' })
    await put(store, {
      instances: { insert: [root, child, halfDone, straggler, recent, running] },
      runs: { insert: [run, aStep(root, 'b', ended), aStep(recent, 'a', ended)] },
      gates: { insert: [gate] },
      slots: { put: [{ instanceId: root.id, key: 'c:a', value: '1' }] },
      items: [{ instanceId: root.id, node: 'loop', fire: 0, first: 0, values: '[1]' }],
      names: [
        { name: 'old', rootId: root.id },
        { name: 'kept', rootId: running.id },
      ],
      events: [anEvent({ type: 'instance.started', instanceId: root.id, seq: 1, at: OLD })],
    })
    await pruneAll(store, 1_000)
    const left = [root, child, halfDone, straggler, recent, running].map((instance) => store.read.instance(instance.id))
    expect((await Promise.all(left)).map((instance) => instance !== null)).toEqual([
      false,
      false,
      true,
      true,
      true,
      true,
    ])
    expect(await store.read.run(run.id)).toBeNull()
    expect(await store.read.slots({ instanceId: root.id, prefix: '' as SlotPrefix })).toEqual([])
    expect([...(await store.read.trees.nameHolders(['old', 'kept'])).keys()]).toEqual(['kept'])
    expect(await store.read.instanceRuns({ instanceId: recent.id, limit: 5, after: null })).toHaveLength(1)
  })

  it('works in chunks and reaches the end of a big tree', async () => {
    const { store } = current()
    const root = anEndedInstance({ createdAt: OLD, endedAt: OLD, eventSeq: 60 })
    await put(store, {
      instances: { insert: [root] },
      runs: { insert: Array.from({ length: 60 }, (_, item) => aStep(root, 'loop', { ...ended, item })) },
      events: Array.from({ length: 60 }, (_, n) =>
        anEvent({ type: 'node.done', instanceId: root.id, seq: n + 1, at: OLD }),
      ),
    })
    const first = await store.sweep.prune({ ...CUT, limit: 20 })
    expect(first).toBeGreaterThan(0)
    expect(first).toBeLessThan(60)
    expect(await store.read.doctor()).toEqual([])
    const more = await pruneAll(store, 20)
    expect(more.length).toBeGreaterThanOrEqual(2)
    expect(await store.read.instance(root.id)).toBeNull()
  })

  it('removes old events and never reuses an id', async () => {
    const { store } = current()
    const run = aRun()
    await put(store, {
      runs: { insert: [run] },
      events: [anEvent({ type: 'created', runId: run.id, at: OLD }), anEvent({ type: 'cron.fired', at: OLD })],
    })
    const before = await store.read.feed({ afterId: 0, limit: 10 })
    await pruneAll(store, 100)
    await put(store, { events: [anEvent({ type: 'cron.fired' })] })
    const after = await store.read.feed({ afterId: before.at(-1)!.id, limit: 10 })
    expect(after.map((event) => event.at)).toEqual([T0])
    expect((await store.read.runHistory(run.id)).map((event) => event.type)).toEqual(['created'])
    expect(await store.read.doctor()).toEqual([])
  })
}
