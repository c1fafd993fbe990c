/**
 * Foreign clients' writes take effect at once: every engine here polls so seldom that only wake-ups can be the cause.
 */

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { petrelOn } from '../../src/client/petrel.ts'
import type { Engine } from '../../src/engine/engine.ts'
import type { Drive } from '../engine/drive.ts'
import { net, node, ONCE } from '../engine/drive.ts'
import { batch, chain, job, workflow } from '../engine/specifications/stage.ts'
import { type Foreign, SHARED } from './foreign.ts'
import { eventually, NEVER_MS, Stage } from './stage.ts'

describe.each(SHARED)('at once on $name', (place) => {
  let s: Stage
  let d: Drive
  let go: Foreign
  beforeEach(async () => {
    s = await Stage.open(place, { sweep: true, pollMs: NEVER_MS })
    d = s.d
    go = await s.foreign()
  })
  afterEach(async () => {
    expect(await d.doctor()).toEqual([])
    await s.close()
  })
  const ended = (id: string, engine: Engine = d.engine) => engine.ended({ id, kind: 'instance' })

  it('a workflow continues as soon as plain SQL has ended its step', async () => {
    const id = await workflow(d, chain(job('a.v1'), job('b.v1'), job('c.v1')))
    const over = ended(id)
    for (let step = 0; step < 3; step++) {
      await eventually(async () => (await go.work()).length > 0, `step ${step}`)
    }
    expect(await over).toBe('completed')
  })

  it('an outcome whose transaction is rolled back has no effect', async () => {
    const id = await workflow(d, chain(job('a.v1')))
    const { id: runId } = await go.claimed()
    await go.sql('BEGIN')
    await go.succeed(runId, 'not so')
    await go.sql('ROLLBACK')
    expect(await d.state(id)).toBe('running')
    await go.succeed(runId, 'so')
    expect(await ended(id)).toBe('completed')
    expect(await d.results(id)).toEqual({ 0: 'so' })
  })

  it('the steps of a chain are executed in turn by a TypeScript worker, a worker over HTTP, and plain SQL', async () => {
    const types = ['node.v1', 'http.v1', 'sql.v1', 'node.v1', 'http.v1', 'sql.v1']
    const petrel = petrelOn(d.engine)
    petrel.handle('node.v1', () => ({ by: 'node', n: 1 }))
    await petrel.work({ types: ['node.v1'], name: 'node' })
    const id = await workflow(d, chain(...types.map((type) => job(type))))
    const over = ended(id)
    for (let round = 0; round < 2; round++) {
      const [leased] = await d.engine.leases.fetch({
        queues: null,
        types: ['http.v1'],
        limit: 1,
        holder: 'http-1',
        runtime: null,
        tenant: null,
        leaseMs: () => 30_000,
        waitMs: 10_000,
      })
      const before = await d.engine.resultsBefore(leased as NonNullable<typeof leased>)
      expect([...before.values()].map((text) => JSON.parse(text ?? 'null').n)).toEqual(round === 0 ? [1] : [1, 3, 2, 1])
      const outcome = { kind: 'succeeded', result: { by: 'http', n: 2 } } as const
      await d.engine.leases.settle([{ runId: leased?.id as string, holder: 'http-1', attempt: null, outcome }])
      await eventually(async () => (await go.work('py-1', 'sql.%', () => ({ by: 'sql', n: 3 }))).length > 0, 'sql')
    }
    expect(await over).toBe('completed')
    const results = Object.values(await d.results(id)) as { n: number }[]
    expect(results.map(({ n }) => n)).toEqual([1, 2, 3, 1, 2, 3])
    for (const [i] of types.entries()) {
      const { id: runId } = await s.runAt(id, String(i))
      expect(await s.history(runId)).toEqual(['created', 'leased', 'started', 'succeeded'])
    }
    await petrel.close()
  })

  it('a batch of 50, ended from eight connections at a time, fires its callback exactly once', async () => {
    const jobs = Array.from({ length: 50 }, (_, i) => job('part.v1', i))
    const others = [await s.second({ pollMs: NEVER_MS }), await s.second({ pollMs: NEVER_MS })]
    const id = await workflow(d, batch(jobs))
    const clients = await Promise.all(Array.from({ length: 8 }, () => s.foreign()))
    const done = await Promise.all(
      clients.map((client, i) => client.work(`go-${i}`, 'part.%', ({ payload }) => payload)),
    )
    expect(done.flat()).toHaveLength(50)
    const called: string[] = []
    const over = ended(id, others[0])
    await eventually(async () => {
      called.push(...(await go.work('go-0', 'on.%')))
      return called.length >= 2
    }, 'callbacks')
    expect(await over).toBe('completed')
    expect(called.sort()).toEqual(['on.complete', 'on.success'])
    const { runs } = (await d.engine.view(id)) as NonNullable<Awaited<ReturnType<typeof d.engine.view>>>
    expect(runs).toHaveLength(52)
    const histories = await d.store.read.histories({ runIds: runs.map((r) => r.id) })
    for (const history of histories.values()) {
      expect(history.map((e) => e.type)).toEqual(['created', 'leased', 'started', 'succeeded'])
    }
    expect(Object.keys((await d.results(id)).jobs as object)).toHaveLength(50)
  })

  it('engines that settle the same end at the same time record it once', async () => {
    const others = await Promise.all([1, 2, 3].map(() => s.second({ pollMs: NEVER_MS })))
    const ids = await Promise.all(Array.from({ length: 20 }, () => workflow(d, chain(job('a.v1')))))
    await go.sql(`UPDATE workflow_run SET status = 'succeeded', result = '7' WHERE status = 'pending'`)
    await Promise.all([d.engine, ...others].map((engine) => engine.sweep()))
    for (const id of ids) {
      expect(await ended(id)).toBe('completed')
      const run = await s.runAt(id, '0')
      expect(await s.history(run.id)).toEqual(['created', 'succeeded'])
    }
    const counted = await Promise.all([d.engine, ...others].map(async (engine) => engine.counters()['succeeded'] ?? 0))
    expect(counted.reduce((a, b) => a + b)).toBe(20)
  })

  it('one statement that ends many runs has each of them settled', async () => {
    const made = await d.engine.enqueue(Array.from({ length: 1_200 }, () => ({ type: 'x.v1', payload: null })))
    const ends = made.map(({ id }) => d.engine.ended({ id, kind: 'run' }))
    const many = await go.sql(`UPDATE workflow_run SET status = 'succeeded', result = '1' WHERE status = 'pending'`)
    expect(many.count).toBe(1_200)
    expect(new Set(await Promise.all(ends))).toEqual(new Set(['succeeded']))
    await eventually(async () => (await d.store.sweep.unsettledRuns({ limit: 1 })).length === 0, 'all are settled')
    expect(d.engine.counters()['succeeded']).toBe(1_200)
  })

  if (place.name === 'postgres')
    it("wake-ups by Petrel's own processes do not cause a search for foreign outcomes", async () => {
      const other = await s.second({ sweep: false, pollMs: NEVER_MS })
      // The first pass of the sweeper searches as well.
      await d.engine.sweep()
      const looks = vi.spyOn(d.store.sweep, 'unsettledRuns')
      for (let i = 0; i < 50; i++) await other.enqueue([{ type: 'x.v1', payload: null }])
      await eventually(async () => (await d.claim(50)).length > 0, 'work is there')
      expect(looks).not.toHaveBeenCalled()
      await go.cancel((await go.insert('y.v1')) as string)
      await eventually(() => looks.mock.calls.length > 0, 'a search for foreign outcomes')
      looks.mockRestore()
    })

  it('a run inserted by plain SQL is claimed at once, and announced to waiting processes', async () => {
    const other = await s.second({ pollMs: NEVER_MS })
    const petrel = petrelOn(other)
    petrel.handle('mail.%', (payload) => ({ sent: payload }) as never)
    await petrel.work()
    const id = (await go.insert('mail.send.v1', { to: 'ada' })) as string
    expect(await d.engine.ended({ id, kind: 'run' })).toBe('succeeded')
    expect(JSON.parse((await s.run(id)).result as string)).toEqual({ sent: { to: 'ada' } })
    await petrel.close()
  })

  it('a run inserted for a moment from now is claimed then', async () => {
    const petrel = petrelOn(d.engine)
    petrel.handle('soon.v1', () => 'now')
    await petrel.work({ pollMs: NEVER_MS })
    const at = (await d.store.now()) + 300
    const due = d.store.kind === 'sqlite' ? String(at) : `to_timestamp(${at / 1000})`
    const { rows } = await go.sql(
      `INSERT INTO workflow_run (type, payload, run_at) VALUES ('soon.v1', '{}', ${due}) RETURNING id`,
    )
    const id = rows[0]?.['id'] as string
    expect(await d.engine.ended({ id, kind: 'run' })).toBe('succeeded')
    expect((await s.run(id)).startedAt).toBeGreaterThanOrEqual(at)
    await petrel.close()
  })

  it('a failure by plain SQL stops a workflow whose other steps are executing', async () => {
    const nodes = [node('a.v1', [], { retry: ONCE }), node('b.v1'), node('c.v1')]
    const id = await d.start({ net: net(nodes, { entry: ['a.v1', 'b.v1', 'c.v1'] }) })
    const b = await go.claimed('go-1', 'b.%')
    await go.fail(await go.claimed('go-1', 'a.%'), 'broken')
    await eventually(async () => (await go.status((await s.runAt(id, 'c.v1')).id)) === 'cancelled', 'c is cancelled')
    await go.succeed(b.id)
    expect(await ended(id)).toBe('failed')
  })
})
