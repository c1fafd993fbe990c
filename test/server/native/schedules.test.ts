/** /v1/schedules: one list of all kinds, what each did, when it fires, and runs on request. */
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type As, keyOf } from '../keys.ts'
import { onBothStores, type Serving } from '../serving.ts'

const REPORT = `apiVersion: ioa.dev/v0.2
kind: Workflow
metadata: { name: report }
spec:
  trigger: { schedule: '0 9 * * mon', timezone: Europe/Berlin }
  steps:
    - { name: write, timeout: 1h }
`

onBothStores('schedules of all kinds', (stage) => {
  let s: Serving
  let inbox: string
  beforeAll(async () => {
    s = await stage.serve()
  })
  beforeEach(async () => {
    await s.engine.reset()
    await s.engine.putSchedule({
      name: 'nightly',
      expression: '30 2 * * *',
      timezone: 'Europe/Berlin',
      overlap: 'cancel_previous',
      run: { type: 'report.nightly', payload: { full: true } },
    })
    const headers = { 'content-type': 'application/yaml' }
    expect((await s.ask('POST', '/v1/definitions', { headers, body: REPORT })).status).toBe(201)
    const asked = { type: 'report.daily.v1', schedule: '0 6 * * *', payload: { day: 1 } }
    inbox = (await s.post('/v1/schedules', asked)).body.schedule.id
  })

  it('are one list', async () => {
    const { schedules, next_after: next } = (await s.get('/v1/schedules')).body
    const shared = { enabled: true, last_run_at: null, last_run_id: null, last_instance_id: null, tenant: null }
    const none = { payload: null, priority: null, max_attempts: null, updated_at: null }
    expect(schedules).toMatchObject([
      {
        id: 'nightly',
        kind: 'cron',
        name: 'nightly',
        makes: 'run',
        type: 'report.nightly',
        schedule: '30 2 * * *',
        in_words: 'at 02:30 every day',
        timezone: 'Europe/Berlin',
        overlap: 'cancel_previous',
        ...shared,
        ...none,
      },
      {
        id: 'workflow:report',
        kind: 'definition',
        makes: 'instance',
        type: 'report',
        schedule: '0 9 * * mon',
        in_words: 'at 09:00 on Monday',
        overlap: 'skip',
        ...shared,
        ...none,
      },
      {
        id: inbox,
        kind: 'inbox',
        makes: 'run',
        type: 'report.daily.v1',
        overlap: 'allow',
        payload: { day: 1 },
        ...shared,
      },
    ])
    for (const { next_run_at: at } of schedules) expect(Date.parse(at)).toBeGreaterThan(Date.now())
    expect(next).toBeNull()
  })

  it('are paged', async () => {
    const seen: string[] = []
    let after = ''
    do {
      const { schedules, next_after: next } = (await s.get(`/v1/schedules?limit=1${after}`)).body
      expect(schedules).toHaveLength(1)
      seen.push(schedules[0].id)
      after = next === null ? '' : `&after=${encodeURIComponent(next)}`
    } while (after !== '')
    expect(seen).toEqual(['nightly', 'workflow:report', inbox])
    expect((await s.get('/v1/schedules?after=nightly')).status).toBe(400)
  })

  it.each(['nightly', 'workflow:report', 'inbox'])('%s can be read, paused, resumed and run', async (name) => {
    const id = name === 'inbox' ? inbox : name
    const path = `/v1/schedules/${encodeURIComponent(id)}`
    const before = (await s.get(path)).body.schedule
    expect((await s.post(`${path}/pause`)).body.schedule).toMatchObject({ id, enabled: false, next_run_at: null })
    const made = await s.post(`${path}/run`, { idempotency_key: 'once' })
    expect([made.status, made.body.created]).toEqual([201, true])
    const { run_id: runId, instance_id: instanceId } = made.body
    expect([runId === null, instanceId === null]).toEqual([before.makes === 'instance', before.makes === 'run'])
    const again = await s.post(`${path}/run`, { idempotency_key: 'once' })
    expect([again.status, again.body]).toEqual([200, { ...made.body, created: false }])
    expect((await s.post(`${path}/resume`)).body.schedule).toMatchObject({
      enabled: true,
      next_run_at: before.next_run_at,
      last_run_id: runId,
      last_instance_id: instanceId,
    })
    const { fires, next_before: next } = (await s.get(`${path}/fires`)).body
    expect(fires).toEqual([made.body.fire])
    expect(fires[0]).toMatchObject({
      planned_at: null,
      run_id: runId,
      instance_id: instanceId,
      made_count: 1,
      skipped: null,
    })
    expect(next).toBeNull()
  })

  it('show what they did, newest first and in pages', async () => {
    for (let i = 0; i < 3; i++) await s.post('/v1/schedules/nightly/run', { overlap: 'allow' })
    const first = (await s.get('/v1/schedules/nightly/fires?limit=2')).body
    expect(first.fires).toHaveLength(2)
    const rest = (await s.get(`/v1/schedules/nightly/fires?limit=2&before=${first.next_before}`)).body
    expect([rest.fires.length, rest.next_before]).toEqual([1, null])
    const ids = [...first.fires, ...rest.fires].map((fire: any) => fire.id)
    expect(ids).toEqual([...new Set(ids)].sort().reverse())
  })

  it('show when they fire next, in UTC and on the clocks of their zone', async () => {
    const { status, body } = await s.get('/v1/schedules/nightly/next?count=30')
    expect([status, body.enabled, body.timezone, body.times.length]).toEqual([200, true, 'Europe/Berlin', 30])
    expect(body.times[0].at).toBe((await s.get('/v1/schedules/nightly')).body.schedule.next_run_at)
    for (const { at, local } of body.times) {
      expect(local).toMatch(/T02:30:00\.000\+0[12]:00$/)
      expect(Date.parse(local)).toBe(Date.parse(at))
    }
    expect((await s.get('/v1/schedules/nightly/next?count=101')).status).toBe(400)
    await s.post('/v1/schedules/nightly/pause')
    const paused = (await s.get('/v1/schedules/nightly/next')).body
    expect([paused.enabled, paused.times]).toEqual([false, body.times.slice(0, 5)])
  })

  it('a run is refused while the last one has not ended, where the policy is to skip', async () => {
    const path = '/v1/schedules/workflow%3Areport'
    const made = (await s.post(`${path}/run`)).body
    const refused = await s.post(`${path}/run`)
    expect([refused.status, refused.body.error.code, refused.body.error.details.live]).toEqual([
      409,
      'conflict',
      made.instance_id,
    ])
    expect(refused.body.error.hint).toContain('overlap: allow')
    expect((await s.get(`${path}/fires`)).body.fires).toHaveLength(1)
    expect((await s.post(`${path}/run`, { overlap: 'allow' })).status).toBe(201)
  })

  it('the trigger of a definition is not removed, others are', async () => {
    const refused = await s.ask('DELETE', '/v1/schedules/workflow%3Areport')
    expect([refused.status, refused.body.error.code]).toEqual([409, 'conflict'])
    for (const id of ['nightly', inbox])
      expect((await s.ask('DELETE', `/v1/schedules/${id}`)).body.schedule.id).toBe(id)
    const left = (await s.get('/v1/schedules')).body.schedules.map((one: any) => one.id)
    expect(left).toEqual(['workflow:report'])
  })

  it.each([
    ['GET', '/next', undefined],
    ['GET', '/fires', undefined],
    ['POST', '/run', {}],
  ] as const)('%s …%s of one that does not exist is 404', async (method, rest, body) => {
    for (const id of ['none', '01900000-0000-7000-8000-000000000000', '%00']) {
      const reply = await s.ask(method, `/v1/schedules/${id}${rest}`, body === undefined ? {} : { body })
      expect([reply.status, reply.body.error.code]).toEqual([404, 'not_found'])
    }
  })

  it.each([
    [{ overlap: 'enqueue' }, 'overlap'],
    [{ idempotency_key: '' }, 'idempotency_key'],
    [{ key: 'a' }, 'key'],
  ])('a run with %j is refused, and makes nothing', async (body, field) => {
    const reply = await s.post('/v1/schedules/nightly/run', body)
    expect([reply.status, reply.body.error.details.field]).toEqual([400, field])
    expect((await s.get('/v1/schedules/nightly/fires')).body.fires).toEqual([])
  })
})

