/**
 * Requirements of the workflow specification that the public test cases do not cover, each named after its section. See
 * also workflows.test.ts (each primitive), nesting.test.ts (section 10), once.test.ts (6.4.4) and
 * specification-examples.test.ts.
 */
import { Ajv2020 } from 'ajv/dist/2020.js'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { onBothStores, type Serving } from '../serving.ts'
import { type Any, batch, chain, Flow, group, job, MOMENT, once, states } from './flow.ts'

const STATES = ['pending', 'running', 'completed', 'failed', 'cancelled']
const EVENTS = [
  'workflow.callback_fired',
  'workflow.cancelled',
  'workflow.completed',
  'workflow.created',
  'workflow.failed',
  'workflow.job_completed',
  'workflow.job_failed',
  'workflow.started',
  'workflow.step_completed',
  'workflow.step_failed',
]

onBothStores('the OJS workflow specification', (stage) => {
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

  /** One workflow of each kind: completed, failed, cancelled, nested, with callbacks. */
  const lives = async (): Promise<void> => {
    await f.create({ ...chain(once('a'), group(once('b'), once('c')), batch([once('d')])), name: 'good' })
    await f.create({ ...chain(once('a'), once('bad'), once('b')), name: 'bad' })
    await f.create({ ...group(once('a'), once('bad')), name: 'half' })
    await f.work((one) => (one.type === 'bad' ? new Error('as asked') : { by: one.type }))
    const { id } = await f.create({ ...chain(once('a'), once('b')), name: 'gone' })
    await f.delete(id)
  }

  it('1.2 every time on the wire is RFC 3339 in UTC', async () => {
    await lives()
    const { workflows } = (await s.get('/ojs/v1/workflows')).body
    const shown = await Promise.all(workflows.map((one: Any) => f.get(one.id)))
    const held = (await s.post('/ojs/v1/jobs', job('a'))).body
    const times = timesIn([shown, workflows, await f.events(), held, (await f.fetch())[0]])
    expect(times.length).toBeGreaterThan(100)
    expect(times.filter(([, value]) => !MOMENT.test(value))).toEqual([])
  })

  it('1.2, 3.2 arguments are called args and are returned as the same list', async () => {
    const args = [1, 'zwei', null, { three: [true] }, []]
    await f.create(chain(job('a', args), job('b', [])))
    const a = await f.fetchOne('a')
    expect(a.args).toEqual(args)
    expect(a).not.toHaveProperty('payload')
    expect((await f.job(a.id)).args).toEqual(args)
    await f.ack(a)
    expect((await f.fetchOne('b')).args).toEqual([])
  })

  it.each([[undefined], [null], [{}], ['x'], [7], [true]])('3.2 %j is refused as args', async (args) => {
    const { status, body } = await f.post(chain({ type: 'a', args }))
    expect(status).toBe(400)
    expect(body.error.details.validation_errors).toMatchObject([{ path: '$.steps[0].args' }])
  })

  it('3.3 counts include nested workflows, exclude callbacks, and exclude jobs to be retried', async () => {
    const retry = { max_attempts: 2, initial_interval: 'PT1S' }
    const { id, metadata } = await f.create(
      batch([chain(once('a'), group(once('b'), once('c'))), once('bad'), job('again', [], { retry })]),
    )
    expect(metadata).toMatchObject({ job_count: 5, completed_count: 0, failed_count: 0 })
    await f.work((one) => (one.type === 'bad' ? new Error('no') : null))
    expect((await f.get(id)).metadata).toMatchObject({ job_count: 5, completed_count: 4, failed_count: 1 })

    const other = await f.create(group(job('again', [], { retry })))
    await f.nack(await f.fetchOne('again'))
    expect((await f.get(other.id)).metadata).toMatchObject({ job_count: 1, completed_count: 0, failed_count: 0 })
  })

  it('4.4 a step is waiting, pending, active, pending between attempts, then completed; or failed, or cancelled', async () => {
    const retry = { max_attempts: 2, initial_interval: 'PT1S' }
    const { id } = await f.create(chain(once('a'), job('b', [], { retry }), once('c'), once('d')))
    const seen = async (): Promise<string> => states(await f.get(id)).join(' ')
    expect(await seen()).toBe('pending waiting waiting waiting')
    const a = await f.fetchOne('a')
    expect(await seen()).toBe('active waiting waiting waiting')
    await f.ack(a)
    await f.nack(await f.fetchOne('b'))
    expect(await seen()).toBe('completed pending waiting waiting')
    await s.store.moveClock(60_000)
    await f.ack(await f.fetchOne('b'))
    await f.nack(await f.fetchOne('c'))
    expect(await seen()).toBe('completed completed failed cancelled')
    const [first, , third, last] = (await f.get(id)).steps
    expect([first.started_at, first.completed_at]).toEqual([
      expect.stringMatching(MOMENT),
      expect.stringMatching(MOMENT),
    ])
    expect(third).toMatchObject({ error: { code: 'handler_error', message: 'it broke', attempt: 1 } })
    expect(third).not.toHaveProperty('result')
    expect(last).toEqual({ index: 3, id: '3', type: 'd', state: 'cancelled', job_id: null })
  })

  describe('7.5 results of 64 KB', () => {
    const KB64 = 64 * 1024
    const big = (of: string): string => of.repeat(KB64 - 2)

    it('are accepted from every job and passed on together', async () => {
      const { id } = await f.create(chain(group(once('a'), once('b'), once('c')), batch([once('d')]), once('last')))
      const given: Record<string, string> = {}
      const work = async (): Promise<void> => {
        for (const one of await f.fetch()) {
          given[one.type] = big(one.type[0])
          await f.ack(one, given[one.type])
        }
      }
      await work()
      await work()
      await work()
      const last = await f.fetchOne('last')
      expect(last.parent_results).toEqual([{ 0: given['a'], 1: given['b'], 2: given['c'] }, { 0: given['d'] }])
      await f.ack(last, big('z'))
      expect((await f.get(id)).state).toBe('completed')
    })

    it('in multi-byte characters', async () => {
      await f.create(chain(once('a'), once('b')))
      const result = '€'.repeat(Math.floor(KB64 / 3))
      await f.ack(await f.fetchOne('a'), result)
      expect((await f.fetchOne('b')).parent_results).toEqual([result])
    })

    it('of a failed job, too', async () => {
      await f.create(batch([once('a')], { on_failure: once('after') }))
      await f.nack(await f.fetchOne('a'), {}, { result: big('x') })
      expect((await f.fetchOne('after')).parent_results).toEqual([big('x')])
    })
  })

  describe('8 states', () => {
    it('8.1 the wire has exactly the five states, in lists and in single replies', async () => {
      await lives()
      await f.create(chain(job('a', [], { delay_until: '+PT1H' })))
      await f.create(chain(once('active'), once('b')))
      const active = await f.fetchOne('active')
      const { id } = await f.create(chain(once('active'), once('b')))
      await f.fetchOne('active')
      await f.delete(id)
      const { workflows } = (await s.get('/ojs/v1/workflows')).body
      expect([...new Set(workflows.map((one: Any) => one.state))].sort()).toEqual([...STATES].sort())
      for (const one of workflows) expect((await f.get(one.id)).state).toBe(one.state)
      // Cancelled, although one of its jobs is still active.
      expect(await f.get(id)).toMatchObject({
        state: 'cancelled',
        steps: [{ state: 'active' }, { state: 'cancelled' }],
      })
      await f.ack(active)
    })

    it('8.2 a failed workflow stays failed when its dead letter is retried and succeeds', async () => {
      const retry = { max_attempts: 1, on_exhaustion: 'dead_letter' }
      const { id } = await f.create(chain(job('a', [], { retry }), once('b')))
      const a = await f.fetchOne('a')
      await f.nack(a)
      const before = await f.get(id)
      expect(before.state).toBe('failed')
      expect((await s.post(`/ojs/v1/dead-letter/${a.id}/retry`)).status).toBe(200)
      await f.ack(await f.fetchOne('a'), 'late')
      expect(await f.fetch()).toEqual([])
      const after = await f.get(id)
      expect([after.state, after.metadata.completed_at]).toEqual(['failed', before.metadata.completed_at])
      const ends = await f.events('workflow.completed,workflow.failed,workflow.cancelled')
      expect(ends.map((event) => [event.workflow_id, event.type])).toEqual([[id, 'workflow.failed']])
    })

    it('8.2 the end of a workflow is published once, whatever happens afterwards', async () => {
      const { id } = await f.create(group(once('a'), once('b')))
      const held = await f.fetch()
      for (const one of held) await f.ack(one)
      for (const one of held) {
        expect((await f.tryAck(one)).status).toBe(409)
        expect((await s.ask('DELETE', `/ojs/v1/jobs/${one.id}`)).status).toBe(409)
      }
      expect((await f.delete(id)).status).toBe(409)
      const ends = (await f.events('workflow.completed,workflow.failed,workflow.cancelled')).map((event) => event.type)
      expect(ends).toEqual(['workflow.completed'])
    })
  })

  describe('9.5 a callback that fails', () => {
    it.each([
      ['on_complete', 'on.complete', () => null],
      ['on_success', 'on.success', () => null],
      ['on_failure', 'on.failure', () => new Error('the job')],
    ])('%s fails the batch and is recorded by its type', async (callback, type, outcome) => {
      const { id } = await f.create(batch([once('a')]))
      await f.work((one) => {
        if (one.type === 'a') return outcome()
        return one.type === type ? new Error('the callback') : null
      })
      const workflow = await f.get(id)
      expect(workflow.state).toBe('failed')
      expect(workflow.callbacks[callback].state).toBe('failed')
      expect(workflow.metadata.callback_errors).toEqual([
        {
          callback,
          job_id: workflow.callbacks[callback].job_id,
          code: 'handler_error',
          message: 'the callback',
          attempt: 1,
        },
      ])
      const others = Object.entries<Any>(workflow.callbacks).filter(([name]) => name !== callback)
      expect(others.map(([, one]) => one.state)).not.toContain('failed')
    })

    it('two that fail are both recorded, and the batch waits for the second', async () => {
      const { id } = await f.create(batch([once('a')]))
      await f.ack(await f.fetchOne('a'))
      const [one, other] = await f.fetch()
      await f.nack(one, { message: 'first' })
      expect((await f.get(id)).state).toBe('running')
      await f.nack(other, { message: 'second' })
      const { state, metadata } = await f.get(id)
      expect(state).toBe('failed')
      expect(metadata.callback_errors.map((error: Any) => error.callback).sort()).toEqual(['on_complete', 'on_success'])
      expect(metadata.failed_count).toBe(0)
    })

    it('a callback of a nested batch that fails, fails the step that contains it', async () => {
      const { id } = await f.create(chain(batch([once('a')], { on_complete: once('c') }), once('never')))
      await f.work((one) => (one.type === 'c' ? new Error('inside') : null))
      const workflow = await f.get(id)
      expect([workflow.state, ...states(workflow)]).toEqual(['failed', 'failed', 'cancelled'])
      expect(workflow.metadata).toMatchObject({ failed_step_index: 0, errors: [{ message: 'inside' }] })
    })
  })

  it('9.6 errors name each failed job, its code, its message and the attempt on which it failed for good', async () => {
    const retry = { max_attempts: 2, initial_interval: 'PT1S' }
    const { id } = await f.create(group(job('a', [], { retry }), once('b'), once('c')))
    const [a, b, c] = await f.fetch()
    await f.nack(a, { code: 'first_try', message: 'not the last' })
    await f.nack(b, { code: 'timeout', message: 'too slow' })
    await f.ack(c)
    await s.store.moveClock(60_000)
    await f.nack(await f.fetchOne('a'), { code: 'no_route', message: 'the last' })
    const { metadata } = await f.get(id)
    expect([...metadata.failed_job_ids].sort()).toEqual([a.id, b.id].sort())
    expect([...metadata.errors].sort((x: Any, y: Any) => x.attempt - y.attempt)).toEqual([
      { job_id: b.id, code: 'timeout', message: 'too slow', attempt: 1 },
      { job_id: a.id, code: 'no_route', message: 'the last', attempt: 2 },
    ])
    expect(metadata).not.toHaveProperty('failed_step_index')
  })

  it('A the document has a JSON Schema of the three forms', async () => {
    const document = (await s.get('/openapi.json')).body
    const ajv = new Ajv2020({ strict: false })
    ajv.addSchema(document, 'api')
    const valid = (body: object): unknown => ajv.validate({ $ref: 'api#/components/schemas/WorkflowRequest' }, body)
    const inner = { ...group(job('a')), id: 'wf_g', name: 'inner' }
    for (const body of [chain(job('a', [1], { queue: 'q' }), inner), inner, batch([job('a'), chain(job('b'))])]) {
      expect([body, valid(body)]).toEqual([body, true])
    }
    for (const body of [{ type: 'dance' }, { steps: [] }, { type: 'chain', steps: {} }, { type: 'group', jobs: [7] }]) {
      expect([body, valid(body)]).toEqual([body, false])
    }
  })

  it('B all ten events are published, each with workflow, type, name, time and data', async () => {
    await lives()
    const recorded = await f.events('workflow.*')
    expect([...new Set(recorded.map((event) => event.type))].sort()).toEqual(EVENTS)
    for (const event of recorded) {
      expect(event).toMatchObject({
        event: event.type,
        workflow_id: expect.any(String),
        workflow_type: expect.stringMatching(/^(chain|group|batch)$/),
        timestamp: expect.stringMatching(MOMENT),
        data: expect.objectContaining({ workflow_id: event.workflow_id }),
      })
    }
    const named = new Set(recorded.map((event) => event.workflow_name))
    for (const name of ['good', 'bad', 'half', 'gone']) expect(named).toContain(name)
  })

  it('B every visible state has been published: the events and the state are one change', async () => {
    const { id } = await f.create(chain(once('a'), once('b')))
    for (const type of ['a', 'b']) {
      await f.ack(await f.fetchOne(type))
      const done = states(await f.get(id)).filter((state) => state === 'completed').length
      expect(await f.events('workflow.step_completed')).toHaveLength(done)
    }
    expect(await f.events('workflow.completed')).toHaveLength(1)
  })
})

/** Every value whose key indicates a time. */
function timesIn(value: unknown, key = ''): [string, string][] {
  if (typeof value === 'string') return /(_at|^time|^timestamp)$/.test(key) ? [[key, value]] : []
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, inner]) => timesIn(inner, name))
}
