/** Groups of failures over HTTP. */
import { beforeAll, describe, expect, it } from 'vitest'
import { onBothStores, type Serving } from '../serving.ts'
import { deploy, key, requests, work, workflow } from './stage.ts'

onBothStores('error groups over HTTP', (stage) => {
  let s: Serving
  let failed: string
  let group: any
  const { start } = requests(() => s)
  const groups = async (query = '', headers = {}) => (await s.get(`/v1/error-groups${query}`, headers)).body.groups
  const change = (what: string, body?: unknown, headers = {}) =>
    s.post(`/v1/error-groups/${group.fingerprint}/${what}`, body, headers)
  const fail = async (message = 'order 17 was declined'): Promise<string> => {
    const id = await start()
    await work(s, { 'order.pay': new Error(message) })
    return id
  }
  beforeAll(async () => {
    s = await stage.serve({ engine: { sweep: false } })
    await deploy(s, workflow('order', { steps: ['pay'] }))
    failed = await fail()
    group = (await groups())[0]
  })

  it('list what failed for good, with counts and the last failure', async () => {
    expect(group).toMatchObject({
      state: 'open',
      regressed: false,
      type: 'order.pay',
      code: 'broken',
      node: 'pay',
      message: 'order # was declined',
      count: 1,
      definitions: ['order'],
      workers: ['hand'],
      last_message: 'order 17 was declined',
      last_instance_id: failed,
    })
    expect((await groups('?q=DECLINED&state=open')).length).toBe(1)
    expect(await groups('?q=nothing')).toEqual([])
    expect(await groups('?state=ignored,resolved')).toEqual([])
  })

  it('one of them comes with the last run, and is a filter of queries', async () => {
    const { body } = await s.get(`/v1/error-groups/${group.fingerprint}`)
    expect(body).toMatchObject({ group: { count: 1 }, example: { id: group.last_run_id, instance_id: failed } })
    const found = await s.get(`/v1/instances?q=group:${group.fingerprint}`)
    expect(found.body.instances.map((i: any) => i.id)).toEqual([failed])
    expect((await s.get(`/v1/runs?q=group:${group.fingerprint}`)).body.runs).toHaveLength(1)
  })

  it('are resolved, ignored and opened again; the actor is recorded', async () => {
    const ada = await key(s, 'ada', ['admin'])
    expect((await change('resolve', { reason: 'fixed in 2' }, ada)).body.group).toMatchObject({
      state: 'resolved',
      state_by: 'ada',
      reason: 'fixed in 2',
    })
    await fail()
    expect((await groups())[0]).toMatchObject({ state: 'open', regressed: true, count: 2, state_by: null })
    expect((await change('ignore', { times: 2 }, ada)).body.group).toMatchObject({
      state: 'ignored',
      ignored_until_count: 4,
      ignored_until: null,
    })
    await fail()
    expect((await groups())[0]).toMatchObject({ state: 'ignored', count: 3 })
    await fail()
    expect((await groups())[0]).toMatchObject({ state: 'open', regressed: false, count: 4 })
    const timed = (await change('ignore', { for: '7d' }, ada)).body.group
    expect(Date.parse(timed.ignored_until) - Date.parse(timed.state_since)).toBe(7 * 86_400_000)
    expect((await change('reopen', undefined, ada)).body.group).toMatchObject({ state: 'open', ignored_until: null })
  })

  it('remember who changed the state, when and why; the audit trail records what operators did', async () => {
    const { changes, state_since: since } = (await s.get(`/v1/error-groups/${group.fingerprint}`)).body.group
    expect(changes.map((c: any) => [c.state, c.by, c.reason])).toEqual([
      ['open', 'ada', null],
      ['ignored', 'ada', null],
      ['open', null, null],
      ['ignored', 'ada', null],
      ['open', null, null],
      ['resolved', 'ada', 'fixed in 2'],
    ])
    expect(changes[0].at).toBe(since)
    const { events } = (await s.get('/ojs/v1/events?types=error_group.*')).body
    const about = { fingerprint: group.fingerprint, type: 'order.pay', code: 'broken', actor: 'ada' }
    expect(events.map((e: any) => e.type)).toEqual(
      ['resolved', 'ignored', 'ignored', 'reopened'].map((what) => `error_group.${what}`),
    )
    expect(events.map((e: any) => e.data)).toMatchObject([
      { ...about, reason: 'fixed in 2' },
      { ...about, until_count: 4, until: null },
      { ...about, until_count: null, until: expect.any(Number) },
      about,
    ])
  })

  it('pages', async () => {
    await fail('another cause')
    const first = (await s.get('/v1/error-groups?limit=1')).body
    expect(first.groups).toMatchObject([{ last_message: 'another cause' }])
    const second = (await s.get(`/v1/error-groups?limit=1&before=${first.next_before}`)).body
    expect(second).toMatchObject({ groups: [{ fingerprint: group.fingerprint }], next_before: null })
  })

  describe('what is wrong', () => {
    it.each([
      ['?state=closed', 'state'],
      ['?before=x', 'before'],
      ['?limit=0', 'limit'],
      ['?fingerprint=x', 'fingerprint'],
    ])('%s: 400', async (query, parameter) => {
      const { status, body } = await s.get(`/v1/error-groups${query}`)
      expect([status, body.error.details.parameter]).toEqual([400, parameter])
    })

    it.each([
      [{}, 'times'],
      [{ times: 1, for: '1d' }, 'for'],
    ])('ignore with %j: 400, and nothing changes', async (body, parameter) => {
      const reply = await change('ignore', body)
      expect([reply.status, reply.body.error.details.parameter]).toEqual([400, parameter])
      expect((await s.get(`/v1/error-groups/${group.fingerprint}`)).body.group.state).toBe('open')
    })

    it.each([[{ times: 0 }], [{ for: 'soon' }], [{ times: 1, reason: '' }], [{ until: 3 }]])(
      'ignore with %j: 400',
      async (body) => {
        const reply = await change('ignore', body)
        expect([reply.status, reply.body.error.details.validation_errors.length]).toEqual([400, 1])
      },
    )

    it('a group that does not exist: 404', async () => {
      for (const reply of [
        await s.get('/v1/error-groups/0123456789abcdef'),
        await s.post('/v1/error-groups/x/resolve'),
        await s.post('/v1/error-groups/a%00b/reopen'),
      ]) {
        expect([reply.status, reply.body.error.code]).toEqual([404, 'not_found'])
      }
    })
  })

  it('a key of a tenant sees and changes only its own; changing needs the scope admin', async () => {
    const acme = await key(s, 'ann', ['admin'], 'acme')
    await deploy(s, workflow('order', { steps: ['pay'] }), acme)
    await s.post('/v1/instances', { workflow: 'order' }, acme)
    await work(s, { 'order.pay': new Error('order 17 was declined') })
    const own = await groups('', acme)
    expect(own).toMatchObject([{ tenant: 'acme', count: 1 }])
    expect(own[0].fingerprint).not.toBe(group.fingerprint)
    expect((await s.get(`/v1/error-groups/${group.fingerprint}`, acme)).status).toBe(404)
    expect((await change('resolve', undefined, acme)).status).toBe(404)
    const reader = await key(s, 'rita', ['read'])
    expect((await s.get('/v1/error-groups', reader)).status).toBe(200)
    expect((await change('resolve', undefined, reader)).status).toBe(403)
    expect((await s.get('/v1/error-groups', await key(s, 'wim', ['work']))).status).toBe(403)
  })

  it('name the builds of workers, which they state in their reports or heartbeats', async () => {
    const runOf = async (worker: string) =>
      (await s.post('/v1/runs/claim', { worker_id: worker, types: ['order.pay'] })).body.runs[0]
    const failAs = async (worker: string, build?: string) => {
      await start()
      const { id, epoch } = await runOf(worker)
      const error = { code: 'built', message: 'wrong' }
      const reply = await s.post(`/v1/runs/${id}/fail`, { worker_id: worker, epoch, error, retryable: false, build })
      expect(reply.status).toBe(200)
      return id
    }
    const first = await failAs('till-1', '1.4.2')
    await s.post('/ojs/v1/workers/heartbeat', { worker_id: 'till-2', build: '1.5.0' })
    await failAs('till-2')
    await failAs('till-3')
    expect((await groups('?q=built'))[0]).toMatchObject({ builds: ['1.5.0', '1.4.2'] })
    const { events } = (await s.get(`/v1/runs/${first}/events`)).body
    expect(events.find((e: any) => e.type === 'failed').data.build).toBe('1.4.2')
    const { workers, next_after: next } = (await s.get('/v1/workers')).body
    expect([workers, next]).toMatchObject([[{ id: 'till-2', build: '1.5.0', state: 'running', active: 0 }], null])
    expect((await s.get('/v1/workers?after=till-2')).body.workers).toEqual([])
    const reply = await s.post(`/v1/runs/${first}/fail`, {
      worker_id: 'w',
      epoch: 0,
      error: { message: 'x' },
      build: '',
    })
    expect([reply.status, reply.body.error.details.validation_errors[0].path]).toEqual([400, 'build'])
  })
})
