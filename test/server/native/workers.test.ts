/** /v1/workers: those of processes and those over HTTP, what they hold, and directives. */
import { beforeAll, expect, it } from 'vitest'
import { Handlers } from '../../../src/worker/handlers.ts'
import { Worker } from '../../../src/worker/worker.ts'
import { checkReply } from '../documented.ts'
import { keyOf } from '../keys.ts'
import { onBothStores, type Serving, until } from '../serving.ts'

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
    const [shown] = await until(list, (found) => found[0]?.slots_used === 1)
    expect(shown).toMatchObject({
      holds: 'session',
      state: 'running',
      pid: process.pid,
      types: ['held.v1'],
      slots: 3,
      slots_used: 1,
    })
    const quiet = checkReply('POST', `/v1/workers/${shown.id}/quiet`, await s.post(`/v1/workers/${shown.id}/quiet`))
    expect(quiet.body).toMatchObject({ worker: { id: shown.id, state: 'quiet' }, reached: 'next_heartbeat' })
    // A heartbeat after the directive brings it.
    const asked = quiet.body.worker.last_heartbeat_at
    await until(list, (found) => found[0]?.last_heartbeat_at > asked)
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
