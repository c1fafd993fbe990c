/** Webhooks: subscriptions, signatures, retries and dead letters, order, filters, tenants, protected addresses. */
import { beforeAll, expect, it } from 'vitest'
import { isPublic } from '../../../src/kernel/addresses.ts'
import { onBothStores, type Serving, until } from '../serving.ts'
import { Receiver, signed } from './receiver.ts'

const BASE = '/ojs/v1/webhooks/subscriptions'

onBothStores('webhooks', (stage) => {
  let s: Serving
  let receiver: Receiver
  beforeAll(async () => {
    s = await stage.serve()
    receiver = await Receiver.open()
  })

  const subscribe = async (body: object, headers: Record<string, string> = {}): Promise<any> => {
    const reply = await s.post(BASE, { url: receiver.url('/hook'), events: ['job.enqueued'], ...body }, headers)
    expect(reply.status).toBe(201)
    return reply.body.subscription
  }
  const push = async (queue: string, n = 1, headers: Record<string, string> = {}): Promise<string[]> => {
    const jobs = Array.from({ length: n }, (_, i) => ({ type: 'test.hook', args: [i], options: { queue } }))
    const reply = await s.post('/ojs/v1/jobs/batch', { jobs }, headers)
    expect(reply.status).toBe(201)
    return reply.body.jobs.map((job: any) => job.id)
  }
  const deliveries = async (id: string, query = ''): Promise<any[]> =>
    (await s.get(`${BASE}/${id}/deliveries${query}`)).body.deliveries
  const drop = (id: string) => s.ask('DELETE', `${BASE}/${id}`)
  let moved = 0
  const later = async (ms: number): Promise<void> => {
    moved += ms
    await s.store.moveClock(moved)
  }

  it('creates, shows, lists, changes and deletes; the secret is shown once', async () => {
    const created = await s.post(BASE, { url: 'https://example.com/hooks', events: ['job.completed', 'job.failed'] })
    expect(created.status).toBe(201)
    const { subscription } = created.body
    expect(created.headers.get('location')).toBe(`${BASE}/${subscription.id}`)
    expect(subscription).toMatchObject({ url: 'https://example.com/hooks', active: true, max_attempts: 8 })
    expect(subscription.secret).toMatch(/^whsec_.{43}$/)
    const shown = await s.get(`${BASE}/${subscription.id}`)
    expect(shown.body.subscription).toMatchObject({ id: subscription.id, events: ['job.completed', 'job.failed'] })
    expect(shown.text).not.toContain(subscription.secret)
    const listed = await s.get(BASE)
    expect(listed.body.subscriptions.map((one: any) => one.id)).toContain(subscription.id)
    expect(listed.text).not.toContain('whsec_')
    const patched = await s.ask('PATCH', `${BASE}/${subscription.id}`, {
      body: { events: ['job.*'], active: false, filter: { queues: ['a'] }, metadata: { owner: 'me' } },
    })
    expect(patched.body.subscription).toMatchObject({
      events: ['job.*'],
      active: false,
      filter: { queues: ['a'] },
      metadata: { owner: 'me' },
    })
    expect((await drop(subscription.id)).status).toBe(200)
    expect((await s.get(`${BASE}/${subscription.id}`)).status).toBe(404)
    expect((await drop(subscription.id)).status).toBe(404)
  })

  it('refuses invalid subscriptions, and stores nothing of them', async () => {
    const before = (await s.get(BASE)).body.pagination.total
    const bad: readonly object[] = [
      {},
      { url: 'https://example.com', events: [] },
      { url: 'https://example.com', events: ['Job Done'] },
      { url: 'ftp://example.com', events: ['*'] },
      { url: 'https://user:secret@example.com', events: ['*'] },
      { url: 'not a url', events: ['*'] },
      { url: 'https://example.com', events: ['*'], secret: 'short' },
      { url: 'https://example.com', events: ['*'], max_attempts: 0 },
      { url: 'https://example.com', events: ['*'], event: 'x' },
    ]
    for (const body of bad) {
      const { status, body: answer } = await s.post(BASE, body)
      expect([body, status, answer.error.code]).toEqual([body, 400, 'invalid_request'])
    }
    expect((await s.get(BASE)).body.pagination.total).toBe(before)
  })

  it('accepts a thousand of each tenant, and a tenant at its limit does not affect the others', async () => {
    const greedy = { 'x-ojs-tenant': 'greedy' }
    const { id } = await subscribe({ active: false }, greedy)
    const row = (await s.store.webhooks.find(id))!
    const copies = Array.from({ length: 999 }, (_, n) => ({ ...row, id: `${id}-${n}` }))
    for (const copy of copies) await s.store.webhooks.add(copy)
    const body = { url: 'https://example.com/hooks', events: ['*'] }
    const refused = await s.post(BASE, body, greedy)
    expect([refused.status, refused.body.error.code]).toEqual([409, 'conflict'])
    for (const headers of [{ 'x-ojs-tenant': 'modest' }, {}]) await drop((await subscribe({}, headers)).id)
    for (const { id } of [row, ...copies]) await s.store.webhooks.remove(id)
  })

  it('sends each matching event once, signed, under a unique id', async () => {
    const hook = await subscribe({
      events: ['job.enqueued', 'job.completed'],
      filter: { queues: ['wh-sign'] },
      ordered: true,
      secret: 'a secret of ours',
    })
    await push('wh-other')
    const [id] = await push('wh-sign')
    await s.post('/ojs/v1/workers/fetch', { queues: ['wh-sign'] })
    await s.post('/ojs/v1/workers/ack', { job_id: id, result: { ok: 1 } })
    const heard = await receiver.hears(hook.id, 2)
    expect(heard.map(({ event }) => [event.type, event.subject])).toEqual([
      ['job.enqueued', id],
      ['job.completed', id],
    ])
    expect(heard[1]?.event.data).toMatchObject({ result: { ok: 1 }, queue: 'wh-sign' })
    for (const one of heard) {
      expect(one.headers['x-ojs-signature']).toBe(signed(one, 'a secret of ours'))
      expect(one.headers['x-ojs-event-type']).toBe(one.event.type)
      expect(one.headers['content-type']).toBe('application/json')
      expect(one.headers['user-agent']).toMatch(/^OJS-Webhook\/1\.0/)
      expect(Math.abs(Date.now() / 1000 - Number(one.headers['x-ojs-timestamp']))).toBeLessThan(60)
    }
    expect(new Set(heard.map(({ headers }) => headers['x-ojs-delivery-id'])).size).toBe(2)
    const log = await until(
      () => deliveries(hook.id, '?state=delivered'),
      (found) => found.length === 2,
    )
    expect(log[0]).toMatchObject({ state: 'delivered', attempts: 1, status_code: 200, event_type: 'job.completed' })
    await drop(hook.id)
  })

  it('retries later with the same id, then gives up; an operator can send it again', async () => {
    const hook = await subscribe({ filter: { queues: ['wh-retry'] }, max_attempts: 3 })
    receiver.answer = (heard, response) => {
      response.statusCode = heard.headers['x-ojs-subscription-id'] === hook.id ? 503 : 200
      response.end()
    }
    await push('wh-retry')
    await receiver.hears(hook.id, 1)
    const one = await until(
      () => deliveries(hook.id),
      ([found]) => found?.attempts === 1,
    )
    expect(one[0]).toMatchObject({ state: 'pending', status_code: 503 })
    const wait = Date.parse(one[0].next_attempt_at) - Date.parse(one[0].created_at)
    expect(wait).toBeGreaterThanOrEqual(30_000)
    await later(60_000)
    await receiver.hears(hook.id, 2)
    await until(
      () => deliveries(hook.id),
      ([found]) => found?.attempts === 2,
    )
    await later(600_000)
    const heard = await receiver.hears(hook.id, 3)
    expect(new Set(heard.map(({ headers }) => headers['x-ojs-delivery-id'])).size).toBe(1)
    const [dead] = await until(
      () => deliveries(hook.id, '?state=dead'),
      (found) => found.length === 1,
    )
    expect(dead).toMatchObject({ attempts: 3, error: 'the receiver answered 503' })
    expect((await s.get(`${BASE}/${hook.id}`)).body).toMatchObject({ failure_count: 3, last_delivery_status: 503 })

    receiver.answer = (_, response) => void response.end('OK')
    expect((await s.post(`/ojs/v1/webhooks/deliveries/${dead.id}/retry`)).body.state).toBe('pending')
    await receiver.hears(hook.id, 4)
    const [again] = await until(
      () => deliveries(hook.id),
      ([found]) => found?.state === 'delivered',
    )
    expect(again.id).toBe(dead.id)
    expect((await s.get(`/ojs/v1/webhooks/deliveries/${dead.id}`)).body.event.type).toBe('job.enqueued')
    expect((await s.get(`${BASE}/${hook.id}`)).body.failure_count).toBe(0)
    await drop(hook.id)
  })

  it('does not retry what the receiver refuses, and follows no redirect', async () => {
    const hook = await subscribe({ filter: { queues: ['wh-refused'] } })
    const statuses = [410, 302]
    receiver.answer = (_, response) => {
      response.statusCode = statuses.shift() ?? 200
      response.setHeader('location', receiver.url('/elsewhere'))
      response.end()
    }
    await push('wh-refused')
    await until(
      () => deliveries(hook.id, '?state=dead'),
      (found) => found.length === 1,
    )
    await push('wh-refused')
    const [redirected] = await until(
      () => deliveries(hook.id, '?state=pending'),
      ([found]) => found?.attempts === 1,
    )
    expect(redirected).toMatchObject({ status_code: 302 })
    expect(receiver.of(hook.id)).toHaveLength(2)
    receiver.answer = (_, response) => void response.end('OK')
    await drop(hook.id)
  })

  it('ordered: a failed delivery delays those after it; other subscriptions do not wait', async () => {
    const strict = await subscribe({ filter: { queues: ['wh-order'] }, ordered: true })
    const loose = await subscribe({ filter: { queues: ['wh-order'] } })
    let failing = true
    receiver.answer = (heard, response) => {
      response.statusCode = failing && heard.event.data.job_id === first ? 500 : 200
      response.end()
    }
    let first = ''
    const held = await s.post('/ojs/v1/jobs', { type: 'test.hook', args: [], options: { queue: 'wh-none' } })
    expect(held.status).toBe(201)
    const ids = await (async () => {
      // Created before anything can be delivered.
      const id = '01965000-0000-7000-8000-0000000000aa'
      first = id
      await s.post('/ojs/v1/jobs', { id, type: 'test.hook', args: [], options: { queue: 'wh-order' } })
      return [id, ...(await push('wh-order', 5))]
    })()
    await receiver.hears(loose.id, 6)
    await receiver.hears(strict.id, 1)
    expect(receiver.of(strict.id).map(({ event }) => event.data.job_id)).toEqual([first])
    await until(
      () => deliveries(strict.id),
      (found) => found.some(({ attempts }) => attempts === 1),
    )
    failing = false
    await later(60_000)
    const heard = await receiver.hears(strict.id, 7)
    expect(heard.slice(1).map(({ event }) => event.data.job_id)).toEqual(ids)
    receiver.answer = (_, response) => void response.end('OK')
    await drop(strict.id)
    await drop(loose.id)
  })

  it('rotates the secret: during the grace period both sign', async () => {
    const hook = await subscribe({ filter: { queues: ['wh-rotate'] }, secret: 'the first secret' })
    const rotated = await s.post(`${BASE}/${hook.id}/rotate-secret`, { grace_seconds: 100 })
    expect(rotated.body.secret).toMatch(/^whsec_/)
    await push('wh-rotate')
    const [both] = await receiver.hears(hook.id, 1)
    expect(both?.headers['x-ojs-signature']).toBe(
      `${signed(both as never, rotated.body.secret)},${signed(both as never, 'the first secret')}`,
    )
    await later(101_000)
    await push('wh-rotate')
    const [, alone] = await receiver.hears(hook.id, 2)
    expect(alone?.headers['x-ojs-signature']).toBe(signed(alone as never, rotated.body.secret))
    expect((await s.ask('PATCH', `${BASE}/${hook.id}`, { body: { secret: 'by the back door' } })).status).toBe(400)
    await drop(hook.id)
  })

  it('sends a test event to a subscription', async () => {
    const hook = await subscribe({ secret: 'for trying out' })
    const good = await s.post(`${BASE}/${hook.id}/test`)
    expect(good.body).toEqual({ success: true, status_code: 200, response_time_ms: expect.any(Number) })
    const heard = receiver.of(hook.id).find(({ event }) => event.type === 'webhook.test')
    expect(heard?.headers['x-ojs-signature']).toBe(signed(heard as never, 'for trying out'))
    await s.ask('PATCH', `${BASE}/${hook.id}`, { body: { url: 'http://127.0.0.1:1/closed' } })
    const bad = await s.post(`${BASE}/${hook.id}/test`)
    expect([bad.status, bad.body.success]).toEqual([200, false])
    expect(bad.body.error).toContain('ECONNREFUSED')
    await drop(hook.id)
  })

  it('sends nothing while it is stopped, and nothing from that time afterwards', async () => {
    const hook = await subscribe({ filter: { queues: ['wh-stop'] } })
    await s.ask('PATCH', `${BASE}/${hook.id}`, { body: { active: false } })
    await push('wh-stop', 2)
    await s.ask('PATCH', `${BASE}/${hook.id}`, { body: { active: true } })
    const [id] = await push('wh-stop')
    const heard = await receiver.hears(hook.id, 1)
    expect(heard.map(({ event }) => event.data.job_id)).toEqual([id])
    await drop(hook.id)
  })

  it('gives a tenant its own events and subscriptions only', async () => {
    const acme = { 'x-ojs-tenant': 'acme' }
    const hook = await subscribe({ filter: { queues: ['wh-tenant'] } }, acme)
    expect((await s.get(`${BASE}/${hook.id}`, { 'x-ojs-tenant': 'other' })).status).toBe(404)
    await push('wh-tenant', 1, { 'x-ojs-tenant': 'other' })
    await push('wh-tenant')
    const [id] = await push('wh-tenant', 1, acme)
    const heard = await receiver.hears(hook.id, 1)
    expect(heard.map(({ event }) => event.data.job_id)).toEqual([id])
    await drop(hook.id)
  })

  it('gives up on a receiver that does not answer in time', async () => {
    const hook = await subscribe({ filter: { queues: ['wh-slow'] }, timeout_ms: 1000 })
    receiver.answer = () => {}
    await push('wh-slow')
    // Longer than the lease of a dispatcher, which the first attempt may have to wait for.
    const [slow] = await until(
      () => deliveries(hook.id),
      ([found]) => found?.attempts >= 1,
      30_000,
    )
    receiver.answer = (_, response) => void response.end('OK')
    expect(slow.error).toBe('no answer within 1000 ms')
    await drop(hook.id)
  }, 60_000)

  it('delivers hundreds of events completely, to two servers’ subscribers, each once', async () => {
    const other = await stage.serve()
    const hook = await subscribe({ filter: { queues: ['wh-many'] } })
    const ids = (await Promise.all([push('wh-many', 150), push('wh-many', 150)])).flat()
    const viaOther = await other.post('/ojs/v1/jobs', { type: 'test.hook', args: [], options: { queue: 'wh-many' } })
    ids.push(viaOther.body.id)
    await receiver.hears(hook.id, 301, 30_000)
    const heard = receiver.of(hook.id).map(({ event }) => event.data.job_id)
    expect(heard).toHaveLength(301)
    expect([...heard].sort()).toEqual([...ids].sort())
    await drop(hook.id)
  })
})

