/** Shutdown: no longer ready, long polls answered, requests in flight finished, then stopped. */
import { expect, it, vi } from 'vitest'
import { onBothStores, until } from '../serving.ts'

onBothStores('shutdown', (stage) => {
  it('answers long polls with nothing, at once', async () => {
    const s = await stage.serve()
    const began = performance.now()
    const polls = Array.from({ length: 5 }, () =>
      s.post('/ojs/v1/workers/fetch', { queues: ['empty'], wait_ms: 30_000, worker_id: 'w' }),
    )
    await until(
      async () => (await s.get('/metrics')).text,
      (text) => text.includes('requests_in_flight{method="POST",route="/ojs/v1/workers/fetch"} 5'),
    )
    await s.server.close()
    for (const { status, body } of await Promise.all(polls)) expect([status, body]).toEqual([200, { jobs: [] }])
    expect(performance.now() - began).toBeLessThan(8_000)
  })

  it('finishes requests in flight, and accepts no new connections', async () => {
    const s = await stage.serve()
    let release = (): void => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    let arrived = (): void => {}
    const inside = new Promise<void>((resolve) => {
      arrived = resolve
    })
    const { search } = s.store.read
    const real = search.instances.bind(search)
    vi.spyOn(search, 'instances').mockImplementation(async (query) => {
      arrived()
      await held
      return real(query)
    })
    const slow = s.get('/v1/instances')
    await inside
    const closing = s.server.close()
    await until(
      () =>
        fetch(`${s.server.url}/health`).then(
          () => 'open',
          () => 'closed',
        ),
      (state) => state === 'closed',
    )
    release()
    expect((await slow).status).toBe(200)
    await closing
  })

  it('does not wait indefinitely for a request that never ends', async () => {
    const s = await stage.serve()
    let arrived = (): void => {}
    const inside = new Promise<void>((resolve) => {
      arrived = resolve
    })
    vi.spyOn(s.store.read.search, 'instances').mockImplementation(() => {
      arrived()
      return new Promise(() => {})
    })
    const stuck = s.get('/v1/instances').catch((error) => error)
    await inside
    const began = performance.now()
    await s.server.close({ graceMs: 200 })
    expect(performance.now() - began).toBeLessThan(5_000)
    expect(await stuck).toBeInstanceOf(Error)
  })
})
