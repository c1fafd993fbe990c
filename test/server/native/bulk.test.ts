/** Bulk operations over HTTP: preview, order, progress, items, stop, resume, rate; scopes and tenants. */
import { beforeAll, beforeEach, expect, it } from 'vitest'
import { onBothStores, type Serving, until } from '../serving.ts'
import { deploy, key, MISSING, requests, work, workflow } from './stage.ts'

onBothStores('bulk operations over HTTP', (stage) => {
  let s: Serving
  const { start } = requests(() => s)
  beforeAll(async () => {
    s = await stage.serve({ engine: { pollMs: 50 } })
    await deploy(s, workflow('order'))
  })
  beforeEach(() => work(s))

  async function failed(count: number): Promise<string[]> {
    const ids: string[] = []
    for (let i = 0; i < count; i++) ids.push(await start())
    await work(s, { 'order.pay': new Error('declined') })
    return ids
  }

  const completed = async (id: string): Promise<any> =>
    (
      await until(
        () => s.get(`/v1/operations/${id}`),
        ({ body }) => body.operation.state === 'completed',
      )
    ).body.operation

  it('previews, orders, and shows the result of each item', async () => {
    const ids = await failed(2)
    const live = await start()
    const asked = { action: 'retry', q: 'name:order state:failed,running' }
    const { status, body } = await s.post('/v1/operations', { ...asked, dry_run: true })
    expect([status, body.preview.count, body.preview.count_is_at_least]).toEqual([200, 3, false])
    expect(body.preview.examples.map((one: any) => one.id)).toEqual([live, ...ids.toReversed()])
    expect(body.preview.refusals).toEqual([{ reason: 'it is still running', count: 1 }])
    expect((await s.get('/v1/operations')).body.operations).toEqual([])

    const as = await key(s, 'ada', ['admin'])
    const ordered = await s.post('/v1/operations', { ...asked, reason: 'bank is back' }, as)
    expect(ordered.status).toBe(201)
    const { id } = ordered.body.operation
    expect(ordered.headers.get('location')).toBe(`/v1/operations/${id}`)
    expect(ordered.body.operation).toMatchObject({
      q: 'name:order state:failed,running',
      actor: 'ada',
      target: 'instances',
    })
    expect(await completed(id)).toMatchObject({ matched: 3, succeeded: 2, refused: 1, reason: 'bank is back' })

    const { items, next_before } = (await s.get(`/v1/operations/${id}/items?limit=2`)).body
    expect([items.map((item: any) => [item.id, item.state]), next_before]).toEqual([
      [
        [live, 'refused'],
        [ids[1], 'succeeded'],
      ],
      ids[1],
    ])
    const rest = (await s.get(`/v1/operations/${id}/items?before=${next_before}`)).body
    expect(rest).toMatchObject({ items: [{ id: ids[0], state: 'succeeded', code: null }], next_before: null })
    const retry = (await s.get(`/v1/instances/${rest.items[0].new_id}`)).body
    expect(retry.instance).toMatchObject({ retry_of: ids[0], state: 'running' })
    expect((await s.get(`/v1/operations/${id}/items?state=refused`)).body.items).toMatchObject([
      { id: live, code: 'conflict', message: expect.stringContaining('still running') },
    ])
  })

  it('stops, resumes and paces', async () => {
    await Promise.all([start(), start(), start()])
    const { body } = await s.post('/v1/operations', { action: 'cancel', q: 'state:running', rate_per_minute: 1 })
    const { id } = body.operation
    await until(
      () => s.get(`/v1/operations/${id}`),
      ({ body }) => body.operation.succeeded === 1,
    )
    const stopped = await s.post(`/v1/operations/${id}/stop`)
    expect(stopped.body.operation).toMatchObject({ state: 'stopped', succeeded: 1, pending: 2, rate_per_minute: 1 })
    const twice = await s.post(`/v1/operations/${id}/stop`)
    expect([twice.status, twice.body.error.code, twice.body.error.details.state]).toEqual([409, 'conflict', 'stopped'])
    expect((await s.get('/v1/operations?state=stopped')).body.operations.map((one: any) => one.id)).toEqual([id])
    const paced = await s.ask('PATCH', `/v1/operations/${id}`, { body: { rate_per_minute: null } })
    expect(paced.body.operation).toMatchObject({ state: 'stopped', rate_per_minute: null })
    expect((await s.post(`/v1/operations/${id}/resume`)).body.operation.state).toBe('running')
    expect(await completed(id)).toMatchObject({ succeeded: 3 })
    const after = await s.ask('PATCH', `/v1/operations/${id}`, { body: { rate_per_minute: 5 } })
    expect([after.status, after.body.error.details.state]).toEqual([409, 'completed'])
  })

  it('refuses what is wrong, and stores nothing', async () => {
    const before = (await s.get('/v1/operations?limit=200')).body.operations.length
    const refusal = async (body: object) => {
      const { status, body: answer } = await s.post('/v1/operations', body)
      return [status, answer.error.message, answer.error.details?.hint ?? answer.error.hint]
    }
    expect(await refusal({ action: 'redrive', q: 'state:failed' })).toEqual([
      400,
      'redrive does not act on instances',
      'It acts on runs. An action on instances is one of cancel, roll_back, retry, pause, resume, delete.',
    ])
    expect((await refusal({ action: 'retry', q: 'sate:failed' }))[1]).toContain("did you mean 'state'?")
    expect((await refusal({ action: 'retry', target: 'runs', q: 'status:failed' }))[1]).toBe(
      'retry does not act on runs',
    )
    expect((await refusal({ action: 'explode', q: 'state:failed' }))[1]).toContain('action')
    expect((await refusal({ action: 'cancel', q: 'state:failed', rate_per_minute: 0 }))[1]).toContain('rate_per_minute')
    expect((await refusal({ action: 'cancel', q: 'state:failed', rate_per_minute: 60_001 }))[0]).toBe(400)
    expect((await refusal({ action: 'cancel', query: 'state:failed' }))[1]).toContain("'query'")
    expect((await refusal({ action: 'cancel', q: 'state:failed', timeouts: 'run' }))[1]).toContain('belong to a pause')
    await start()
    const everything = await s.post('/v1/operations', { action: 'cancel' })
    expect(everything.body.error).toMatchObject({
      code: 'invalid_request',
      message: expect.stringMatching(/finds everything: \d+ instances/),
      details: { field: 'confirm', count: expect.any(Number) },
    })
    expect((await s.get('/v1/operations?limit=200')).body.operations).toHaveLength(before)
    const confirmed = await s.post('/v1/operations', { action: 'cancel', confirm: 'everything' })
    expect(confirmed.status).toBe(201)
    expect(await completed(confirmed.body.operation.id)).toMatchObject({ q: '' })
    expect((await s.get(`/v1/operations/${MISSING}`)).body.error).toMatchObject({
      code: 'not_found',
      message: `there is no bulk operation ${MISSING}`,
    })
    expect((await s.get('/v1/operations/nothing/items')).status).toBe(404)
  })

  it('belongs to the tenant of its caller, and needs the scope', async () => {
    const mine = await key(s, 'ann', ['admin', 'read'], 'acme')
    const other = await key(s, 'bob', ['admin', 'read'], 'other')
    const reader = await key(s, 'eve', ['read', 'enqueue'], 'acme')
    await deploy(s, workflow('shop'), mine)
    const made = await s.post('/v1/instances', { workflow: 'shop' }, mine)
    await start()
    const asked = { action: 'cancel', confirm: 'everything' }
    expect((await s.post('/v1/operations', { ...asked, dry_run: true }, mine)).body.preview.count).toBe(1)
    expect((await s.post('/v1/operations', { ...asked, dry_run: true }, other)).body.preview.count).toBe(0)
    expect((await s.post('/v1/operations', asked, reader)).body.error.code).toBe('permission_denied')
    const { id } = (await s.post('/v1/operations', asked, mine)).body.operation
    expect(await completed(id)).toMatchObject({ tenant: 'acme', matched: 1, succeeded: 1 })
    expect((await s.get(`/v1/operations/${id}/items`, reader)).body.items).toMatchObject([{ id: made.body.id }])
    for (const path of ['', '/items']) expect((await s.get(`/v1/operations/${id}${path}`, other)).status).toBe(404)
    expect((await s.post(`/v1/operations/${id}/resume`, undefined, other)).status).toBe(404)
    expect((await s.get('/v1/operations', other)).body.operations).toEqual([])
  })

  it('acts on runs', async () => {
    const submit = () => s.post('/v1/runs', { type: 'mail.send.v1', payload: {} })
    await submit()
    await submit()
    const asked = { action: 'cancel', target: 'runs', q: 'type:mail.send.v1 status:pending' }
    const { preview } = (await s.post('/v1/operations', { ...asked, dry_run: true })).body
    expect([preview.count, preview.examples[0].type]).toEqual([2, 'mail.send.v1'])
    const { id } = (await s.post('/v1/operations', asked)).body.operation
    expect(await completed(id)).toMatchObject({ target: 'runs', matched: 2, succeeded: 2 })
  })
})
