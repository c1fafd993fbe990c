/** Work that foreign clients end by plain SQL: the effects on the run and on its workflow. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { parseInstanceSearch, parseRunSearch } from '../../src/model/search/parse.ts'
import type { Json } from '../../src/net/net.ts'
import type { Drive } from '../engine/drive.ts'
import { net, node, ONCE, run, undoBy } from '../engine/drive.ts'
import { expectNumbered } from '../engine/event-numbers.ts'
import { batch, chain, events, group, job, workflow } from '../engine/specifications/stage.ts'
import { type Foreign, SHARED } from './foreign.ts'
import { Stage } from './stage.ts'

describe.each(SHARED)('ended by plain SQL on $name', (place) => {
  let s: Stage
  let d: Drive
  let go: Foreign
  beforeEach(async () => {
    s = await Stage.open(place)
    d = s.d
    go = await s.foreign()
  })
  afterEach(async () => {
    expect(await d.doctor()).toEqual([])
    await s.close()
  })
  const enqueue = async (rest: object = {}): Promise<string> => {
    const [made] = await d.engine.enqueue([{ type: 'x.v1', payload: null, ...rest }])
    return (made as { id: string }).id
  }

  it('a failure written by plain SQL is found by its code, and counted in its group', async () => {
    const bare = await enqueue()
    const id = await workflow(d, chain(job('a.v1')))
    for (let n = 0; n < 2; n++) {
      const claimed = await go.claimed()
      await go.fail({ ...claimed, maxAttempts: 1 }, '{"message": "no such host", "code": "unreachable"}')
    }
    await d.engine.sweep()
    const query = { tenant: null, limit: 10, before: null }
    const runs = await d.store.read.search.runs({ search: parseRunSearch('error:unreachable'), ...query })
    expect(runs.rows.map((row) => row.id)).toContain(bare)
    expect(runs.rows).toHaveLength(2)
    const found = await d.store.read.search.instances({ search: parseInstanceSearch('error:unreachable'), ...query })
    expect(found.rows.map((row) => row.id)).toEqual([id])
    const { rows } = await d.engine.errorGroups.list({ ...query, states: null, text: 'unreachable' })
    expect(rows.map(({ type, count }) => [type, count]).toSorted()).toEqual([
      ['a.v1', 1],
      ['x.v1', 1],
    ])
  })

  it('a chain continues step by step, and its results look as if a Petrel worker had produced them', async () => {
    const id = await workflow(d, chain(job('a.v1', { n: 1 }), job('b.v1'), job('c.v1')))
    for (const [i, type] of ['a.v1', 'b.v1', 'c.v1'].entries()) {
      const claimed = await go.claimed()
      expect(claimed.type).toBe(type)
      await go.succeed(claimed.id, { step: i })
      await d.engine.sweep()
    }
    expect(await d.state(id)).toBe('completed')
    expect(await d.results(id)).toEqual({ 0: { step: 0 }, 1: { step: 1 }, 2: { step: 2 } })
    expect(await events(d, id)).toEqual([
      'instance.created',
      'created 0',
      'instance.started',
      'succeeded 0',
      'created 1',
      'succeeded 1',
      'created 2',
      'succeeded 2',
      'instance.completed',
    ])
  })

  it('a step records its whole history once, whichever workers took part', async () => {
    const id = await workflow(d, chain(job('a.v1', null, 2)))
    const first = await go.claimed('go-1')
    await go.heartbeat(first.id, 60)
    await go.fail(first)
    await d.pass(61_000)
    const second = await go.claimed('py-1')
    expect(second.attempt).toBe(1)
    await go.succeed(second.id, 'done')
    await d.engine.sweep()
    await d.engine.sweep()
    expect(await d.state(id)).toBe('completed')
    const recorded = ['created', 'leased', 'started', 'heartbeat', 'retried', 'leased', 'started', 'succeeded']
    expect(await s.history(first.id)).toEqual(recorded)
    expect(await s.run(first.id)).toMatchObject({ leasedBy: null, leaseUntil: null, sessionId: null, attempt: 1 })
  })

  it('the end of a step is numbered within its instance; the end of a bare run is recorded by the write itself', async () => {
    const id = await workflow(d, chain(job('a.v1')))
    const step = await go.claimed()
    const bare = await enqueue()
    await go.succeed(step.id, 1)
    await go.succeed(bare, 2)
    expect(await s.history(step.id)).toEqual(['created', 'leased', 'started'])
    expect(await s.history(bare)).toEqual(['created', 'succeeded'])
    await d.engine.sweep()
    expect(await s.lastRecorded(step.id)).toEqual({ type: 'succeeded', data: null, seq: 4 })
    expect(await s.lastRecorded(bare)).toMatchObject({ type: 'succeeded', seq: null })
    expect(await s.history(bare)).toEqual(['created', 'succeeded'])
    expect(await d.state(id)).toBe('completed')
  })

  it('a group ends when its last job has, and fails if one failed', async () => {
    const id = await workflow(d, group(job('a.v1'), job('b.v1'), job('c.v1')))
    await go.succeed((await go.claimed('go-1', 'a.%')).id, 'A')
    await go.fail(await go.claimed('go-1', 'b.%'))
    await d.engine.sweep()
    expect(await d.state(id)).toBe('running')
    await go.succeed((await go.claimed('go-1', 'c.%')).id, 'C')
    await d.engine.sweep()
    expect(await d.state(id)).toBe('failed')
    expect(await d.results(id)).toMatchObject({ jobs: { 0: 'A', 2: 'C' } })
  })

  it('a batch runs its callbacks, by plain SQL as well', async () => {
    const id = await workflow(d, batch([job('a.v1'), job('b.v1')]))
    await go.succeed((await go.claimed('go-1', 'a.%')).id)
    await go.fail(await go.claimed('go-1', 'b.%'))
    await d.engine.sweep()
    expect((await go.work()).sort()).toEqual(['on.complete', 'on.failure'])
    await d.engine.sweep()
    expect(await d.state(id)).toBe('completed')
  })

  it('a failed step causes the completed steps to be undone, the last first', async () => {
    const steps = [node('book', ['pay'], { undo: undoBy('unbook') }), node('pay', ['ship'], { undo: undoBy('refund') })]
    const ship = node('ship', [], { retry: ONCE })
    const id = await d.start({ net: net([...steps, ship], { onFailure: 'compensate' }) })
    for (const type of ['book', 'pay']) {
      await go.succeed((await go.claimed('go-1', type)).id, { of: type })
      await d.engine.sweep()
    }
    await go.fail(await go.claimed('go-1', 'ship'), 'no ship')
    await d.engine.sweep()
    const undone: Json[] = []
    for (const type of ['refund', 'unbook']) {
      const undo = await go.claimed('go-1', '%')
      expect(undo.type).toBe(type)
      undone.push(undo.payload)
      await go.succeed(undo.id)
      await d.engine.sweep()
    }
    expect(undone).toEqual([
      { args: null, result: { of: 'pay' } },
      { args: null, result: { of: 'book' } },
    ])
    expect(await d.state(id)).toBe('compensated')
    expect((await d.engine.view(id))?.error).toMatchObject({ code: 'handler_error', message: 'no ship', node: 'ship' })
  })

  it('steps that ended before the engine noticed are numbered one by one, and undone from the highest number down', async () => {
    const keys = ['a', 'b', 'c']
    const steps = keys.map((key) => node(key, [], { undo: undoBy('undo') }))
    const breaks = node('breaks', [], { retry: ONCE })
    const entry = [...keys, 'breaks']
    const id = await d.start({ net: net([...steps, breaks], { entry, onFailure: 'compensate' }) })
    for (const type of ['c', 'a', 'b']) await go.succeed((await go.claimed('go-1', type)).id)
    await d.engine.sweep()
    await expectNumbered(d.store, id)
    const numbers = await Promise.all(keys.map(async (key) => ({ key, at: (await s.runAt(id, key)).doneSeq ?? 0 })))
    await go.fail(await go.claimed('go-1', 'breaks'))
    await d.engine.sweep()
    const undone: (string | null)[] = []
    for (let [undo] = await d.claim(); undo !== undefined; [undo] = await d.claim()) {
      undone.push(undo.node)
      await d.succeed(undo)
    }
    expect(undone).toEqual(numbers.sort((x, y) => y.at - x.at).map(({ key }) => key))
    expect(await d.state(id)).toBe('compensated')
  })

  it('a loop over items collects the results of each', async () => {
    const each = {
      kind: 'each',
      items: null,
      body: run('square.v1'),
      mode: 'eager',
      maxInFlight: 2,
      stopOnFailure: false,
    } as const
    const loop = node('loop', ['sum'], { work: each as never })
    const id = await d.start({ net: net([loop, node('sum')]), items: { loop: [1, 2, 3, 4, 5] } })
    for (let round = 0; round < 5; round++) {
      await go.work('go-1', 'square.%', ({ payload }) => (payload as number) ** 2)
      await d.engine.sweep()
    }
    expect((await d.results(id)).loop).toEqual({ 0: 1, 1: 4, 2: 9, 3: 16, 4: 25 })
    expect(await go.work()).toEqual(['sum'])
    await d.engine.sweep()
    expect(await d.state(id)).toBe('completed')
  })

  it('a nested workflow continues, and then its parent', async () => {
    const id = await workflow(d, chain(job('a.v1'), group(job('b.v1'), chain(job('c.v1'), job('d.v1'))), job('e.v1')))
    const done: string[] = []
    for (let round = 0; round < 4; round++) {
      done.push(...(await go.work('go-1', '%', ({ type }) => type)))
      await d.engine.sweep()
    }
    expect(done).toEqual(['a.v1', 'b.v1', 'c.v1', 'd.v1', 'e.v1'])
    expect(await d.state(id)).toBe('completed')
    expect(await d.results(id)).toMatchObject({ 0: 'a.v1', 2: 'e.v1' })
  })

  it('deferred work releases its place under a limit when plain SQL ends it', async () => {
    await d.engine.setLimit({ key: 'queue:default', maxConcurrent: 1 })
    const [id, next] = [await enqueue(), await enqueue()]
    const delivery = await d.claimOne()
    const report = { delivery, reportId: 'later', startedAt: Date.now(), wantNext: false }
    await d.session.settle({ ...report, outcome: { kind: 'deferred' } })
    expect(await d.claim()).toEqual([])
    expect((await go.succeed(id, 'by mail')).count).toBe(1)
    expect(await d.doctor()).toEqual([])
    await d.engine.sweep()
    expect((await d.claimOne()).runId).toBe(next)
    expect(await s.history(id)).toEqual(['created', 'leased', 'started', 'deferred', 'succeeded'])
  })

  it('an outcome written without a claim counts as well, once', async () => {
    const id = await workflow(d, chain(job('a.v1'), job('b.v1')))
    const a = await s.runAt(id, '0')
    expect((await go.succeed(a.id, 'first')).count).toBe(1)
    expect((await go.succeed(a.id, 'second')).count).toBe(0)
    await d.engine.sweep()
    expect((await go.succeed(a.id, 'third')).count).toBe(0)
    expect(await d.results(id)).toMatchObject({ 0: 'first' })
    expect((await d.store.read.instance(id))?.startedAt).not.toBeNull()
  })

  it('callers that wait for a bare run get the result, its unique key is released, and it is counted', async () => {
    const unique = { key: 'u', onConflict: 'reject' }
    const id = await enqueue({ unique })
    const ended = d.engine.ended({ id, kind: 'run' })
    await go.succeed(id, { ok: true })
    const again = await enqueue({ unique })
    await d.engine.sweep()
    expect(await ended).toBe('succeeded')
    await go.fail({ ...(await go.claimed()), maxAttempts: 1 })
    await d.engine.sweep()
    expect(await d.engine.ended({ id: again, kind: 'run' })).toBe('failed')
    const [stats] = await d.engine.queueStats({ queue: 'default', minutes: 1 })
    expect(stats).toMatchObject({ succeeded: 1, failed: 1, active: 0, available: 0 })
  })

  it('a failed run becomes a dead letter if its policy requires it, and only the engine redrives it', async () => {
    const id = await enqueue({ maxAttempts: 1, retry: { deadLetter: true } })
    await go.fail(await go.claimed())
    await d.engine.sweep()
    expect(await s.run(id)).toMatchObject({ status: 'failed', deadLetter: true, attempt: 1 })
    expect((await go.sql(`UPDATE workflow_run SET status = 'pending' WHERE id = '${id}'`)).count).toBe(0)
    await d.engine.redrive({ runId: id, actor: 'ann' })
    expect(await s.run(id)).toMatchObject({ status: 'pending', attempt: 0, deadLetter: false, settledAt: null })
    await go.succeed((await go.claimed()).id, 'at last')
    await d.engine.sweep()
    expect(await s.run(id)).toMatchObject({ status: 'succeeded', result: '"at last"' })
    expect(await s.history(id)).toEqual([
      'created',
      'leased',
      'started',
      'failed',
      'redriven',
      'leased',
      'started',
      'succeeded',
    ])
  })

  it('a success that comes while its workflow drains is recorded, and does not advance it', async () => {
    const nodes = [node('a', ['after']), node('b', [], { retry: ONCE }), node('after')]
    const id = await d.start({ net: net(nodes, { entry: ['a', 'b'] }) })
    const a = await go.claimed('go-1', 'a')
    await go.fail(await go.claimed('go-2', 'b'))
    await d.engine.sweep()
    expect((await d.store.read.instance(id))?.phase).toBe('drain')
    expect(await go.status(a.id)).toBe('leased')
    await go.succeed(a.id, 'late but good')
    await d.engine.sweep()
    expect(await d.state(id)).toBe('failed')
    expect(await d.results(id)).toMatchObject({ a: 'late but good' })
    expect((await d.engine.view(id))?.runs.map((r) => r.node)).not.toContain('after')
  })

  it('a failure that comes while its workflow drains is final, however many attempts are left', async () => {
    const nodes = [node('a', [], { retry: { ...ONCE, maxAttempts: 5 } }), node('b', [], { retry: ONCE })]
    const id = await d.start({ net: net(nodes, { entry: ['a', 'b'] }) })
    const a = await go.claimed('go-1', 'a')
    await go.fail(await go.claimed('go-2', 'b'))
    await d.engine.sweep()
    await go.fail(a)
    await d.engine.sweep()
    expect(await d.state(id)).toBe('failed')
    expect(await s.run(a.id)).toMatchObject({ status: 'failed', attempt: 1 })
  })

  it('a workflow is shown as started while a foreign worker executes its first step', async () => {
    const id = await workflow(d, chain(job('a.v1'), job('b.v1')))
    await go.claimed()
    await d.engine.sweep()
    await d.engine.sweep()
    expect((await d.store.read.instance(id))?.startedAt).not.toBeNull()
    expect((await events(d, id)).filter((type) => type === 'instance.started')).toHaveLength(1)
  })
})
