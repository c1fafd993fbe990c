/** Workers over HTTP: claim, renew, report; a worker that does not hold a run cannot change it. */
import { beforeAll, describe, expect, it } from 'vitest'
import { onBothStores, type Reply, type Serving, until } from '../serving.ts'

onBothStores('workers of the inbox', (stage) => {
  let s: Serving
  beforeAll(async () => {
    s = await stage.serve()
  })
  const submit = async (type: string, more: object = {}): Promise<string> =>
    (await s.post('/v1/runs', { type, payload: { of: type }, ...more })).body.id
  const claim = async (types: string | string[], more: object = {}): Promise<any[]> => {
    const reply = await s.post('/v1/runs/claim', { worker_id: 'w', types: [types].flat(), ...more })
    expect([reply.status, reply.text]).toEqual([200, expect.any(String)])
    return reply.body.runs
  }
  const report = (id: string, verb: string, epoch: number, more: object = {}): Promise<Reply> =>
    s.post(`/v1/runs/${id}/${verb}`, { worker_id: 'w', epoch, ...more })
  const look = async (id: string) => (await s.get(`/v1/runs/${id}`)).body.run
  const expectConflict = (reply: Reply, status: string): void =>
    expect([reply.status, reply.body.error.code, reply.body.error.details.status]).toEqual([409, 'conflict', status])

  it('takes by name or prefix, by priority, then age, as many as requested', async () => {
    const late = await submit('take.a.v1')
    const later = await submit('take.b.v1')
    const urgent = await submit('take.c.v1', { priority: 1 })
    await submit('other.a.v1')
    await submit('take.d.v1', { run_at: '2031-01-01T00:00:00Z' })
    const [first] = await claim('take.%')
    expect(first).toMatchObject({
      id: urgent,
      status: 'leased',
      leased_by: 'w',
      payload: { of: 'take.c.v1' },
      attempt: 0,
      epoch: 0,
      parent_results: null,
    })
    expect((await claim(['take.a.v1', 'take.b.v1'], { limit: 5 })).map((run) => run.id)).toEqual([late, later])
    expect(await claim('take.%')).toEqual([])
  })

  it('takes from the named queues, in their order', async () => {
    const b = await submit('queue.a.v1', { queue: 'qb', priority: 1 })
    const a = await submit('queue.a.v1', { queue: 'qa' })
    await submit('queue.a.v1', { queue: 'qc' })
    expect((await claim('queue.%', { queues: ['qa', 'qb'], limit: 10 })).map((run) => run.id)).toEqual([a, b])
  })

  it('a lease is as long as requested, and 30 seconds by default', async () => {
    await submit('length.a.v1')
    await submit('length.a.v1')
    const now = await s.store.now()
    const [one] = await claim('length.%')
    const [other] = await claim('length.%', { lease_seconds: 3600 })
    expect(Date.parse(one.lease_until) - now).toBeGreaterThanOrEqual(29_900)
    expect(Date.parse(one.lease_until) - now).toBeLessThan(60_000)
    expect(Date.parse(other.lease_until) - now).toBeGreaterThan(3_500_000)
  })

  it('completes with a result, and the same report again gets the same answer', async () => {
    const id = await submit('done.a.v1')
    const [{ epoch }] = (await claim('done.%')) as [any]
    const done = await report(id, 'complete', epoch, { result: { invoice: 31 } })
    expect([done.status, done.body.run]).toEqual([
      200,
      expect.objectContaining({ id, status: 'succeeded', result: { invoice: 31 }, leased_by: null, lease_until: null }),
    ])
    const again = await report(id, 'complete', epoch, { result: 'another' })
    expect([again.status, again.body]).toEqual([200, done.body])
    expect((await look(id)).result).toEqual({ invoice: 31 })
    expect((await s.get(`/v1/runs/${id}/events`)).body.events.map((e: any) => e.type)).toEqual([
      'created',
      'leased',
      'started',
      'succeeded',
    ])
  })

  it('a result may be missing, null, or 64 KiB long', async () => {
    for (const result of [undefined, null, 'x'.repeat(65_536)]) {
      const id = await submit('results.a.v1')
      const [{ epoch }] = (await claim('results.%')) as [any]
      expect((await report(id, 'complete', epoch, { result })).status).toBe(200)
      expect((await look(id)).result).toBe(result ?? null)
    }
  })

  it('a failure waits attempt² minutes plus at most a tenth, and the last one is final', async () => {
    const id = await submit('fail.a.v1', { max_attempts: 2 })
    const [{ epoch }] = (await claim('fail.%')) as [any]
    const error = { message: 'no route to host', code: 'network', details: { host: 'a' } }
    const failed = await report(id, 'fail', epoch, { error })
    expect(failed.status).toBe(200)
    expect(failed.body.run).toMatchObject({ status: 'pending', attempt: 1, last_error: 'no route to host', error })
    expect(failed.body.retry_in_seconds).toBeGreaterThanOrEqual(60)
    expect(failed.body.retry_in_seconds).toBeLessThanOrEqual(66)
    expect(await claim('fail.%')).toEqual([])
    expect((await report(id, 'fail', epoch, { error })).body).toMatchObject({ run: { attempt: 1 } })
    await s.store.moveClock(67_000)
    const [again] = (await claim('fail.%')) as [any]
    expect(again).toMatchObject({ id, attempt: 1 })
    expect(again.epoch).toBeGreaterThan(epoch)
    const last = await report(id, 'fail', again.epoch, { error: { message: '' } })
    expect(last.body).toMatchObject({ run: { status: 'failed', attempt: 2 }, retry_in_seconds: null })
    await s.store.moveClock(0)
  })

  it('retryable: false fails for good, and details.retry_delay_ms gives the delay of the next attempt', async () => {
    const id = await submit('fail.b.v1')
    const [{ epoch }] = (await claim('fail.b.v1')) as [any]
    const final = await report(id, 'fail', epoch, { error: { message: 'never' }, retryable: false })
    expect(final.body).toMatchObject({ run: { status: 'failed', attempt: 1 }, retry_in_seconds: null })
    const soon = await submit('fail.c.v1')
    const [other] = (await claim('fail.c.v1')) as [any]
    const delay = { message: 'busy', details: { retry_delay_ms: 1500 } }
    const recorded = await report(soon, 'fail', other.epoch, { error: delay, retryable: true })
    expect(recorded.body).toMatchObject({ run: { status: 'pending' }, retry_in_seconds: 1.5 })
  })

  it('a released run is claimable at once, and no attempt is spent', async () => {
    const id = await submit('release.a.v1')
    const [{ epoch }] = (await claim('release.%')) as [any]
    const released = await report(id, 'release', epoch)
    expect([released.status, released.body.run]).toEqual([
      200,
      expect.objectContaining({ status: 'pending', attempt: 0, leased_by: null }),
    ])
    expect((await report(id, 'release', epoch)).status).toBe(200)
    const [again] = (await claim('release.%')) as [any]
    expect(again).toMatchObject({ id, attempt: 0 })
    expect(again.epoch).toBe(epoch + 1)
    expectConflict(await report(id, 'release', epoch), 'leased')
    expectConflict(await report(id, 'complete', epoch), 'leased')
    expect((await report(id, 'complete', again.epoch)).status).toBe(200)
  })

  it('a postponed run is claimable when it is due, on the same attempt', async () => {
    const id = await submit('later.a.v1', { max_attempts: 1 })
    const [{ epoch }] = (await claim('later.%')) as [any]
    const put = await report(id, 'later', epoch, { delay_seconds: 40, notes: [{ waits: 'for the bank' }] })
    expect(put.status).toBe(200)
    expect(put.body.run).toMatchObject({ status: 'pending', attempt: 0, leased_by: null, last_error: null })
    expect((await report(id, 'later', epoch, { delay_seconds: 40 })).status).toBe(200)
    expect(await claim('later.%')).toEqual([])
    await s.store.moveClock(41_000)
    const [again] = (await claim('later.%')) as [any]
    expect(again).toMatchObject({ id, attempt: 0, epoch: epoch + 1 })
    expect((await report(id, 'complete', again.epoch, { notes: ['done'] })).status).toBe(200)
    await s.store.moveClock(0)
    const { events } = (await s.get(`/v1/runs/${id}/events`)).body
    expect(events.filter((e: any) => e.data?.notes !== undefined)).toMatchObject([
      { type: 'returned', data: { run_at: put.body.run.run_at, notes: [{ waits: 'for the bank' }] } },
      { type: 'succeeded', data: { notes: ['done'] } },
    ])
  })

  it('notes beyond 64 KiB are dropped and counted, and do not fail the run', async () => {
    const id = await submit('notes.a.v1')
    const [{ epoch }] = (await claim('notes.%')) as [any]
    const notes = ['first', 'x'.repeat(70_000), { nul: 'a\u0000b' }, 'last']
    expect((await report(id, 'complete', epoch, { notes })).status).toBe(200)
    const { events } = (await s.get(`/v1/runs/${id}/events`)).body
    expect(events.at(-1)).toMatchObject({ type: 'succeeded', data: { notes: ['first', 'last'], notes_dropped: 2 } })
  })

  it('a heartbeat renews the lease from now on and returns whether to stop', async () => {
    const id = await submit('beat.a.v1')
    const [run] = (await claim('beat.%')) as [any]
    const beat = await report(id, 'heartbeat', run.epoch, { lease_seconds: 600 })
    expect(beat.body).toEqual({ status: 'leased', lease_until: expect.any(String), cancel_requested: false })
    expect(Date.parse(beat.body.lease_until) - Date.parse(run.lease_until)).toBeGreaterThan(500_000)
    expect((await look(id)).lease_until).toBe(beat.body.lease_until)
    const events = (await s.get(`/v1/runs/${id}/events`)).body.events
    expect(events.at(-1)).toMatchObject({ type: 'heartbeat', data: { extended_by_seconds: 600 } })
    // Without a length it lasts as long as before.
    const again = await report(id, 'heartbeat', run.epoch)
    expect(Date.parse(again.body.lease_until)).toBeGreaterThanOrEqual(Date.parse(beat.body.lease_until))
  })

  describe('a worker that does not hold it', () => {
    const REPORTS = [
      ['heartbeat', {}],
      ['complete', { result: 'stolen' }],
      ['fail', { error: { message: 'stolen' } }],
      ['later', { delay_seconds: 60 }],
      ['release', {}],
    ] as const

    it.each(REPORTS)('%s by another worker or under another epoch is 409 and changes nothing', async (verb, more) => {
      const id = await submit(`fence.${verb}.v1`)
      const [{ epoch }] = (await claim(`fence.${verb}.v1`)) as [any]
      const before = await look(id)
      expectConflict(await report(id, verb, epoch + 1, more), 'leased')
      expectConflict(await s.post(`/v1/runs/${id}/${verb}`, { worker_id: 'v', epoch, ...more }), 'leased')
      expect(await look(id)).toEqual(before)
      expect((await report(id, 'complete', epoch)).status).toBe(200)
    })

    it.each(REPORTS)('%s of a run without a holder is 409 and changes nothing', async (verb, more) => {
      const id = await submit(`idle.${verb}.v1`)
      const before = await look(id)
      expectConflict(await report(id, verb, 0, more), 'pending')
      expect(await look(id)).toEqual(before)
    })

    it.each(REPORTS)('%s after a cancel is 409 and the run stays cancelled', async (verb, more) => {
      const id = await submit(`stop.${verb}.v1`)
      const [{ epoch }] = (await claim(`stop.${verb}.v1`)) as [any]
      await s.post(`/v1/runs/${id}/cancel`)
      const before = await look(id)
      const refused = await report(id, verb, epoch, more)
      expectConflict(refused, 'cancelled')
      expect(refused.body.error.hint).toContain('stays as it is')
      expect(await look(id)).toEqual(before)
    })

    it.each(REPORTS)('%s after the lease expired is 409, and the run goes to the next worker', async (verb, more) => {
      const id = await submit(`expire.${verb}.v1`)
      const [{ epoch }] = (await claim(`expire.${verb}.v1`)) as [any]
      await s.store.moveClock(31_000)
      const late = await report(id, verb, epoch, more)
      expect([late.status, late.body.error.code]).toEqual([409, 'conflict'])
      const [again] = (await claim(`expire.${verb}.v1`, { worker_id: 'v' })) as [any]
      expect(again).toMatchObject({ id, leased_by: 'v', attempt: 1 })
      expectConflict(await report(id, verb, epoch, more), 'leased')
      const done = await s.post(`/v1/runs/${id}/complete`, { worker_id: 'v', epoch: again.epoch, result: 'v' })
      expect(done.body.run).toMatchObject({ status: 'succeeded', result: 'v' })
      expectConflict(await report(id, verb, epoch, more), 'succeeded')
      expect(await look(id)).toMatchObject({ status: 'succeeded', result: 'v' })
      await s.store.moveClock(0)
    })

    it('a run held by a Petrel worker cannot be reported over HTTP', async () => {
      const id = await submit('petrel.a.v1')
      const session = await s.engine.workers.open(
        { name: 'w', runtime: 'node', queues: null, types: ['petrel.%'], concurrency: 1, tenant: null },
        { room: () => 0, deliver() {}, holding: () => [id], wake() {}, stop() {} },
      )
      const [delivery] = await session.claim(1)
      expect(delivery?.runId).toBe(id)
      const epoch = delivery?.epoch ?? -1
      for (const [verb, more] of REPORTS) expectConflict(await report(id, verb, epoch, more), 'leased')
      await session.close()
    })
  })

  it('with two servers it does not matter which one receives a request about a run', async () => {
    const other = await stage.serve()
    const id = await submit('two.a.v1')
    const [first] = (await claim('two.%')) as [any]
    await other.post(`/v1/runs/${id}/release`, { worker_id: 'w', epoch: first.epoch })
    // The server that handed it out first has cached that lease, not this one.
    const again = (await other.post('/v1/runs/claim', { worker_id: 'w', types: ['two.%'] })).body.runs[0]
    expect(again).toMatchObject({ id, epoch: first.epoch + 1 })
    expectConflict(await report(id, 'complete', first.epoch), 'leased')
    expect((await report(id, 'heartbeat', again.epoch)).status).toBe(200)
    expect((await report(id, 'complete', again.epoch, { result: 2 })).body.run).toMatchObject({ result: 2 })
    const repeated = await other.post(`/v1/runs/${id}/complete`, { worker_id: 'w', epoch: again.epoch, result: 2 })
    expect([repeated.status, repeated.body.run.status]).toEqual([200, 'succeeded'])
  })

  it('two workers that claim at the same time never get the same run', async () => {
    for (let i = 0; i < 40; i++) await submit('race.a.v1')
    const taken = await Promise.all(
      Array.from({ length: 20 }, (_, i) => claim('race.a.v1', { worker_id: `w${i}`, limit: 2 })),
    )
    const ids = taken.flat().map((run) => run.id)
    expect(ids).toHaveLength(40)
    expect(new Set(ids).size).toBe(40)
  })

  it('a step of a workflow comes with the results before it, and its report advances the workflow', async () => {
    const started = await s.post('/ojs/v1/workflows', {
      type: 'chain',
      steps: [
        { type: 'order.check', args: [7] },
        { type: 'order.ship', args: [8] },
      ],
    })
    const { id } = started.body.workflow
    const [check] = (await claim('order.%', { wait_seconds: 5 })) as [any]
    expect(check).toMatchObject({ type: 'order.check', instance_id: id, node: '0', parent_results: {} })
    await report(check.id, 'complete', check.epoch, { result: { ok: true } })
    const [ship] = (await claim('order.%', { wait_seconds: 5 })) as [any]
    expect(ship).toMatchObject({ type: 'order.ship', node: '1', parent_results: { '0': { ok: true } } })
    await report(ship.id, 'complete', ship.epoch, { result: 'sent' })
    const ended = await until(
      async () => (await s.get(`/ojs/v1/workflows/${id}`)).body.workflow.state,
      (state) => state === 'completed',
    )
    expect(ended).toBe('completed')
  })

  it('a heartbeat of a step whose workflow is being cancelled asks its worker to stop', async () => {
    const { id } = (await s.post('/ojs/v1/workflows', { type: 'chain', steps: [{ type: 'stop.me', args: [] }] })).body
      .workflow
    const [step] = (await claim('stop.me', { wait_seconds: 5 })) as [any]
    await s.ask('DELETE', `/ojs/v1/workflows/${id}`)
    const beat = await report(step.id, 'heartbeat', step.epoch)
    expect(beat.body).toMatchObject({ status: 'leased', cancel_requested: true })
  })
})
