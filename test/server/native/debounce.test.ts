/** POST /v1/instances with `debounce`. */
import { beforeAll, expect, it } from 'vitest'
import { type As, keyOf } from '../keys.ts'
import { onBothStores, type Serving } from '../serving.ts'

const INDEX = `apiVersion: ioa.dev/v0.2
kind: Workflow
metadata: { name: index }
spec:
  steps:
    - { name: write, timeout: 1h }
`

onBothStores('debounced starts over HTTP', (stage) => {
  let s: Serving
  let anna: As
  let boris: As
  beforeAll(async () => {
    const root = await keyOf(await stage.serve(), 'root', null)
    s = await stage.serve({ auth: 'required' })
    anna = await keyOf(s, 'anna', 'a')
    boris = await keyOf(s, 'boris', 'b')
    for (const key of [root, anna, boris]) {
      const headers = { 'content-type': 'application/yaml', ...key }
      expect((await s.ask('POST', '/v1/definitions', { headers, body: INDEX })).status).toBe(201)
    }
  })
  const start = (as: As, rest: object = {}) =>
    s.post('/v1/instances', { workflow: 'index', debounce: { key: 'k', delay_seconds: 3600 }, ...rest }, as)

  it('is answered 202 with the instance to come; the last one starts, for its caller', async () => {
    const first = await start(anna, { input: { rev: 1 } })
    expect([first.status, first.body.debounced]).toMatchObject([202, { key: 'k', replaced: 0 }])
    const second = await start(anna, { input: { rev: 2 }, tags: ['late'] })
    const { id, due_at: due } = second.body.debounced
    expect(second.body.debounced).toMatchObject({ id: first.body.debounced.id, replaced: 1 })
    expect((await start(boris)).body.debounced.replaced).toBe(0)
    expect((await s.get(`/v1/instances/${id}`, anna)).status).toBe(404)
    await s.store.moveClock(Date.parse(due) + 1_000 - Date.now())
    await s.engine.sweep()
    const { body } = await s.get(`/v1/instances/${id}`, anna)
    expect(body).toMatchObject({
      input: { rev: 2 },
      instance: { tenant: 'a' },
      meta: { trigger: { kind: 'debounced' } },
    })
    expect((await s.get(`/v1/instances/${id}`, boris)).status).toBe(404)
    await s.store.moveClock(0)
  })

  it.each([
    ['start_key', { start_key: 'a' }],
    ['start', { start: false }],
    ['debounce.key', { debounce: { key: '', delay_seconds: 1 } }],
    ['debounce.delay_seconds', { debounce: { key: 'k', delay_seconds: 0 } }],
    ['debounce.delay_seconds', { debounce: { key: 'k' } }],
    ['debounce.max_seconds', { debounce: { key: 'k', delay_seconds: 1, max_seconds: 1e9 } }],
    ['debounce.wait', { debounce: { key: 'k', delay_seconds: 1, wait: 2 } }],
  ])('an invalid %s in %j is refused', async (path, rest) => {
    const { status, body } = await start(anna, rest)
    expect([status, body.error.code]).toEqual([400, 'invalid_request'])
    expect(body.error.details.validation_errors.map((one: any) => one.path)).toContain(path)
  })

  it('a run is debounced, listed for its tenant, started now or cancelled', async () => {
    const submit = (as: As, n: number, rest: object = {}) =>
      s.post(
        '/v1/runs',
        { type: 'mail.send.v1', payload: { n }, debounce: { key: 'm', delay_seconds: 3600 }, ...rest },
        as,
      )
    const first = await submit(anna, 1)
    expect([first.status, first.body.debounced]).toMatchObject([
      202,
      { key: 'm', kind: 'run', name: 'mail.send.v1', replaced: 0, by: 'anna', tenant: 'a' },
    ])
    const { id } = first.body.debounced
    expect((await submit(anna, 2)).body.debounced).toMatchObject({ id, replaced: 1 })
    const other = (await submit(boris, 3)).body.debounced
    const listed = async (as: As, query = '') => (await s.get(`/v1/debounced${query}`, as)).body
    expect((await listed(anna)).debounced.map((one: any) => one.id)).toEqual([id])
    expect((await listed(boris)).debounced.map((one: any) => one.id)).toContain(other.id)
    const page = await listed(boris, '?limit=1')
    expect(page.next_before).toBe((await listed(boris)).debounced.length > 1 ? page.debounced[0].id : null)
    expect((await s.post(`/v1/debounced/${id}/start`, undefined, boris)).status).toBe(404)
    expect((await s.post(`/v1/debounced/${id}/start`, undefined, anna)).body.debounced.id).toBe(id)
    expect((await s.get(`/v1/runs/${id}`, anna)).body.run).toMatchObject({ payload: { n: 2 }, status: 'pending' })
    expect((await s.post(`/v1/debounced/${id}/cancel`, undefined, anna)).status).toBe(404)
    expect((await s.post(`/v1/debounced/${other.id}/cancel`, undefined, boris)).status).toBe(200)
    expect((await s.get(`/v1/runs/${other.id}`, boris)).status).toBe(404)
    for (const rest of [{ idempotency_key: 'x' }, { run_at: '2030-01-01T00:00:00Z' }, { type: 'mail' }]) {
      expect([rest, (await submit(anna, 1, rest)).status]).toEqual([rest, 400])
    }
    const reader = await keyOf(s, 'looker', 'a', ['read'])
    expect((await submit(reader, 1)).status).toBe(403)
    expect((await s.get('/v1/debounced', reader)).status).toBe(200)
    expect((await s.post(`/v1/debounced/${id}/cancel`, undefined, reader)).status).toBe(403)
  })

  it('requires the scope enqueue, and a definition of the tenant', async () => {
    const reader = await keyOf(s, 'reader', 'a', ['read'])
    expect((await start(reader)).status).toBe(403)
    expect((await start(anna, { workflow: 'none' })).body.error.code).toBe('not_found')
  })
})