onBothStores('schedules and keys', (stage) => {
  let s: Serving
  const as = {} as Record<'admin' | 'read' | 'enqueue' | 'anna' | 'boris', As>
  let inbox: string
  beforeAll(async () => {
    as.admin = await keyOf(await stage.serve(), 'root', null)
    s = await stage.serve({ auth: 'required' })
    as.read = await keyOf(s, 'reader', null, ['read'])
    as.enqueue = await keyOf(s, 'producer', null, ['enqueue'])
    as.anna = await keyOf(s, 'anna', 'a')
    as.boris = await keyOf(s, 'boris', 'b')
    const cron = { name: 'nightly', expression: '0 3 * * *', job_template: { type: 'report.build', args: [] } }
    for (const key of [as.anna, as.boris]) expect((await s.post('/ojs/v1/cron', cron, key)).status).toBe(201)
    const asked = { type: 'report.daily.v1', schedule: '0 6 * * *' }
    inbox = (await s.post('/v1/schedules', asked, as.admin)).body.schedule.id
  })
  const ids = async (key: As) => (await s.get('/v1/schedules', key)).body.schedules.map((one: any) => one.id)

  it('a tenant sees, runs and pauses only its own, under the names it gave them', async () => {
    expect(await ids(as.anna)).toEqual(['nightly'])
    expect(await ids(as.admin)).toEqual(['@a/nightly', '@b/nightly', inbox])
    const made = (await s.post('/v1/schedules/nightly/run', {}, as.anna)).body
    expect(made.fire).toMatchObject({ actor: 'anna', run_id: made.run_id })
    expect((await s.get('/v1/schedules/nightly/fires', as.anna)).body.fires).toHaveLength(1)
    expect((await s.get('/v1/schedules/nightly/fires', as.boris)).body.fires).toEqual([])
    expect((await s.store.read.run(made.run_id))?.tenant).toBe('a')
    expect((await s.post('/v1/schedules/nightly/pause', {}, as.boris)).body.schedule.enabled).toBe(false)
    expect((await s.get('/v1/schedules/nightly', as.anna)).body.schedule).toMatchObject({ enabled: true, tenant: 'a' })
  })

  describe.each(['@b/nightly', 'inbox'])('%s does not exist for another tenant', (name) => {
    it.each([
      ['GET', ''],
      ['GET', '/next'],
      ['GET', '/fires'],
      ['POST', '/run'],
      ['POST', '/pause'],
      ['DELETE', ''],
    ] as const)('%s …%s', async (method, rest) => {
      const id = encodeURIComponent(name === 'inbox' ? inbox : name)
      const body = method === 'POST' ? { body: {} } : {}
      expect((await s.ask(method, `/v1/schedules/${id}${rest}`, { headers: as.anna, ...body })).status).toBe(404)
    })
  })

  it('requests require their scopes: read, enqueue for a run, admin for changes', async () => {
    const path = `/v1/schedules/${inbox}`
    const status = async (method: string, rest: string, headers: As) =>
      (await s.ask(method, `${path}${rest}`, { headers, ...(method === 'POST' ? { body: {} } : {}) })).status
    expect(await status('GET', '/next', as.enqueue)).toBe(403)
    expect(await status('GET', '/fires', as.read)).toBe(200)
    expect(await status('POST', '/run', as.read)).toBe(403)
    expect(await status('POST', '/run', as.enqueue)).toBe(201)
    expect(await status('POST', '/pause', as.enqueue)).toBe(403)
    expect(await status('DELETE', '', as.read)).toBe(403)
  })
})
