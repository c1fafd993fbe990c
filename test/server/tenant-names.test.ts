/**
 * Names chosen by callers cannot affect another tenant or the engine: idempotency keys, start keys, limits by key and
 * by queue, worker ids, schemas, and the name of the tenant itself.
 */
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { type As, keyOf } from './keys.ts'
import { onBothStores, type Serving } from './serving.ts'

const YAML = { 'content-type': 'application/yaml' }

onBothStores('names chosen by callers', (stage) => {
  let s: Serving
  let anna: As
  let boris: As
  let producer: As
  let operator: As
  beforeAll(async () => {
    const first = await stage.serve()
    operator = await keyOf(first, 'operator', null)
    s = await stage.serve({ auth: 'required' })
    producer = await keyOf(s, 'producer', null, ['enqueue', 'read', 'work'])
    anna = await keyOf(s, 'anna', 'a')
    boris = await keyOf(s, 'boris', 'b')
  })
  afterEach(() => s.store.moveClock(0))

  const submit = (as: As, type: string, key: string) =>
    s.post('/v1/runs', { type, payload: {}, idempotency_key: key }, as)
  const enqueue = (as: As, type: string, options: object) => s.post('/ojs/v1/jobs', { type, args: [], options }, as)
  const fetch = async (as: As, queue: string, more: object = {}): Promise<string[]> => {
    const body = { queues: [queue], count: 10, worker_id: 'w', ...more }
    return (await s.post('/ojs/v1/workers/fetch', body, as)).body.jobs.map((job: any) => job.type)
  }

  describe('keys of the engine', () => {
    it('a cron job fires, whatever keys others have used', async () => {
      const cron = { name: 'nightly', cron: '0 0 1 1 *', type: 'report.nightly', options: { queue: 'nightly' } }
      const { next_run_at } = (await s.post('/ojs/v1/cron', cron, anna)).body.cron
      const due = Date.parse(next_run_at)
      for (const as of [boris, producer]) {
        for (const prefix of ['', 'petrel:', '@/', '@a/', '@a/petrel:']) {
          for (const name of ['nightly', '@a/nightly']) {
            expect((await submit(as, 'evil.squat.v1', `${prefix}cron:${name}:${due}`)).status).toBe(201)
          }
        }
      }
      await s.store.moveClock(due - Date.now() + 1000)
      await s.engine.sweep()
      expect(await fetch(anna, 'nightly')).toEqual(['report.nightly'])
      expect((await s.get('/ojs/v1/cron/nightly', anna)).body.cron.run_count ?? 1).toBe(1)
    })

    it('a schedule of the inbox fires, even if its key belongs to a run of another type', async () => {
      const body = { type: 'sched.victim.v1', schedule: '0 0 1 1 *' }
      const { id, next_run_at } = (await s.post('/v1/schedules', body, operator)).body.schedule
      const due = Date.parse(next_run_at)
      const key = `schedule:${id}:${due / 1000}`
      // As a client by plain SQL could write it; over HTTP the same text is a different key.
      await s.post('/v1/runs', { type: 'evil.squat.v1', payload: {}, idempotency_key: key }, producer)
      await plantRun(s, 'evil.planted.v1', key)
      await s.store.moveClock(due - Date.now() + 1000)
      await s.engine.sweep()
      await s.engine.sweep()
      const { runs } = (await s.get('/v1/runs?type=sched.victim.v1', operator)).body
      expect(runs.map((run: any) => run.status)).toEqual(['pending'])
    })

    it('an event starts a tenant’s own instance, whatever start keys others have used', async () => {
      const text = (name: string, trigger: string): string =>
        `apiVersion: ioa.dev/v0.2\nkind: Workflow\nmetadata: { name: ${name} }\nspec:\n  ${trigger}\n  steps: [{ name: one, uses: one.do, timeout: 1m }]\n`
      const deploy = (as: As, name: string, trigger = '') =>
        s.ask('POST', '/v1/definitions', { body: text(name, trigger), headers: { ...YAML, ...as } })
      expect((await deploy(anna, 'ship', 'trigger: { event: order.paid }')).status).toBe(201)
      expect((await deploy(boris, 'squat')).status).toBe(201)
      for (const start_key of ['event@a:e1:ship', 'petrel:event@a:e1:ship', '@a/petrel:event@a:e1:ship']) {
        expect((await s.post('/v1/instances', { workflow: 'squat', start_key }, boris)).status).toBe(201)
      }
      const { started } = (await s.post('/v1/events', { type: 'order.paid', id: 'e1', payload: {} }, anna)).body
      expect(started).toHaveLength(1)
      expect(started[0]).toMatchObject({ name: 'ship', created: true })
      const again = (await s.post('/v1/events', { type: 'order.paid', id: 'e1', payload: {} }, anna)).body
      expect(again.started).toMatchObject([{ created: false, instance_id: started[0].instance_id }])
    })

    it('a workflow’s own id is free, whatever start keys others have used', async () => {
      const start_key = 'ojs:a:my-flow'
      const yaml = `apiVersion: ioa.dev/v0.2\nkind: Workflow\nmetadata: { name: taker }\nspec:\n  steps: [{ name: one, uses: one.do, timeout: 1m }]\n`
      await s.ask('POST', '/v1/definitions', { body: yaml, headers: { ...YAML, ...anna } })
      expect((await s.post('/v1/instances', { workflow: 'taker', start_key }, anna)).status).toBe(201)
      const chain = { type: 'chain', id: 'my-flow', steps: [{ type: 'test.step', args: [] }] }
      expect((await s.post('/ojs/v1/workflows', chain, anna)).status).toBe(201)
    })
  })

  describe('keys of callers', () => {
    it('the same key of two tenants means two runs; each sees the key as it wrote it', async () => {
      const [first, other, none] = [
        await submit(anna, 'mail.send.v1', 'k-1'),
        await submit(boris, 'mail.send.v1', 'k-1'),
        await submit(producer, 'mail.send.v1', 'k-1'),
      ]
      expect(new Set([first.body.run.id, other.body.run.id, none.body.run.id]).size).toBe(3)
      for (const made of [first, other, none]) {
        expect([made.status, made.body.run.idempotency_key]).toEqual([201, 'k-1'])
      }
      expect((await submit(anna, 'mail.send.v1', 'k-1')).body.run.id).toBe(first.body.run.id)
      const { runs } = (await s.get('/v1/runs?idempotency_key=k-1', anna)).body
      expect(runs.map((run: any) => run.id)).toEqual([first.body.run.id])
    })

    it('a key never returns a run of another type', async () => {
      const first = await submit(anna, 'mail.send.v1', 'k-2')
      const other = await submit(anna, 'mail.burn.v1', 'k-2')
      expect([other.status, other.body.error.code]).toEqual([409, 'duplicate'])
      expect(other.body.error.message).toContain("'k-2' belongs to another run, of type mail.send.v1")
      expect(other.body.error.details.existing).toBe(first.body.run.id)
    })

    it('a start key never returns an instance of another workflow', async () => {
      const yaml = (name: string): string =>
        `apiVersion: ioa.dev/v0.2\nkind: Workflow\nmetadata: { name: ${name} }\nspec:\n  steps: [{ name: one, uses: one.do, timeout: 1m }]\n`
      for (const name of ['left', 'right']) {
        await s.ask('POST', '/v1/definitions', { body: yaml(name), headers: { ...YAML, ...anna } })
      }
      expect((await s.post('/v1/instances', { workflow: 'left', start_key: 'k-3' }, anna)).status).toBe(201)
      const other = await s.post('/v1/instances', { workflow: 'right', start_key: 'k-3' }, anna)
      expect([other.status, other.body.error.code]).toEqual([409, 'duplicate'])
      expect((await s.get('/v1/instances?start_key=k-3', anna)).body.instances).toMatchObject([{ start_key: 'k-3' }])
      expect((await s.get('/v1/instances?start_key=k-3', boris)).body.instances).toEqual([])
    })
  })

  describe('limits', () => {
    it('a job limits its key in its own tenant only', async () => {
      const limited = { queue: 'lim', rate_limit: { key: 'stripe', concurrency: 1 } }
      await enqueue(boris, 'pay.b', limited)
      await enqueue(boris, 'pay.b', limited)
      for (let i = 0; i < 3; i++) await enqueue(anna, 'pay.a', { queue: 'lim', rate_limit: { key: 'stripe' } })
      expect(await fetch(boris, 'lim')).toEqual(['pay.b'])
      expect(await fetch(anna, 'lim')).toEqual(['pay.a', 'pay.a', 'pay.a'])
      const limits = async (as: As) => (await s.get('/ojs/v1/rate-limits', as)).body.items.map((item: any) => item.key)
      expect(await limits(boris)).toEqual(['stripe'])
      expect(await limits(anna)).toEqual([])
      expect(await limits(operator)).toEqual(['@b/stripe'])
      expect((await s.get('/ojs/v1/rate-limits/stripe', boris)).body).toMatchObject({ key: 'stripe', active: 1 })
      expect((await s.get('/ojs/v1/rate-limits/stripe', anna)).status).toBe(404)
    })

    it('also as a step of a workflow', async () => {
      const step = (type: string, rate_limit: object) => ({ type, args: [], options: { queue: 'lim2', rate_limit } })
      const start = (as: As, type: string, rate_limit: object) =>
        s.post('/ojs/v1/workflows', { type: 'group', jobs: [step(type, rate_limit), step(type, rate_limit)] }, as)
      expect((await start(boris, 'step.b', { key: 'bank', concurrency: 1 })).status).toBe(201)
      expect((await start(anna, 'step.a', { key: 'bank' })).status).toBe(201)
      expect(await fetch(boris, 'lim2')).toEqual(['step.b'])
      expect(await fetch(anna, 'lim2')).toEqual(['step.a', 'step.a'])
    })

    it.each([
      ['a key of a tenant, though admin', () => boris],
      ['a key that may enqueue, of no tenant', () => producer],
    ])('%s cannot limit a queue that all tenants share', async (_, as) => {
      const options = { queue: 'shared', rate_limit: { max_per_second: 1 } }
      const job = { type: 'evil.slow', args: [], options }
      for (const [path, body] of [
        ['/ojs/v1/jobs', job],
        ['/ojs/v1/jobs/batch', { jobs: [job] }],
        ['/ojs/v1/workflows', { type: 'chain', steps: [job] }],
      ] as const) {
        const { status, body: answer } = await s.post(path, body, as())
        expect([path, status, answer.error?.code]).toEqual([path, 403, 'permission_denied'])
      }
      for (let i = 0; i < 3; i++) await enqueue(anna, 'fine.job', { queue: 'shared' })
      expect(await fetch(anna, 'shared')).toHaveLength(3)
    })

    it('nor change a limit that an operator has set there', async () => {
      const options = { queue: 'kept', rate_limit: { max_per_second: 1000 } }
      expect((await enqueue(operator, 'fine.job', options)).status).toBe(201)
      const path = '/ojs/v1/rate-limits/queue:kept'
      const put = (as: As, limit: number) =>
        s.ask('PUT', path, { body: { limit, period: 'PT1H' }, headers: { 'content-type': 'application/json', ...as } })
      const removed = await s.ask('DELETE', `${path}/override`, { headers: boris })
      for (const { status, body } of [await put(boris, 1), removed]) {
        expect([status, body.error?.code]).toEqual([403, 'permission_denied'])
      }
      expect((await s.get(path, boris)).body).toMatchObject({ limit: 1000, period: 'PT1S' })
      expect((await put(operator, 5)).body).toMatchObject({ limit: 5, period: 'PT1H' })
    })

    it('an operator can', async () => {
      const options = { queue: 'slow', rate_limit: { max_per_second: 1 } }
      expect((await enqueue(operator, 'slow.job', options)).status).toBe(201)
      await enqueue(operator, 'slow.job', options)
      expect(await fetch(operator, 'slow')).toEqual(['slow.job'])
    })

    it('no limit blocks everything that names its key', async () => {
      const { status, body } = await enqueue(anna, 'stop.all', { rate_limit: { key: 'k', concurrency: 0 } })
      expect([status, body.error.details.validation_errors[0].path]).toEqual([400, 'options.rate_limit.concurrency'])
    })
  })

  describe('names of cron jobs', () => {
    const cron = (type: string) => ({ name: 'backup', cron: '0 0 1 1 *', type, options: { queue: type } })
    const types = async (as: As, path = '/ojs/v1/cron') =>
      ((await s.get(path, as)).body.crons as any[])
        .filter(({ name }) => name.endsWith('backup'))
        .map(({ name, type, tenant }) => [name, type, tenant])

    it('belong to a tenant: the same one in two tenants, and without one, are three cron jobs', async () => {
      // At once: none of them reads before another has written.
      const made = await Promise.all(
        [anna, boris, operator].map((as, i) => s.post('/ojs/v1/cron', cron(`own.${['a', 'b', 'none'][i]}`), as)),
      )
      expect(made.map(({ status, body }) => [status, body.cron?.name])).toEqual(Array(3).fill([201, 'backup']))
      expect(made[0]?.headers.get('location')).toBe('/ojs/v1/cron/backup')
      expect(await types(anna)).toEqual([['backup', 'own.a', 'a']])
      expect(await types(boris)).toEqual([['backup', 'own.b', 'b']])
      expect(await types(operator)).toEqual([
        ['@a/backup', 'own.a', 'a'],
        ['@b/backup', 'own.b', 'b'],
        ['backup', 'own.none', undefined],
      ])
      expect((await s.post('/ojs/v1/cron', cron('own.new'), anna)).status).toBe(200)
      expect((await s.get('/ojs/v1/crons/backup', anna)).body).toMatchObject({ id: 'backup', type: 'own.new' })
      expect((await s.get('/ojs/v1/cron/backup', boris)).body.cron.type).toBe('own.b')
      const due = Date.parse((await s.get('/ojs/v1/cron/backup', anna)).body.cron.next_run_at)
      await s.store.moveClock(due - Date.now() + 1000)
      await s.engine.sweep()
      expect(await fetch(anna, 'own.new')).toEqual(['own.new'])
      expect(await fetch(boris, 'own.b')).toEqual(['own.b'])
      expect(await fetch(operator, 'own.none')).toEqual(['own.none'])
      const gone = await s.ask('DELETE', '/ojs/v1/cron/backup', { headers: anna })
      expect([gone.status, gone.body.name]).toEqual([200, 'backup'])
      expect(
        (await s.ask('DELETE', `/ojs/v1/crons/${encodeURIComponent('@b/backup')}`, { headers: operator })).status,
      ).toBe(200)
      expect(await types(operator)).toEqual([['backup', 'own.none', undefined]])
    })

    it('one created before names were per tenant keeps its tenant, and no other replaces it', async () => {
      const run = { type: 'old.job', payload: [] }
      await s.engine.putSchedule({ name: 'elder', expression: '0 0 1 1 *', tenant: 'a', run })
      const elder = { ...cron('other.job'), name: 'elder' }
      expect((await s.post('/ojs/v1/cron', elder, boris)).status).toBe(201)
      expect((await s.post('/ojs/v1/cron', elder, operator)).status).toBe(409)
      expect((await s.get('/ojs/v1/cron/elder', anna)).body.cron).toMatchObject({ name: 'elder', type: 'old.job' })
      expect((await s.post('/ojs/v1/cron', { ...elder, type: 'new.job' }, anna)).status).toBe(200)
      expect((await s.get('/ojs/v1/cron/elder', anna)).body.cron.type).toBe('new.job')
      const put = s.engine.putSchedule({ name: 'elder', expression: '0 0 1 1 *', tenant: 'b', run })
      await expect(put).rejects.toMatchObject({ code: 'duplicate' })
    })
  })

  describe('shared by tenants', () => {
    it('schemas can be read with a key of a tenant, and not written', async () => {
      const schema = { type: 'order.place', version: '1', schema: { type: 'array', maxItems: 0 } }
      expect((await s.post('/ojs/v1/schemas', schema, boris)).status).toBe(403)
      expect((await s.post('/ojs/v1/schemas', schema, operator)).status).toBe(201)
      const uri = encodeURIComponent('urn:ojs:schema:order.place:v1')
      expect((await s.ask('DELETE', `/ojs/v1/schemas/${uri}`, { headers: boris })).status).toBe(403)
      expect((await s.get(`/ojs/v1/schemas/${uri}`, boris)).status).toBe(200)
    })

    it('workers of one name in two tenants are two workers', async () => {
      await enqueue(anna, 'held.job', { queue: 'held' })
      const [job] = (await s.post('/ojs/v1/workers/fetch', { queues: ['held'], worker_id: 'twin' }, anna)).body.jobs
      expect(job.worker_id).toBe('twin')
      const beat = (as: As, more: object = {}) =>
        s.post('/ojs/v1/workers/heartbeat', { worker_id: 'twin', ...more }, as)
      expect((await beat(anna, { active_jobs: [job.id] })).body).toMatchObject({
        worker_id: 'twin',
        jobs_extended: [job.id],
      })
      expect((await beat(boris)).body.state).toBe('running')
      const seen = (await s.get('/ojs/v1/admin/workers', operator)).body.items
      expect(seen.map((row: any) => [row.id, row.name, row.tenant])).toEqual([
        ['@a/twin', 'twin', 'a'],
        ['@b/twin', 'twin', 'b'],
      ])
      await s.post(`/ojs/v1/admin/workers/${encodeURIComponent('@b/twin')}/quiet`, {}, operator)
      expect((await beat(boris)).body.state).toBe('quiet')
      expect((await beat(anna)).body.state).toBe('running')
      // The worker of b is alive; the one of a is found dead, and its job is returned.
      await s.store.moveClock(31_000)
      await beat(boris)
      await s.engine.sweep()
      expect(await fetch(anna, 'held')).toEqual(['held.job'])
    })

    it('a key that may name any tenant is one caller, however many it names', async () => {
      const few = await stage.serve({ auth: 'required', ratePerMinute: 5 })
      const statuses: number[] = []
      for (let i = 0; i < 8; i++) {
        statuses.push((await few.get('/ojs/v1/jobs/none', { ...producer, 'x-ojs-tenant': `t${i}` })).status)
      }
      expect(statuses.filter((status) => status === 429)).toHaveLength(3)
    })
  })
})

/** A row whose key another client wrote directly into the table. */
async function plantRun(s: Serving, type: string, key: string): Promise<void> {
  const { EngineKey } = await import('../../src/kernel/scoped-names.ts')
  await s.engine.enqueue([{ type, payload: {}, inbox: true, idempotencyKey: new EngineKey(key) }])
}
