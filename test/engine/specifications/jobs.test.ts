/** Chains, groups and batches beyond what the other tests of the engine cover. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { InstanceRow } from '../../../src/model/rows.ts'
import type { Tree } from '../../../src/notations/ojs/compile/tree.ts'
import { readDefinition } from '../../../src/operations/definitions/read.ts'
import type { Delivery } from '../../../src/worker/port.ts'
import { type Drive, PLACES } from '../drive.ts'
import { batch, begin, byType, chain, events, group, job, open, row, runRow, types, workflow } from './stage.ts'

describe.each(PLACES)('chain, group, batch on $name', (place) => {
  let d: Drive
  beforeEach(async () => {
    d = await open(place)
  })
  afterEach(async () => {
    expect(await d.doctor()).toEqual([])
    await d.close()
  })

  it('a first step receives no results, a later one all earlier results by index', async () => {
    await workflow(d, chain(job('a'), job('b'), job('c')))
    const seen: Record<string, unknown>[] = []
    for (const result of [{ x: 1 }, null, 'last']) {
      const step = await d.claimOne()
      const { byNode } = await d.session.results(step)
      seen.push(Object.fromEntries([...byNode].map(([k, v]) => [k, v === null ? null : JSON.parse(v)])))
      await d.succeed(step, result)
    }
    expect(seen).toEqual([{}, { 0: { x: 1 } }, { 0: { x: 1 }, 1: null }])
  })

  it('jobs of a group receive the result of the step before it and none of each other; the step after it receives their results by index', async () => {
    await workflow(d, chain(job('a'), group(job('b'), job('c')), job('d')))
    await d.succeed(await d.claimOne(), 'A')
    for (const inner of await d.claim()) {
      expect([...(await d.session.results(inner)).byNode.keys()]).toEqual(['0'])
      await d.succeed(inner, { did: inner.type })
    }
    const { byNode } = await d.session.results(await d.claimOne())
    expect(JSON.parse(byNode.get('1') as string)).toEqual({ 0: { did: 'b' }, 1: { did: 'c' } })
    expect(JSON.parse(byNode.get('0') as string)).toBe('A')
  })

  it('a failure with attempts left fails nothing yet', async () => {
    const id = await workflow(d, group(job('flaky', null, 2), job('other')))
    const open = await d.claim()
    await d.fail(byType(open, 'flaky'))
    await d.succeed(byType(open, 'other'))
    expect(await row(d, id)).toMatchObject({ state: 'running', failed: 0, succeeded: 1 })
    await d.pass(60_000)
    await d.succeed(await d.claimOne())
    expect(await row(d, id)).toMatchObject({ state: 'completed', failed: 0, succeeded: 2 })
  })

  it('a group stays running after a failure until its last job has ended', async () => {
    const id = await workflow(d, group(job('a'), job('b'), job('c')))
    const [a, b, c] = (await d.claim()) as [Delivery, Delivery, Delivery]
    await d.fail(a)
    expect(await d.state(id)).toBe('running')
    await d.succeed(b)
    expect(await d.state(id)).toBe('running')
    await d.succeed(c)
    expect(await row(d, id)).toMatchObject({ state: 'failed', failed: 1, succeeded: 2 })
  })

  it('a chain records counts and times, and which step failed, why and when', async () => {
    const id = await workflow(d, chain(job('a'), job('b', null, 2), job('c')))
    expect(await row(d, id)).toMatchObject({
      state: 'running',
      startedAt: null,
      endedAt: null,
      createdAt: expect.any(Number),
    })
    await d.succeed(await d.claimOne())
    expect((await row(d, id)).startedAt).toBeTypeOf('number')
    const b = await d.claimOne()
    await d.fail(b)
    await d.pass(60_000)
    await d.fail(await d.claimOne(), { code: 'declined', message: 'no money' })
    expect(await row(d, id)).toMatchObject({ state: 'failed', succeeded: 1, failed: 1, endedAt: expect.any(Number) })
    expect((await d.engine.view(id))?.error).toMatchObject({ node: '1', code: 'declined', message: 'no money' })
    const failed = await runRow(d, b.runId)
    expect(failed).toMatchObject({ status: 'failed', attempt: 2, node: '1' })
    expect(JSON.parse(failed.error as string)).toMatchObject({ code: 'declined', message: 'no money' })
  })

  it('callbacks are retried by their own policy before the batch fails', async () => {
    const id = await workflow(d, batch([job('a')], 2))
    await d.succeed(await d.claimOne())
    const finals = await d.claim()
    expect(types(finals).sort()).toEqual(['on.complete', 'on.success'])
    await d.succeed(byType(finals, 'on.success'))
    await d.fail(byType(finals, 'on.complete'))
    expect(await d.state(id)).toBe('running')
    await d.pass(60_000)
    await d.fail(await d.claimOne(), { code: 'no_report' })
    expect(await d.state(id)).toBe('failed')
    expect((await d.engine.view(id))?.error).toMatchObject({ node: 'on_complete', code: 'no_report' })
  })

  it('a cancelled batch fires no callback; running jobs end by themselves and their results are kept', async () => {
    const id = await workflow(d, batch([job('a'), job('b')]))
    const active = await d.claimOne()
    await begin(d, active)
    await d.engine.cancelInstance({ id, actor: 'me' })
    expect((await d.succeed(active, 'kept')).status).toBe('recorded')
    expect(await d.claim()).toEqual([])
    expect(await row(d, id)).toMatchObject({ state: 'cancelled', succeeded: 1, failed: 0 })
    expect((await runRow(d, active.runId)).result).toBe('"kept"')
    expect((await d.engine.view(id))?.runs.map((r) => r.status).sort()).toEqual(['cancelled', 'succeeded'])
  })

  it('after a cancel the failure of an active job is final', async () => {
    const id = await workflow(d, group(job('a', null, 5)))
    const active = await d.claimOne()
    await begin(d, active)
    await d.engine.cancelInstance({ id, actor: null })
    await d.fail(active)
    expect(await d.state(id)).toBe('cancelled')
    expect((await runRow(d, active.runId)).status).toBe('failed')
  })

  it('a job cancelled alone, and one that times out for good, count as failed and the batch continues', async () => {
    const slow: Tree = {
      kind: 'job',
      type: 'slow',
      args: null,
      options: { timeoutMs: 1000, retry: { maxAttempts: 1 } },
    }
    const id = await workflow(d, batch([job('a'), slow, job('c')]))
    const open = await d.claim()
    await begin(d, byType(open, 'slow'))
    await d.engine.cancelRun({ id: byType(open, 'a').runId, actor: 'me' })
    await d.pass(1001)
    await d.succeed(byType(open, 'c'))
    const finals = await d.claim()
    expect(types(finals).sort()).toEqual(['on.complete', 'on.failure'])
    for (const f of finals) await d.succeed(f)
    expect(await row(d, id)).toMatchObject({ state: 'completed', succeeded: 1, failed: 2 })
  })

  it.each([
    ['chain in group', group(chain(job('a'), job('b')), job('c'))],
    ['batch in group', group(batch([job('a')]), job('c'))],
    ['group in chain', chain(group(job('a'), job('b')), job('c'))],
    ['batch in chain', chain(batch([job('a')]), job('c'))],
    ['chain in batch', batch([chain(job('a'), job('b'))])],
    ['group in batch', batch([group(job('a'), job('b'))])],
  ])('%s: its end and its failure are those of its position', async (_, tree) => {
    const good = await workflow(d, tree)
    await d.work()
    expect(await d.state(good)).toBe('completed')
    const bad = await workflow(d, tree)
    const done = await d.work((w) => (w.type === 'a' || w.type === 'on.failure' ? new Error('bad') : null))
    expect(await d.state(bad)).toBe('failed')
    const [inner] = await d.store.read.children(bad)
    expect((inner as InstanceRow).state).toBe('failed')
    // A chain goes no further than its failed step; members of a group or batch are not affected.
    expect(done.includes('1')).toBe(false)
  })

  it('ids of workflows and jobs are UUIDs of version 7, in order of creation', async () => {
    const first = await workflow(d, chain(job('a')))
    const second = await workflow(d, chain(job('a')))
    const ids = [first, second, ...(await d.claim()).map((x) => x.runId)]
    for (const id of ids) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    expect(first < second).toBe(true)
  })

  it('every change of a workflow is recorded', async () => {
    const good = await workflow(d, batch([job('a'), job('b')]))
    await d.work((w) => (w.type === 'b' ? new Error('bad') : null))
    expect(await events(d, good)).toEqual([
      'instance.created',
      'created jobs',
      'created jobs',
      'instance.started',
      'succeeded jobs',
      'failed jobs',
      'created on_complete',
      'created on_failure',
      'succeeded on_complete',
      'succeeded on_failure',
      'instance.completed',
    ])
    const bad = await workflow(d, chain(job('a'), job('b')))
    await d.work(() => new Error('bad'))
    expect(await events(d, bad)).toEqual([
      'instance.created',
      'created 0',
      'instance.started',
      'failed 0',
      'instance.draining 0',
      'instance.failed',
    ])
    const cancelled = await workflow(d, chain(job('a')))
    await d.engine.cancelInstance({ id: cancelled, actor: 'me' })
    expect(await events(d, cancelled)).toEqual([
      'instance.created',
      'created 0',
      'instance.cancel_requested',
      'instance.draining',
      'cancelled 0',
      'instance.cancelled',
    ])
  })

  it('an ended workflow does not change any more', async () => {
    const id = await workflow(d, chain(job('a')))
    await d.work()
    const before = await row(d, id)
    await expect(d.engine.cancelInstance({ id, actor: null })).rejects.toMatchObject({
      code: 'conflict',
      details: { state: 'completed' },
    })
    await expect(d.engine.retryInstance({ id, actor: null })).rejects.toMatchObject({ code: 'conflict' })
    await expect(d.engine.resumeInstance({ id, actor: null })).rejects.toMatchObject({ code: 'conflict' })
    await expect(d.engine.patchContext({ instanceId: id, set: { x: 1 }, actor: null })).rejects.toMatchObject({
      code: 'conflict',
    })
    await d.pass(10_000)
    expect(await row(d, id)).toEqual(before)
  })
})

describe('a workflow of jobs as a file', () => {
  it('takes queue, timeout and retry of each job from the fields of OJS', async () => {
    const { start } = await readDefinition(
      'order.json',
      JSON.stringify({
        type: 'chain',
        id: 'wf_order',
        name: 'order',
        steps: [
          {
            type: 'order.check',
            args: [{ id: 'o1' }],
            options: { queue: 'orders', retry: { max_attempts: 4, backoff: 'exponential', base_delay_ms: 500 } },
          },
          { type: 'card.charge', args: [], options: { timeout_ms: 30_000, retry: { max_attempts: 5 } } },
        ],
      }),
    )
    expect(start.net).toMatchObject({ name: 'order', dialect: 'ojs', entry: ['0'] })
    expect(start.net.nodes).toMatchObject([
      {
        work: { type: 'order.check', queue: 'orders' },
        retry: { maxAttempts: 4, backoff: 'exponential', initialMs: 500 },
      },
      {
        work: { type: 'card.charge', queue: 'default' },
        retry: { maxAttempts: 5 },
        timeout: { ms: 30_000, per: 'attempt' },
      },
    ])
    expect(start.literals).toMatchObject({ 0: { args: [{ id: 'o1' }] }, 1: { args: [] } })
  })

  it.each(['group', 'batch'])('a %s without jobs is refused', async (type) => {
    const text = JSON.stringify({
      type,
      jobs: [],
      ...(type === 'batch' ? { callbacks: { on_complete: { type: 'x' } } } : {}),
    })
    await expect(readDefinition('empty.json', text)).rejects.toThrow('jobs array must contain at least one element')
  })

  it('takes the jobs and callbacks of a batch', async () => {
    const { start } = await readDefinition(
      'mail.json',
      JSON.stringify({
        type: 'batch',
        jobs: [
          { type: 'mail.send', args: ['a'] },
          { type: 'mail.send', args: ['b'] },
        ],
        callbacks: {
          on_complete: { type: 'mail.report', args: [] },
          on_failure: { type: 'mail.alert', args: [], options: { queue: 'alerts' } },
        },
      }),
    )
    expect(start.items?.['jobs']).toMatchObject([{ run: { args: ['a'] } }, { run: { args: ['b'] } }])
    expect(start.net.finals).toMatchObject([
      { node: 'on_complete', when: 'always' },
      { node: 'on_failure', when: 'failure' },
    ])
    expect(start.net.nodes.find((n) => n.key === 'on_failure')?.work).toMatchObject({
      type: 'mail.alert',
      queue: 'alerts',
    })
  })
})
