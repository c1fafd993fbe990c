/** /v1/registry: which runtime executes a type; changes take effect at once. */
import { beforeAll, expect, it } from 'vitest'
import { onBothStores, type Serving } from '../serving.ts'

onBothStores('the registry over HTTP', (stage) => {
  let s: Serving
  beforeAll(async () => {
    s = await stage.serve()
  })
  const put = (name: string, body: object) => s.ask('PUT', `/v1/registry/${name}`, { body })
  const submit = async (type: string): Promise<string> => (await s.post('/v1/runs', { type, payload: {} })).body.id
  const claim = async (type: string, runtime?: string): Promise<string[]> =>
    (await s.post('/v1/runs/claim', { worker_id: 'w', types: [type], limit: 10, runtime })).body.runs.map(
      (run: any) => run.id,
    )

  it('an entry can be made, read, listed, changed and removed', async () => {
    const made = await put('reg.a.v1', { runtime: 'go', description: 'thumbnails' })
    expect([made.status, made.body.entry]).toEqual([
      200,
      {
        workflow_name: 'reg.a.v1',
        intent_type: 'workflow',
        runtime: 'go',
        is_enabled: true,
        description: 'thumbnails',
        created_at: expect.any(String),
        updated_at: expect.any(String),
      },
    ])
    expect((await s.get('/v1/registry/reg.a.v1')).body).toEqual(made.body)
    await submit('reg.a.v1')
    const listed = (await s.get('/v1/registry')).body.entries.filter((e: any) => e.workflow_name === 'reg.a.v1')
    expect(listed).toEqual([{ ...made.body.entry, pending: 1 }])
    const changed = (await put('reg.a.v1', { runtime: 'python', is_enabled: false, description: null })).body.entry
    expect(changed).toMatchObject({ runtime: 'python', is_enabled: false, description: null })
    const gone = await s.ask('DELETE', '/v1/registry/reg.a.v1')
    expect([gone.status, gone.body.entry.workflow_name]).toEqual([200, 'reg.a.v1'])
    for (const method of ['GET', 'DELETE']) {
      const reply = await s.ask(method, '/v1/registry/reg.a.v1')
      expect([method, reply.status, reply.body.error.code]).toEqual([method, 404, 'not_found'])
    }
    expect((await put('reg.a.v1', { runtime: 'go' })).body.entry).toMatchObject({ runtime: 'go', is_enabled: true })
  })

  it('fields missing in a change keep their value: naming a runtime does not enable a type', async () => {
    await put('reg.b.v1', { runtime: 'go', is_enabled: false, description: 'off' })
    expect((await put('reg.b.v1', { runtime: 'python' })).body.entry).toMatchObject({
      runtime: 'python',
      is_enabled: false,
      description: 'off',
    })
    expect((await put('reg.b.v1', { is_enabled: true })).body.entry).toMatchObject({
      runtime: 'python',
      is_enabled: true,
    })
  })

  it('a registered type goes to workers that state its runtime, an unregistered one to all', async () => {
    await put('route.a.v1', { runtime: 'python' })
    const listed = await submit('route.a.v1')
    const open = await submit('route.b.v1')
    expect(await claim('route.%')).toEqual([open])
    expect(await claim('route.%', 'go')).toEqual([])
    expect(await claim('route.%', 'python')).toEqual([listed])
  })

  it('a disabled type goes to no worker, and to a waiting one once it is enabled', async () => {
    await put('off.a.v1', { runtime: 'go', is_enabled: false })
    const id = await submit('off.a.v1')
    expect(await claim('off.%', 'go')).toEqual([])
    const waiting = s.post('/v1/runs/claim', { worker_id: 'w', types: ['off.%'], runtime: 'go', wait_seconds: 20 })
    const began = performance.now()
    await put('off.a.v1', { is_enabled: true })
    expect((await waiting).body.runs.map((run: any) => run.id)).toEqual([id])
    expect(performance.now() - began).toBeLessThan(5000)
  })

  it('a name is any type, including one with a slash or a percent sign in its path', async () => {
    const name = encodeURIComponent('a/b c%d.v1')
    expect((await put(name, { runtime: 'go' })).body.entry?.workflow_name).toBe('a/b c%d.v1')
    expect((await s.get(`/v1/registry/${name}`)).status).toBe(200)
  })
})
