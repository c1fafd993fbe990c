/** /v1/workers: those of processes and those over HTTP, what they hold, and directives. */
import { beforeAll, expect, it } from 'vitest'
import { Handlers } from '../../../src/worker/handlers.ts'
import { Worker } from '../../../src/worker/worker.ts'
import { checkReply } from '../documented.ts'
import { keyOf } from '../keys.ts'
import { onBothStores, type Serving, until } from '../serving.ts'

onBothStores('types that no live worker takes', (stage) => {
  it('are those with due runs; a worker counts by its types, queues and runtime', async () => {
    const s = await stage.serve()
    const missing = async () => {
      const { body } = checkReply('GET', '/v1/workers/missing', await s.get('/v1/workers/missing'))
      return [body.missing.map((one: any) => [one.queue, one.type, one.due, one.more]), body.more]
    }
    expect(await missing()).toEqual([[], false])
    const submit = (type: string, rest: object = {}) => s.post('/v1/runs', { type, payload: {}, ...rest })
    for (const priority of [5, 1]) await submit('alone.v1', { priority })
    await submit('later.v1', { run_at: '2190-01-01T00:00:00Z' })
    for (let i = 0; i < 2; i++) await submit('taken.v1', { queue: 'mail' })
    await submit('taken.v1', { queue: 'bulk' })
    await s.ask('PUT', '/v1/registry/closed.v1', { body: { runtime: 'node', is_enabled: false } })
    await submit('closed.v1')
    await s.ask('PUT', '/v1/registry/python.v1', { body: { runtime: 'python' } })
    await submit('python.v1', { queue: 'mail' })
    const handlers = new Handlers()
    for (const type of ['taken.v1', 'python.v1']) handlers.add(type, () => new Promise(() => {}))
    const worker = await Worker.start(s.engine.workers, { handlers, queues: ['mail'], concurrency: 1 })
    await until(missing, ([found]) => found.length === 3)
    expect(await missing()).toEqual([
      [
        ['default', 'alone.v1', 2, false],
        ['bulk', 'taken.v1', 1, false],
        ['mail', 'python.v1', 1, false],
      ],
      false,
    ])
    const acme = await keyOf(s, 'ann', 'acme')
    expect((await s.get('/v1/workers/missing', acme)).status).toBe(403)
    await worker.stop({ graceMs: 0 })
    await until(missing, ([found]) => found.some(([queue, type]: any) => queue === 'mail' && type === 'taken.v1'))
  })

  it('are found among many others, and counted up to a bound', async () => {
    const s = await stage.serve()
    const of = (type: string, n: number) => Array.from({ length: n }, () => ({ type, payload: {}, queue: 'long' }))
    await s.engine.enqueue([
      ...of('long.v1', 1_100),
      ...Array.from({ length: 60 }, (_, n) => of(`t${n}.v1`, 1)).flat(),
    ] as never)
    const { body } = await s.get('/v1/workers/missing')
    expect(body.missing).toHaveLength(50)
    expect(body.more).toBe(true)
    expect(body.missing.find(({ type }: any) => type === 'long.v1')).toMatchObject({ due: 1_000, more: true })
  })
})

onBothStores('workers over HTTP', (stage) => {
  let s: Serving
  let elsewhere: Serving
  beforeAll(async () => {
    s = await stage.serve()
    elsewhere = await stage.serve()
  })
  const list = async () => checkReply('GET', '/v1/workers', await s.get('/v1/workers')).body.workers

  it('are listed with what they hold, and one of another process is directed to take no more work, and to stop', async () => {
    let release = (): void => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    const handlers = new Handlers()
    handlers.add('held.v1', () => held)
    const worker = await Worker.start(elsewhere.engine.workers, { handlers, concurrency: 3 })
    const submit = async () => (await s.post('/v1/runs', { type: 'held.v1', payload: {} })).body.id
    const first = await submit()
    const [shown] = await until(list, (found) => found[0]?.active === 1)
    expect(shown).toMatchObject({
      holds: 'session',
      state: 'running',
      pid: process.pid,
      types: ['held.v1'],
      concurrency: 3,
      active: 1,
    })
    const quiet = checkReply('POST', `/v1/workers/${shown.id}/quiet`, await s.post(`/v1/workers/${shown.id}/quiet`))
    expect(quiet.body).toMatchObject({ worker: { id: shown.id, state: 'quiet' }, reached: 'next_heartbeat' })
    // A heartbeat after the directive brings it.
    const asked = quiet.body.worker.heartbeat_at
    await until(list, (found) => found[0]?.heartbeat_at > asked)
    const second = await submit()
    release()
    const status = async (id: string) => (await s.get(`/v1/runs/${id}`)).body.run.status
    await until(
      () => status(first),
      (found) => found === 'succeeded',
    )
    expect(await status(second)).toBe('pending')
    const stopped = await s.post(`/v1/workers/${shown.id}/stop`)
    expect([stopped.status, stopped.body.worker.state]).toEqual([200, 'terminate'])
    await worker.stop({ graceMs: 0 })
    const [gone] = await until(list, (found) => found[0]?.state === 'dead')
    expect(gone.state).toBe('dead')
  })

  it.each(['nobody', 'a'.repeat(999)])('there is no worker %#', async (id) => {
    for (const word of ['quiet', 'stop']) expect((await s.post(`/v1/workers/${id}/${word}`)).status).toBe(404)
  })

  it('belong to all tenants, and directives need the scope admin', async () => {
    const [acme, reader] = [await keyOf(s, 'a', 'acme'), await keyOf(s, 'r', null, ['read', 'work'])]
    expect((await s.get('/v1/workers', acme)).status).toBe(403)
    expect((await s.get('/v1/workers', reader)).status).toBe(200)
    expect((await s.post('/v1/workers/any/quiet', undefined, reader)).status).toBe(403)
  })
})
