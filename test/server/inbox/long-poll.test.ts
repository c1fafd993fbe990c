/** Waiting claims: they end with the first run, at their time, with their caller, or with the server. */
import { expect, it } from 'vitest'
import { onBothStores, type Serving, until } from '../serving.ts'

onBothStores('waiting claims', (stage) => {
  it('are answered as soon as a run is available', async () => {
    const s = await stage.serve()
    const waiting = s.post('/v1/runs/claim', { worker_id: 'w', types: ['soon.%'], wait_seconds: 30 })
    await inFlight(s, 1)
    const began = performance.now()
    const { id } = (await s.post('/v1/runs', { type: 'soon.a.v1', payload: {} })).body
    expect((await waiting).body.runs.map((run: any) => run.id)).toEqual([id])
    expect(performance.now() - began).toBeLessThan(5000)
  })

  it('return nothing when their time is over', async () => {
    const s = await stage.serve()
    const { status, body } = await s.post('/v1/runs/claim', { worker_id: 'w', types: ['never.%'], wait_seconds: 0.2 })
    expect([status, body]).toEqual([200, { runs: [] }])
  })

  it('of a caller that disconnected take nothing', async () => {
    const s = await stage.serve()
    const gone = new AbortController()
    const body = { worker_id: 'gone', types: ['gone.%'], wait_seconds: 30 }
    const asked = Array.from({ length: 5 }, () =>
      s.ask('POST', '/v1/runs/claim', { body, signal: gone.signal }).catch(() => null),
    )
    await inFlight(s, 5)
    gone.abort()
    await Promise.all(asked)
    await inFlight(s, 0)
    const { id } = (await s.post('/v1/runs', { type: 'gone.a.v1', payload: {} })).body
    const taken = await s.post('/v1/runs/claim', { worker_id: 'here', types: ['gone.%'] })
    expect(taken.body.runs).toMatchObject([{ id, attempt: 0, epoch: 0, leased_by: 'here' }])
  })

  it('of a caller that disconnects during the claim return their runs, and no attempt is spent', async () => {
    const s = await stage.serve()
    const { id } = (await s.post('/v1/runs', { type: 'back.a.v1', payload: {} })).body
    const gone = new AbortController()
    const { leases } = s.engine
    const fetch = leases.fetch.bind(leases)
    // Disconnects between the commit of the claim and its reply.
    leases.fetch = async (params) => {
      const runs = await fetch(params)
      gone.abort()
      await inFlight(s, 0)
      return runs
    }
    const body = { worker_id: 'gone', types: ['back.%'] }
    await s.ask('POST', '/v1/runs/claim', { body, signal: gone.signal }).catch(() => null)
    const run = await until(
      async () => (await s.get(`/v1/runs/${id}`)).body.run,
      (found) => found.status === 'pending',
    )
    expect(run).toMatchObject({ status: 'pending', attempt: 0, leased_by: null })
    const { events } = (await s.get(`/v1/runs/${id}/events`)).body
    expect(events.map((event: any) => event.type)).toEqual(['created', 'leased', 'started', 'returned'])
  })

  it('of a worker that announces its stop return nothing, and those of others keep waiting', async () => {
    const s = await stage.serve()
    const wait = (worker: string, headers = {}) =>
      s.post('/v1/runs/claim', { worker_id: worker, types: ['stop.%'], wait_seconds: 30 }, headers)
    const stop = async (worker: string) => (await s.post('/v1/runs/claim/stop', { worker_id: worker })).body
    const mine = [wait('w'), wait('w')]
    const other = wait('v')
    const tenants = wait('w', { 'x-ojs-tenant': 't' })
    await inFlight(s, 4)
    expect(await stop('nobody')).toEqual({ stopped: 0 })
    expect(await stop('w')).toEqual({ stopped: 2 })
    expect((await Promise.all(mine)).map(({ body }) => body)).toEqual([{ runs: [] }, { runs: [] }])
    expect(await stop('w')).toEqual({ stopped: 0 })
    const { id } = (await s.post('/v1/runs', { type: 'stop.a.v1', payload: {} })).body
    expect((await other).body.runs).toMatchObject([{ id, leased_by: 'v', attempt: 0, epoch: 0 }])
    const theirs = await s.post('/v1/runs/claim/stop', { worker_id: 'w' }, { 'x-ojs-tenant': 't' })
    expect(theirs.body).toEqual({ stopped: 1 })
    expect((await tenants).body).toEqual({ runs: [] })
  })

  it('of a worker that announces its stop lose nothing: a run that arrives at that moment is returned, or left for the next claim', async () => {
    const s = await stage.serve()
    const claim = s.post('/v1/runs/claim', { worker_id: 'w', types: ['race.%'], wait_seconds: 30 })
    await inFlight(s, 1)
    const [made, stopped] = await Promise.all([
      s.post('/v1/runs', { type: 'race.a.v1', payload: {} }),
      s.post('/v1/runs/claim/stop', { worker_id: 'w' }),
    ])
    const { runs } = (await claim).body
    const run = await until(
      async () => (await s.get(`/v1/runs/${made.body.id}`)).body.run,
      (found) => found.status === (runs.length === 1 ? 'leased' : 'pending'),
    )
    // Either the claim returned it, or it is available to the next one.
    expect([runs.length, run.status, run.attempt, stopped.status]).toEqual([
      runs.length,
      runs.length === 1 ? 'leased' : 'pending',
      0,
      200,
    ])
  })

  it('end when the server shuts down', async () => {
    const s = await stage.serve()
    const waiting = s.post('/v1/runs/claim', { worker_id: 'w', types: ['down.%'], wait_seconds: 30 })
    await inFlight(s, 1)
    const began = performance.now()
    await s.server.close()
    expect((await waiting).body).toEqual({ runs: [] })
    expect(performance.now() - began).toBeLessThan(5000)
  })
})

async function inFlight(s: Serving, count: number): Promise<void> {
  const line = `in_flight{method="POST",route="/v1/runs/claim"} ${count}`
  await until(
    async () => (await s.get('/metrics')).text,
    (text) => text.includes(line),
  )
}
