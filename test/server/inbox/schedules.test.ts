/** /v1/schedules: created, fired, paused, resumed, removed. */
import { beforeAll, expect, it } from 'vitest'
import { onBothStores, type Serving, until } from '../serving.ts'

const NOBODY = '01900000-0000-7000-8000-000000000000'

onBothStores('schedules over HTTP', (stage) => {
  let s: Serving
  beforeAll(async () => {
    s = await stage.serve()
  })
  const add = (body: object) => s.post('/v1/schedules', body)

  it('a schedule can be created, read and listed', async () => {
    const made = await add({ type: 'sched.a.v1', schedule: '0 6 * * *', timezone: 'Europe/Zurich', payload: { a: 1 } })
    expect(made.status).toBe(201)
    const { schedule } = made.body
    expect(made.headers.get('location')).toBe(`/v1/schedules/${schedule.id}`)
    expect(schedule).toMatchObject({
      type: 'sched.a.v1',
      payload: { a: 1 },
      schedule: '0 6 * * *',
      timezone: 'Europe/Zurich',
      priority: 100,
      max_attempts: 3,
      enabled: true,
      last_run_at: null,
    })
    // Six in the morning there, in summer and in winter.
    const local = new Date(schedule.next_run_at).toLocaleTimeString('en-GB', { timeZone: 'Europe/Zurich' })
    expect(local).toBe('06:00:00')
    expect((await s.get(`/v1/schedules/${schedule.id}`)).body).toEqual(made.body)
    expect((await s.get('/v1/schedules')).body.schedules).toContainEqual(schedule)
  })

  it('defaults: UTC, an empty payload, priority 100, three executions', async () => {
    const { schedule } = (await add({ type: 'sched.b.v1', schedule: '*/5 * * * *' })).body
    expect(schedule).toMatchObject({ timezone: 'UTC', payload: {}, priority: 100, max_attempts: 3 })
  })

  it('when it is due its run is in the inbox, under a key of the schedule and the time', async () => {
    const { schedule } = (await add({ type: 'sched.fire.v1', schedule: '0 0 1 1 *', priority: 7, max_attempts: 5 }))
      .body
    const due = Date.parse(schedule.next_run_at)
    await s.store.moveClock(due - Date.now() + 1000)
    await s.engine.sweep()
    const runs = await until(
      async () => (await s.get('/v1/runs?type=sched.fire.v1')).body.runs,
      (found) => found.length > 0,
    )
    expect(runs).toMatchObject([
      { priority: 7, max_attempts: 5, idempotency_key: `schedule:${schedule.id}:${due / 1000}`, status: 'pending' },
    ])
    const after = await until(
      async () => (await s.get(`/v1/schedules/${schedule.id}`)).body.schedule,
      (found) => found.last_run_at !== null,
    )
    expect(Date.parse(after.next_run_at)).toBeGreaterThan(due)
    await s.store.moveClock(0)
  })

  it('pause, resume and remove; unknown ones are not found', async () => {
    const { id } = (await add({ type: 'sched.c.v1', schedule: '0 6 * * *' })).body.schedule
    expect((await s.post(`/v1/schedules/${id}/pause`)).body.schedule).toMatchObject({ id, enabled: false })
    expect((await s.post(`/v1/schedules/${id}/pause`, {})).body.schedule).toMatchObject({ id, enabled: false })
    expect((await s.post(`/v1/schedules/${id}/resume`)).body.schedule).toMatchObject({ id, enabled: true })
    expect((await s.ask('DELETE', `/v1/schedules/${id}`)).body.schedule.id).toBe(id)
    for (const given of [id, NOBODY, 'nonsense', '%00']) {
      for (const [method, path] of [
        ['GET', ''],
        ['DELETE', ''],
        ['POST', '/pause'],
        ['POST', '/resume'],
      ] as const) {
        const reply = await s.ask(method, `/v1/schedules/${given}${path}`)
        expect([given, method, path, reply.status, reply.body.error.code]).toEqual([
          given,
          method,
          path,
          404,
          'not_found',
        ])
      }
    }
    expect((await s.get('/v1/schedules')).body.schedules.map((one: any) => one.id)).not.toContain(id)
  })

  it.each([
    ['type', { type: 'report' }],
    ['type', { type: undefined }],
    ['schedule', { schedule: undefined }],
    ['schedule', { schedule: 'daily' }],
    ['schedule', { schedule: '61 * * * *' }],
    ['schedule', { schedule: '* * * * * *' }],
    ['schedule', { schedule: '* * * *' }],
    ['schedule', { schedule: '0 0 31 2 *' }],
    ['schedule', { schedule: 5 }],
    ['timezone', { timezone: 'Mars/Olympus' }],
    ['timezone', { timezone: '' }],
    ['priority', { priority: 1.5 }],
    ['max_attempts', { max_attempts: 0 }],
    ['max_attempts', { max_attempts: 1001 }],
    ['payload', { payload: { text: 'a\u0000' } }],
    ['cron', { cron: '0 6 * * *' }],
    ['enabled', { enabled: false }],
  ])('an invalid %s in %j is refused, and nothing is written', async (field, more) => {
    const ids = async () => (await s.get('/v1/schedules')).body.schedules.map((one: any) => one.id)
    const before = await ids()
    const reply = await add({ type: 'sched.bad.v1', schedule: '0 6 * * *', ...more })
    expect([reply.status, reply.body.error.details.field]).toEqual([400, field])
    expect(reply.body.error.message.startsWith(field)).toBe(true)
    expect(await ids()).toEqual(before)
  })

  it('a pause and a resume accept no body', async () => {
    const { id } = (await add({ type: 'sched.d.v1', schedule: '0 6 * * *' })).body.schedule
    const reply = await s.post(`/v1/schedules/${id}/pause`, { until: 'tomorrow' })
    expect([reply.status, reply.body.error.details.field]).toEqual([400, 'until'])
  })
})