onBothStores('webhooks on a public server', (stage) => {
  it('use neither plain http nor private addresses', async () => {
    const s = await stage.serve({ allowPrivateWebhooks: false })
    const receiver = await Receiver.open()
    for (const url of [
      receiver.url('/x'),
      'http://example.com/',
      'https://127.0.0.1/',
      'https://localhost/',
      'https://[::1]/',
      'https://169.254.169.254/latest/meta-data',
      'https://10.1.2.3/',
      'https://[::ffff:10.0.0.1]/',
      'https://2130706433/',
    ]) {
      const { status } = await s.post(BASE, { url, events: ['*'] })
      expect([url, status]).toEqual([url, 400])
    }
    // A name that resolves to this machine is detected when the connection is made.
    const named = await s.post(BASE, { url: 'https://localhost.example.invalid/', events: ['*'] })
    expect(named.status).toBe(201)
    await s.store.webhooks.update({
      id: named.body.id,
      set: { url: receiver.url('/x').replace('127.0.0.1', 'localhost') },
    })
    const tried = await s.post(`${BASE}/${named.body.id}/test`)
    expect(tried.body.success).toBe(false)
    expect(tried.body.error).toContain('is not a public address')
    expect(receiver.heard).toEqual([])
  })
})

it('distinguishes public addresses from others', () => {
  for (const address of ['8.8.8.8', '1.1.1.1', '2606:4700::1111', '172.32.0.1'])
    expect([address, isPublic(address)]).toEqual([address, true])
  for (const address of [
    '127.0.0.1',
    '10.0.0.1',
    '172.16.9.9',
    '192.168.1.1',
    '169.254.169.254',
    '100.64.0.1',
    '0.0.0.0',
    '224.0.0.1',
    '255.255.255.255',
    '::1',
    '::',
    'fe80::1',
    'fd00::1',
    '::ffff:8.8.8.8',
    '64:ff9b::a00:1',
    '2002:7f00:1::',
    'nonsense',
  ]) {
    expect([address, isPublic(address)]).toEqual([address, false])
  }
})
