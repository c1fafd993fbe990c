/** Workflows inside workflows, by section 10 of the workflow specification. */
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { onBothStores, type Serving } from '../serving.ts'
import { type Any, batch, chain, Flow, group, job, MOMENT, once, states, UUID7 } from './flow.ts'

onBothStores('nested workflows', (stage) => {
  let s: Serving
  let f: Flow
  beforeAll(async () => {
    s = await stage.serve({ allowReset: true })
    f = new Flow(s)
  })
  beforeEach(async () => {
    await s.store.moveClock(0)
    expect((await s.post('/ojs/v1/admin/reset')).status).toBe(200)
  })

  const named = (id: string, body: Any): Any => ({ ...body, id })
  const place = (workflow: Any, index: number): Any => (workflow.steps ?? workflow.jobs)[index]
  const byType = async (): Promise<Record<string, Any>> =>
    Object.fromEntries((await f.fetch()).map((one) => [one.type, one]))

  describe('10.1, 10.4 the six compositions', () => {
    const inner = {
      chain: () => chain(once('a'), once('b')),
      group: () => group(once('a'), once('b')),
      batch: () => batch([once('a'), once('b')], { on_complete: once('done') }),
    }
    it.each([
      ['group in chain', chain(inner.group(), once('z')), 'ab z'],
      ['batch in chain', chain(inner.batch(), once('z')), 'ab done z'],
      ['chain in group', group(inner.chain(), once('z')), 'az b'],
      ['batch in group', group(inner.batch(), once('z')), 'abz done'],
      ['chain in batch', batch([inner.chain(), once('z')], { on_complete: once('end') }), 'az b end'],
      ['group in batch', batch([inner.group(), once('z')], { on_complete: once('end') }), 'abz end'],
    ])('%s: its end is the end of its position', async (_, body, order) => {
      const created = await f.create(body)
      const nested = place(created, 0)
      expect(nested).toMatchObject({
        index: 0,
        type: nested.workflow.type,
        state: 'active',
        job_id: null,
        workflow_id: expect.stringMatching(UUID7),
        workflow: { id: nested.workflow_id, state: 'running', metadata: { job_count: 2, completed_count: 0 } },
      })
      // Parallel ones run at the same time, in any order.
      for (const together of order.split(' ')) {
        const fetched = await f.fetch()
        const types = fetched.map((one) => one.type).sort()
        expect(types).toEqual(/^[abz]+$/.test(together) ? [...together] : [together])
        for (const one of fetched) await f.ack(one)
      }
      const ended = await f.get(created.id)
      expect(ended.state).toBe('completed')
      expect(place(ended, 0)).toMatchObject({ state: 'completed', completed_at: expect.stringMatching(MOMENT) })
      expect(place(ended, 0).workflow).toMatchObject({ state: 'completed', metadata: { completed_count: 2 } })
      expect(ended.metadata).toMatchObject({ job_count: 3, completed_count: 3, failed_count: 0 })
      // The inner one can also be read by itself, with the same content.
      expect(await f.get(nested.workflow_id)).toEqual(place(ended, 0).workflow)
    })

    it.each([
      ['group in chain', chain(inner.group(), once('z')), 'failed', ['failed', 'cancelled']],
      ['chain in group', group(inner.chain(), once('z')), 'failed', ['failed', 'completed']],
      ['batch in group', group(inner.batch(), once('z')), 'failed', ['failed', 'completed']],
      ['chain in batch', batch([inner.chain(), once('z')]), 'completed', ['failed', 'completed']],
    ])('%s: its failure is the failure of its position', async (_, body, state, expected) => {
      const { id } = await f.create(body)
      const failing = JSON.stringify(body).includes('"done"') ? 'done' : 'a'
      await f.work((one) => (one.type === failing ? new Error('inner') : null))
      const ended = await f.get(id)
      expect(ended.state).toBe(state)
      expect(states(ended)).toEqual(expected)
      expect(place(ended, 0).workflow.state).toBe('failed')
      expect(ended.metadata.errors).toMatchObject([{ message: 'inner', attempt: 1 }])
      expect(ended.metadata.failed_job_ids).toEqual([ended.metadata.errors[0].job_id])
      if (ended.type === 'chain') expect(ended.metadata.failed_step_index).toBe(0)
    })
  })

  describe('10.2 depth', () => {
    /** Alternating chains and groups, `levels` in all. */
    const nested = (levels: number): Any => {
      const inside = levels === 1 ? once('deep') : nested(levels - 1)
      return levels % 2 === 0 ? chain(inside) : group(inside)
    }

    it('ten levels work', async () => {
      const { id } = await f.create(nested(10))
      await f.ack(await f.fetchOne('deep'), 'down here')
      let level = await f.get(id)
      for (let i = 1; i < 10; i++) {
        expect(level).toMatchObject({ state: 'completed', metadata: { job_count: 1, completed_count: 1 } })
        level = place(level, 0).workflow
      }
      expect(place(level, 0)).toMatchObject({ type: 'deep', result: 'down here' })
    })

    it('an eleventh is refused when the workflow is created, with its path, and the manifest names the limit', async () => {
      const { status, body } = await f.post(nested(11))
      expect(status).toBe(400)
      expect(body.error.code).toBe('invalid_workflow')
      expect(body.error.details.validation_errors).toEqual([
        {
          path: `$${'.jobs[0].steps[0]'.repeat(5)}`,
          message: 'workflows nest at most 10 levels deep; this one is on level 11',
        },
      ])
      expect((await s.get('/ojs/manifest')).text).toMatch(/"max_workflow_depth":10|"max_nesting_depth":10/)
      expect((await s.get('/ojs/v1/workflows')).body.pagination.total).toBe(0)
    })

    it('a hundred levels are refused as well, without a crash', async () => {
      const { status, body } = await f.post(nested(100))
      expect([status, body.error.code]).toEqual([400, 'invalid_workflow'])
    })
  })

  describe('10.1 what may not be nested where', () => {
    it.each([
      ['chain', chain(once('a'), chain(once('b'))), '$.steps[1]', 'a chain cannot be directly inside a chain'],
      ['group', group(group(once('b'))), '$.jobs[0]', 'a group cannot be directly inside a group'],
      ['batch', batch([batch([once('b')])]), '$.jobs[0]', 'a batch cannot be directly inside a batch'],
      [
        'batch in a group in a batch: only the direct one counts',
        group(batch([chain(chain(once('a')))])),
        '$.jobs[0].jobs[0].steps[0]',
        'a chain cannot be directly inside a chain',
      ],
    ])('%s', async (_, body, path, message) => {
      const reply = await f.post(body)
      expect(reply.status).toBe(400)
      expect(reply.body.error.details.validation_errors).toMatchObject([{ path, message }])
    })

    it('a nested workflow is recognised by its structure: a job may have a type called group', async () => {
      const created = await f.create(chain(job('group', [1]), job('chain', []), group(job('batch', [2]))))
      expect(created.steps.map((step: Any) => [step.type, step.workflow === undefined])).toEqual([
        ['group', true],
        ['chain', true],
        ['group', false],
      ])
      expect(await f.work()).toEqual(['group', 'chain', 'batch'])
      expect((await f.get(created.id)).state).toBe('completed')
    })
  })

  describe('10.3, 7.3 results across levels', () => {
    const given = (one: Any): Any => [one.parent_results, one.workflow.outer_results]

    it('jobs of a nested group receive the same as a plain step there; the step after it receives their results by index', async () => {
      await f.create(chain(once('a'), group(once('b'), once('c')), once('d'), once('e')))
      await f.ack(await f.fetchOne('a'), 'A')
      const { b, c } = await byType()
      expect([given(b), given(c)]).toEqual([
        [['A'], undefined],
        [['A'], undefined],
      ])
      expect(b).toMatchObject({ workflow_step: 0, workflow: { type: 'group', job_index: 0 } })
      expect(b.workflow_id).not.toBe(b.workflow.root_id)
      await f.ack(c, 'C')
      await f.ack(b, 'B')
      const d = await f.fetchOne('d')
      expect(d.parent_results).toEqual(['A', { 0: 'B', 1: 'C' }])
      expect(d.workflow.parent_results).toEqual({ 0: 'A', 1: { 0: 'B', 1: 'C' } })
      await f.ack(d, 'D')
      expect((await f.fetchOne('e')).parent_results).toEqual(['A', { 0: 'B', 1: 'C' }, 'D'])
    })

    it('callbacks of a nested batch receive its jobs, and the surrounding results as outer results', async () => {
      await f.create(chain(once('a'), batch([once('b'), once('c')]), once('d')))
      await f.ack(await f.fetchOne('a'), 'A')
      const { b, c } = await byType()
      expect(given(b)).toEqual([['A'], undefined])
      await f.ack(b, 'B')
      await f.nack(c, { code: 'lost' })
      const failed = { state: 'failed', error: { job_id: c.id, code: 'lost', message: 'it broke', attempt: 1 } }
      for (const callback of await f.fetch()) {
        expect(given(callback)).toEqual([['B', failed], { 0: 'A' }])
        await f.ack(callback, 'not part of the result')
      }
      expect((await f.fetchOne('d')).parent_results).toEqual(['A', { 0: 'B', 1: failed }])
    })

    it('the first step of a nested chain receives the outer results; later ones their own, and the outer ones as outer', async () => {
      await f.create(chain(once('a'), group(chain(once('b'), once('c'), once('e')), once('x')), once('z')))
      await f.ack(await f.fetchOne('a'), 'A')
      const { b, x } = await byType()
      expect([given(b), given(x)]).toEqual([
        [['A'], undefined],
        [['A'], undefined],
      ])
      await f.ack(x, 'X')
      await f.ack(b, 'B')
      const c = await f.fetchOne('c')
      expect(given(c)).toEqual([['B'], { 0: 'A' }])
      expect(c.workflow).toMatchObject({ type: 'chain', step_index: 1, parent_results: { 0: 'B' } })
      await f.ack(c, 'C')
      const e = await f.fetchOne('e')
      expect(given(e)).toEqual([['B', 'C'], { 0: 'A' }])
      await f.ack(e, 'E')
      const z = await f.fetchOne('z')
      expect(z.parent_results).toEqual(['A', { 0: { 0: 'B', 1: 'C', 2: 'E' }, 1: 'X' }])
    })

    it('a group inside a nested chain passes on the results of its position, including outer ones', async () => {
      await f.create(chain(once('a'), group(chain(once('b'), group(once('c')), once('d')))))
      await f.ack(await f.fetchOne('a'), 'A')
      await f.ack(await f.fetchOne('b'), 'B')
      const c = await f.fetchOne('c')
      expect(given(c)).toEqual([['B'], { 0: 'A' }])
      await f.ack(c, 'C')
      expect(given(await f.fetchOne('d'))).toEqual([['B', { 0: 'C' }], { 0: 'A' }])
    })

    it('without surrounding results there are no outer ones', async () => {
      await f.create(group(chain(once('a'), once('b'))))
      await f.ack(await f.fetchOne('a'), 'A')
      expect(given(await f.fetchOne('b'))).toEqual([['A'], undefined])
    })

    it('a batch receives the outcome of a nested workflow that failed', async () => {
      await f.create(batch([chain(once('a'), once('b'), once('c')), once('x')]))
      const { a, x } = await byType()
      await f.ack(a, 'A')
      await f.ack(x, 'X')
      const b = await f.fetchOne('b')
      await f.nack(b, { code: 'lost' })
      const failed = { state: 'failed', error: { job_id: b.id, code: 'lost', message: 'it broke', attempt: 1 } }
      for (const callback of await f.fetch()) {
        expect(callback.parent_results).toEqual([{ 0: 'A', 1: failed }, 'X'])
      }
    })
  })

  describe('names', () => {
    const body = (): Any =>
      named(
        'wf_outer',
        chain(once('a'), named('wf_inner', group(once('b'), named('wf_deep', chain(once('c'), once('d')))))),
      )

    it('3.1 a nested workflow is found by its own name, before it begins and after', async () => {
      const created = await f.create(body())
      expect(states(created)).toEqual(['pending', 'waiting'])
      expect(created.metadata.job_count).toBe(4)
      expect(created.steps[1]).toMatchObject({ type: 'group', job_id: null, workflow_id: 'wf_inner' })
      const waiting = created.steps[1].workflow
      expect(waiting).toMatchObject({
        id: 'wf_inner',
        state: 'pending',
        jobs: [
          { index: 0, id: '0', type: 'b', state: 'waiting', job_id: null },
          {
            index: 1,
            type: 'chain',
            state: 'waiting',
            workflow: { id: 'wf_deep', steps: [{ type: 'c' }, { type: 'd' }] },
          },
        ],
        metadata: { job_count: 3, completed_count: 0, failed_count: 0 },
      })
      expect(await f.get('wf_inner')).toMatchObject(waiting)
      expect(await f.get('wf_deep')).toMatchObject({ state: 'pending', metadata: { job_count: 2 } })
      expect((await f.delete('wf_deep')).status).toBe(409)
      await f.ack(await f.fetchOne('a'))
      const { b } = await byType()
      expect(b).toMatchObject({ workflow_id: 'wf_inner', workflow: { id: 'wf_inner', root_id: 'wf_outer' } })
      expect(await f.get('wf_inner')).toMatchObject({ id: 'wf_inner', state: 'running' })
      expect(await f.get('wf_outer')).toMatchObject({ steps: [{}, { workflow_id: 'wf_inner', state: 'active' }] })
    })

    it('a name used anywhere is taken, even by a workflow that has not begun', async () => {
      await f.create(body())
      for (const id of ['wf_outer', 'wf_inner', 'wf_deep']) {
        expect((await f.post(named(id, chain(once('x'))))).status).toBe(409)
        expect((await f.post(chain(once('x'), named(id, group(once('y')))))).status).toBe(409)
      }
      expect((await s.get('/ojs/v1/workflows')).body.pagination.total).toBe(1)
    })

    it('a name used twice in one workflow is a mistake', async () => {
      const { status, body: reply } = await f.post(
        named(
          'wf_x',
          chain(named('wf_y', group(once('a'))), named('wf_y', group(once('b'))), named('wf_x', group(once('c')))),
        ),
      )
      expect(status).toBe(400)
      expect(reply.error.details.validation_errors.map((e: Any) => e.path)).toEqual(['$.steps[1].id', '$.steps[2].id'])
    })

    it('a nested workflow can be cancelled alone: its position has failed', async () => {
      const { id } = await f.create(group(named('wf_part', chain(once('a'), once('b'))), once('x')))
      const { status, body: reply } = await f.delete('wf_part')
      expect([status, reply.workflow.state]).toEqual([200, 'cancelled'])
      expect(states(reply.workflow)).toEqual(['cancelled', 'cancelled'])
      expect((await f.get(id)).state).toBe('running')
      expect(await f.work()).toEqual(['x'])
      const ended = await f.get(id)
      expect(ended.state).toBe('failed')
      expect(states(ended)).toEqual(['cancelled', 'completed'])
      expect(ended.metadata).toMatchObject({ completed_count: 1, failed_count: 0 })
    })

    it('a retry has separate names and carries over nested workflows that had completed', async () => {
      const inner = named('wf_done', group(once('b'), once('c')))
      await f.create(named('wf_old', chain(inner, once('d'), named('wf_later', group(once('e'))))))
      await f.work((one) => (one.type === 'd' ? new Error('no') : one.type))
      expect((await f.get('wf_old')).state).toBe('failed')
      const { status, body: reply } = await s.post('/ojs/v1/workflows/wf_old/retry')
      expect(status, JSON.stringify(reply)).toBe(201)
      const { id } = reply.workflow
      expect(states(reply.workflow)).toEqual(['completed', 'pending', 'waiting'])
      expect(reply.workflow.steps[0].workflow).toMatchObject({ id: 'wf_done', state: 'completed', jobs_completed: 2 })
      const d = await f.fetchOne('d')
      expect(d.parent_results).toEqual([{ 0: 'b', 1: 'c' }])
      await f.ack(d, 'D')
      expect(await f.work()).toEqual(['e'])
      const ended = await f.get(id)
      expect(ended).toMatchObject({ state: 'completed', metadata: { job_count: 4, completed_count: 4 } })
      expect(ended.steps[2].workflow_id).toMatch(UUID7)
    })
  })

  describe('11.3 a cancel of the outer workflow', () => {
    it('reaches all nested workflows at once; active jobs end by themselves', async () => {
      const { id } = await f.create(
        group(
          batch([once('a'), once('b')]),
          chain(once('c'), group(once('d'), once('e')), once('x')),
          once('z', { delay_until: '+PT1H' }),
        ),
      )
      await f.ack((await byType())['c'])
      const [d] = await f.fetch(1)
      const active = ['a', 'b']
      const { body } = await f.delete(id)
      expect(body.workflow.state).toBe('cancelled')
      const wire = body.workflow
      expect(states(wire)).toEqual(['cancelled', 'cancelled', 'cancelled'])
      expect(states(wire.jobs[0].workflow)).toEqual(['active', 'active'])
      expect(Object.values(wire.jobs[0].workflow.callbacks).map((c: Any) => c.state)).toEqual([
        'cancelled',
        'cancelled',
        'cancelled',
      ])
      expect(states(wire.jobs[1].workflow)).toEqual(['completed', 'cancelled', 'cancelled'])
      expect(states(wire.jobs[1].workflow.steps[1].workflow)).toEqual(['active', 'cancelled'])
      expect(wire.jobs[1].workflow.metadata.cancelled_at).toBe(wire.metadata.cancelled_at)
      expect(await f.fetch()).toEqual([])
      for (const index of [0, 1]) await f.ack({ id: wire.jobs[0].workflow.jobs[index].job_id }, active[index])
      await f.nack(d)
      expect(await f.fetch()).toEqual([])
      const ended = await f.get(id)
      expect(states(ended.jobs[0].workflow)).toEqual(['completed', 'completed'])
      expect(states(ended.jobs[1].workflow.steps[1].workflow)).toEqual(['failed', 'cancelled'])
      expect(ended.metadata).toMatchObject({ job_count: 7, completed_count: 3, failed_count: 1 })
    })

    it('shows pending jobs as cancelled, and nested workflows with all their jobs', async () => {
      const { id } = await f.create(chain(once('a'), batch([once('b')]), group(chain(once('c')))))
      const { body } = await f.delete(id)
      const [, second, third] = body.workflow.steps
      expect(second).toMatchObject({
        state: 'cancelled',
        workflow: { state: 'cancelled', jobs: [{ type: 'b', state: 'cancelled' }] },
      })
      expect(second.workflow.callbacks.on_failure).toEqual({
        id: 'on_failure',
        type: 'on.failure',
        state: 'cancelled',
        job_id: null,
      })
      expect(third.workflow.jobs[0].workflow.steps).toEqual([
        { index: 0, id: '0', type: 'c', state: 'cancelled', job_id: null },
      ])
    })
  })
})
