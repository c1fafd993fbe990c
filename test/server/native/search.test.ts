/** Queries over HTTP. */
import { beforeAll, describe, expect, it } from 'vitest'
import { onBothStores, type Serving } from '../serving.ts'
import { deploy, key, requests, work, workflow, YAML } from './stage.ts'

onBothStores('queries over HTTP', (stage) => {
  let s: Serving
  let eu: string
  let us: string
  const { start } = requests(() => s)
  const find = async (q: string, headers = {}) =>
    (await s.get(`/v1/instances?q=${encodeURIComponent(q)}`, headers)).body.instances.map((i: any) => i.id)
  beforeAll(async () => {
    s = await stage.serve({ engine: { sweep: false } })
    await deploy(s, workflow('order', { steps: ['pay'] }))
    eu = await start({ tags: ['eu'], input: { id: 117 } })
    await work(s, { 'order.pay': new Error('declined') })
    us = await start({ tags: ['us'], meta: { region: 'us' } })
  })

  it('find instances by columns and terms, newest first', async () => {
    expect(await find('')).toEqual([us, eu])
    expect(await find('state:failed name:order*')).toEqual([eu])
    expect(await find('error:broken input.id:117')).toEqual([eu])
    expect(await find('meta.region:us')).toEqual([us])
    const page = (await s.get('/v1/instances?q=tag:eu,us&limit=1')).body
    expect(page).toMatchObject({ instances: [{ id: us }], next_before: us, complete: true })
    const next = (await s.get(`/v1/instances?q=tag:eu,us&limit=1&before=${us}`)).body
    expect(next).toMatchObject({ instances: [{ id: eu }], next_before: null, complete: true })
    expect((await s.get(`/v1/instances/${eu}`)).body).toMatchObject({ tags: ['eu'] })
  })

  it('lists without a query end early and continue in the same way', async () => {
    const { body } = await s.get('/v1/instances?name=order&limit=1')
    expect(body).toMatchObject({ instances: [{ name: 'order' }], complete: true })
    const first = body.instances[0].created_at
    const listed = async (query: string) =>
      (await s.get(`/v1/instances?${query}`)).body.instances.map((one: any) => one.id)
    const time = encodeURIComponent(first)
    const all = await listed('')
    expect([...(await listed(`created_after=${time}`)), ...(await listed(`created_before=${time}`))]).toEqual(all)
    expect(await find(`created:>=${first}`)).toEqual(await listed(`created_after=${time}`))
    expect(await find(`original:${eu}`)).toEqual([])
  })

  it('find runs of any origin', async () => {
    const { body } = await s.get('/v1/runs?q=status:failed')
    expect(body).toMatchObject({ runs: [{ type: 'order.pay', instance_id: eu }], next_before: null, complete: true })
    await s.post('/v1/runs', { type: 'mail.send.v1', payload: {} })
    const types = (await s.get('/v1/runs?q=status:pending&limit=1')).body
    expect(types.runs).toHaveLength(1)
    const rest = (await s.get(`/v1/runs?q=status:pending&before=${types.next_before}`)).body
    expect([...types.runs, ...rest.runs].map((r: any) => r.type)).toEqual(['mail.send.v1', 'order.pay'])
    // An empty query finds everything; without one, the inbox is listed.
    const typesOf = async (path: string) => (await s.get(path)).body.runs.map((r: any) => r.type)
    expect(await typesOf('/v1/runs')).toEqual(['mail.send.v1'])
    expect(new Set(await typesOf('/v1/runs?q='))).toEqual(new Set(['mail.send.v1', 'order.pay']))
  })

  it('find jobs by their tags', async () => {
    const { body } = await s.post('/ojs/v1/jobs', { type: 'report', args: [], options: { tags: ['nightly', 'eu'] } })
    const found = (await s.get('/v1/runs?q=tag:nightly')).body
    expect(found.runs.map((r: any) => r.id)).toEqual([body.job.id])
    await s.post('/ojs/v1/jobs', { type: 'report', args: [] })
    expect((await s.get('/v1/runs/counts?q=type:report')).body.counts).toMatchObject([{ count: 2 }])
  })

  it('count by state', async () => {
    const { body } = await s.get('/v1/instances/counts?q=tag:eu,us')
    expect(body.counts).toEqual([
      { state: 'failed', count: 1, more: false },
      { state: 'running', count: 1, more: false },
    ])
    expect((await s.get('/v1/instances/counts')).body).toEqual(body)
    expect((await s.get('/v1/runs/counts?q=type:order.*')).body.counts).toEqual([
      { state: 'failed', count: 1, more: false },
      { state: 'pending', count: 1, more: false },
    ])
  })

  describe('a wrong query', () => {
    it('is answered with its position and what would be right', async () => {
      const { status, body } = await s.get('/v1/instances?q=state:failed%20sate:x')
      expect([status, body.error.code]).toEqual([400, 'invalid_request'])
      expect(body.error.message).toBe(
        "the query is wrong at character 14, 'sate': there is no filter 'sate' for instances; did you mean 'state'?",
      )
      expect(body.error.details).toMatchObject({ parameter: 'q', offset: 13, word: 'sate', did_you_mean: 'state' })
      expect(body.error.hint).toContain('There are: state, name')
    })

    it.each([
      ['/v1/instances?q=tag:eu&state=failed', 'state'],
      ['/v1/instances?q=tag:eu&before=x', 'before'],
      ['/v1/runs?q=dead:true&queue=mail', 'queue'],
      ['/v1/runs?q=dead:true&deleted=all', 'deleted'],
      ['/v1/runs?q=dead:true&before=17-01890000-0000-7000-8000-000000000000', 'before'],
      ['/v1/runs?before=01890000-0000-7000-8000-000000000000', 'before'],
      ['/v1/runs?q=dead:perhaps', 'q'],
      ['/v1/runs/counts?q=x', 'q'],
      ['/v1/instances/counts?q=%00', 'q'],
    ])('%s: 400', async (path, parameter) => {
      const { status, body } = await s.get(path)
      expect([status, body.error.code, body.error.details.parameter]).toEqual([400, 'invalid_request', parameter])
    })
  })

  it('tags of a definition are those of its instances; other tags for the same text change only them', async () => {
    const text = workflow('tagged', { steps: ['pay'] }).replace('{ name: tagged }', '{ name: tagged, tags: [billing] }')
    const made = await deploy(s, text)
    expect(made.body.definition.tags).toEqual(['billing'])
    const put = (tag: string) => s.ask('POST', `/v1/definitions?tag=${tag}`, { body: text, headers: YAML })
    expect((await put('eu,north')).body).toMatchObject({
      what: 'tagged',
      definition: { tags: ['billing', 'eu', 'north'] },
    })
    expect((await put('eu,north')).body.what).toBe('unchanged')
    expect((await deploy(s, text)).body).toMatchObject({
      what: 'unchanged',
      definition: { tags: ['billing', 'eu', 'north'] },
    })
    const id = (await s.post('/v1/instances', { workflow: 'tagged', tags: ['vip'] })).body.id
    expect((await s.get(`/v1/instances/${id}`)).body.tags).toEqual(['billing', 'eu', 'north', 'vip'])
    expect(await find('tag:billing tag:north tag:vip')).toEqual([id])
    const wrong = await s.post('/v1/instances', { workflow: 'tagged', tags: ['', 7] })
    expect(wrong.body.error.details.validation_errors.map((e: any) => e.path)).toEqual(['tags[0]', 'tags[1]'])
  })

  it('a key of a tenant finds only its own, and needs the scope read', async () => {
    const acme = await key(s, 'ann', ['admin'], 'acme')
    await deploy(s, workflow('own', { steps: ['pay'] }), acme)
    const own = (await s.post('/v1/instances', { workflow: 'own', tags: ['eu'] }, acme)).body.id
    for (const q of ['', 'tag:eu', 'state:running', 'nested:any', 'initiator:ann'])
      expect(await find(q, acme)).toEqual([own])
    expect((await s.get('/v1/instances/counts', acme)).body.counts).toEqual([
      { state: 'running', count: 1, more: false },
    ])
    expect((await s.get('/v1/runs?q=', acme)).status).toBe(200)
    expect((await s.get('/v1/runs?q=type:order.*', acme)).body.runs).toEqual([])
    const worker = await key(s, 'wim', ['work'])
    for (const path of ['/v1/instances?q=tag:eu', '/v1/runs?q=dead:true', '/v1/instances/counts', '/v1/runs/counts']) {
      expect([path, (await s.get(path, worker)).status]).toEqual([path, 403])
    }
  })
})
