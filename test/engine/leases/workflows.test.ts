import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { PetrelError } from '../../../src/kernel/errors.ts'
import type { RunRow } from '../../../src/model/rows.ts'
import type { EachWork, Net } from '../../../src/net/net.ts'
import { net, node, PLACES, run, undoBy } from '../drive.ts'
import { accepted, EXACT, HttpWorker } from './http-worker.ts'

const EACH: EachWork = { kind: 'each', items: null, body: null, maxInFlight: null, failFast: false }
const ITEM = { run: { type: 'job', args: [] } }

/** A group with a callback, like a batch. */
function batch(): Net {
  const jobs = node('jobs', [], { work: EACH, onFailure: 'route' })
  return net([jobs, node('done')], {
    entry: ['jobs'],
    finals: [{ node: 'done', when: 'always', onFailure: 'fail' }],
    verdict: { failedOn: 'finals', partial: false },
  })
}

describe.each(PLACES)('workflows under HTTP leases on $name', (place) => {
  let http: HttpWorker
  beforeEach(async () => {
    http = await HttpWorker.open(place)
  })
  afterEach(() => http.d.close())

  const start = (n: Net, items = 0): Promise<string> =>
    http.d.start({ net: n, ...(items === 0 ? {} : { items: { jobs: Array.from({ length: items }, () => ITEM) } }) })
  const events = async (id: string) =>
    (await http.d.store.read.instanceEvents({ instanceId: id, afterSeq: 0, limit: 1000 })).map((e) => e.type)

  it('continue in the transaction of the report', async () => {
    const id = await start(net([node('a', ['b']), node('b', ['c']), node('c')]))
    expect(await http.work()).toEqual(['a', 'b', 'c'])
    expect(await http.d.state(id)).toBe('completed')
    expect(await http.d.doctor()).toEqual([])
  })

  it('have started with the first fetch, not before', async () => {
    const id = await start(net([node('a', ['b']), node('b')]))
    expect((await http.d.store.read.instance(id))?.startedAt).toBeNull()
    const first = await http.fetchOne()
    expect((await http.d.store.read.instance(id))?.startedAt).toBe(first.startedAt)
    expect((await events(id)).filter((type) => type === 'instance.started')).toHaveLength(1)
    await http.ack(first.id)
    await http.work()
    expect((await events(id)).filter((type) => type === 'instance.started')).toHaveLength(1)
  })

  it('fire a callback once, however many last reports arrive at once', async () => {
    for (let round = 0; round < 5; round++) {
      const id = await start(batch(), 20)
      const runs = await http.fetch({ limit: 100 })
      expect(runs).toHaveLength(20)
      const answers = await Promise.all(
        runs.flatMap((r, i) => [http.ack(r.id, i), i % 2 === 0 ? http.ack(r.id) : http.nack(r.id, {}, 'discard')]),
      )
      expect(answers.filter((a) => !(a instanceof PetrelError))).toHaveLength(20)
      const callbacks = await http.fetch({ limit: 100 })
      expect(callbacks.map((r) => [r.node, r.role])).toEqual([['done', 'final']])
      accepted(await http.ack((callbacks[0] as RunRow).id))
      expect(await http.d.state(id)).toBe('completed')
    }
    expect(await http.d.doctor()).toEqual([])
  })

  it('count a run that was cancelled alone as failed, and continue', async () => {
    const chain = await start(net([node('a', ['b']), node('b')]))
    const active = await http.fetchOne()
    await http.engine.cancelRun({ id: active.id, actor: 'ada' })
    expect([await http.d.state(chain), await http.d.error(chain)]).toEqual(['failed', 'cancelled'])
    expect(await http.ack(active.id)).toMatchObject({ code: 'conflict', details: { status: 'cancelled' } })

    const group = await start(batch(), 3)
    const [one] = await http.fetch({ limit: 1 })
    const [waiting] = await http.d.store.read.listRuns({
      status: ['pending'],
      queue: null,
      type: 'job',
      deadLetter: null,
      tenant: null,
      limit: 1,
      before: null,
    })
    await http.engine.cancelRun({ id: (one as RunRow).id, actor: null })
    await http.engine.cancelRun({ id: (waiting as RunRow).id, actor: null })
    expect(await http.work()).toEqual(['jobs', 'done'])
    expect(await http.d.state(group)).toBe('completed')
    const results = Object.values((await http.d.results(group))['jobs'] as object)
    expect(results.filter((r) => (r as { error?: { code: string } } | null)?.error?.code === 'cancelled')).toHaveLength(
      2,
    )
    expect(await http.d.doctor()).toEqual([])
  })

  describe('that are cancelled', () => {
    const fan = (): Net => net([node('fork', ['a', 'b', 'c', 'later']), node('a'), node('b'), node('c'), node('later')])

    /** Four branches: three active, one pending; then a cancel. */
    const cancelled = async (): Promise<{ id: string; active: readonly RunRow[] }> => {
      const id = await start({
        ...fan(),
        nodes: fan().nodes.map((n) => (n.key === 'fork' ? n : { ...n, retry: EXACT })),
      })
      await http.ack((await http.fetchOne()).id)
      const active = await http.fetch({ limit: 3, leaseMs: () => 5000 })
      await http.engine.cancelInstance({ id, actor: 'ada' })
      return { id, active }
    }

    it('cancel pending work at once, and hand out nothing more', async () => {
      const { id, active } = await cancelled()
      const runs = await http.d.store.read.instanceRuns({ instanceId: id, limit: 10, after: null })
      expect(runs.map((r) => r.status).sort()).toEqual(['cancelled', 'leased', 'leased', 'leased', 'succeeded'])
      expect(await http.fetch()).toEqual([])
      expect(active.every((r) => r.status === 'leased')).toBe(true)
    })

    it('record a success, treat a failure, an expiry and a return as final, and end', async () => {
      const { id, active } = await cancelled()
      const [first, second, third] = active as [RunRow, RunRow, RunRow]
      expect(accepted(await http.ack(first.id, 'done')).run).toMatchObject({ status: 'succeeded' })
      expect(accepted(await http.nack(second.id)).run).toMatchObject({ status: 'failed' })
      expect(await http.d.state(id)).toBe('cancelling')
      await http.d.pass(5001)
      expect(await http.get(third.id)).toMatchObject({ status: 'failed' })
      expect(await http.d.state(id)).toBe('cancelled')
      expect(await http.fetch()).toEqual([])
      expect(await http.d.doctor()).toEqual([])
    })

    it('do not return a run twice', async () => {
      const { active } = await cancelled()
      const given = accepted(await http.settle((active[0] as RunRow).id, { kind: 'requeue' }))
      expect(given).toMatchObject({ run: { status: 'cancelled' }, retryDelayMs: null })
      expect(await http.fetch()).toEqual([])
    })
  })

  it('record a late success if the work can be undone', async () => {
    const work = net([node('a', ['b'], { undo: undoBy('undo.a'), retry: { ...EXACT, maxAttempts: 1 } }), node('b')], {
      onFailure: 'compensate',
    })
    const id = await start(work)
    const late = await http.fetchOne({ leaseMs: () => 1000 })
    await http.d.pass(1001)
    expect(await http.d.state(id)).toBe('compensated')
    expect(await http.ack(late.id, null, { attempt: 1 })).toBeInstanceOf(PetrelError)
    expect(await events(id)).toContain('late_success')
    const bare = await start(net([node('a', [], { work: run('a'), retry: { ...EXACT, maxAttempts: 1 } })]))
    const other = await http.fetchOne({ leaseMs: () => 1000 })
    await http.d.pass(1001)
    const before = await events(bare)
    expect(await http.ack(other.id, null, { attempt: 1 })).toBeInstanceOf(PetrelError)
    expect(await events(bare)).toEqual(before)
  })

  it('do not change when one of their runs is redriven after their end', async () => {
    const id = await start(net([node('a', [], { retry: { ...EXACT, maxAttempts: 1 } })]))
    const only = await http.fetchOne()
    await http.nack(only.id)
    expect(await http.d.state(id)).toBe('failed')
    const again = await http.engine.redrive({ runId: only.id, actor: null })
    expect((await http.fetchOne()).id).toBe(again.id)
    expect(accepted(await http.ack(again.id, 'late')).run.status).toBe('succeeded')
    expect(await http.d.state(id)).toBe('failed')
    expect(await http.d.doctor()).toEqual([])
  })
})
