/** Unusual requests: some are valid, some are not. */
import { beforeAll, expect, it } from 'vitest'
import { onBothStores, type Serving } from '../serving.ts'

onBothStores('unusual requests', (stage) => {
  let s: Serving
  beforeAll(async () => {
    s = await stage.serve()
  })

  it('JSON is returned as it was sent, whatever its keys and characters', async () => {
    const odd = JSON.parse(
      '[{"__proto__": {"polluted": 1}, "constructor": 2, "toString": 3, "": 4, "é\\u2028": "\\ud83d\\ude00", "deep": [[[[{}]]]]}, 0, -1.5e300, true, null, "\\\\u0041"]',
    )
    const { status, body } = await s.post('/ojs/v1/jobs', {
      type: 'test.odd',
      args: odd,
      meta: odd[0],
      options: { queue: 'odd' },
    })
    expect(status).toBe(201)
    expect(JSON.stringify(body.job.args)).toBe(JSON.stringify(odd))
    const fetched = (await s.post('/ojs/v1/workers/fetch', { queues: ['odd'] })).body.jobs[0]
    // Postgres stores JSON by value: keys may come in another order.
    expect(fetched.args).toEqual(odd)
    await s.post('/ojs/v1/workers/ack', { job_id: fetched.id, result: odd })
    expect((await s.get(`/ojs/v1/jobs/${fetched.id}`)).body.job.result).toEqual(odd)
    expect(({} as any).polluted).toBe(undefined)
  })

  it.each(['GET', 'DELETE'])('%s with a content type and no body, as some clients send it', async (method) => {
    const { body } = await s.post('/ojs/v1/jobs', { type: 'test.echo', args: [] })
    const headers = { 'content-type': 'application/openjobspec+json', accept: 'application/openjobspec+json' }
    expect((await s.ask(method, `/ojs/v1/jobs/${body.job.id}`, { headers })).status).toBe(200)
  })

  it.each(['/ojs/v1/queues/some/pause', '/ojs/v1/queues/some/resume'])('POST %s with an empty body', async (path) => {
    for (const type of ['application/openjobspec+json', 'application/json', null]) {
      const response = await fetch(s.server.url + path, {
        method: 'POST',
        headers: type === null ? {} : { 'content-type': type },
      })
      expect([path, type, response.status]).toEqual([path, type, 200])
    }
  })

  it.each([
    ['POST', '/ojs/v1/jobs', '[]'],
    ['POST', '/ojs/v1/jobs', '"x"'],
    ['POST', '/ojs/v1/jobs', 'null'],
    ['POST', '/ojs/v1/jobs', ''],
    ['POST', '/ojs/v1/workers/fetch', '7'],
    ['POST', '/ojs/v1/workflows', '[]'],
    ['POST', '/ojs/v1/cron', 'true'],
  ])('%s %s with %j as its body: 400 invalid_payload', async (method, path, body) => {
    const reply = await s.ask(method, path, { body, headers: { 'content-type': 'application/json' } })
    expect([reply.status, reply.body.error.code]).toEqual([400, 'invalid_payload'])
  })

  it('text that no database stores: 400, and nothing is stored', async () => {
    for (const bad of ['\\u0000', '\\ud800']) {
      const reply = await s.post(
        '/ojs/v1/jobs',
        `{"type": "test.bad", "args": ["${bad}"], "options": {"queue": "bad"}}`,
      )
      expect([bad, reply.status, reply.body.error.code]).toEqual([bad, 400, 'invalid_payload'])
    }
    expect((await s.post('/ojs/v1/workers/fetch', { queues: ['bad'] })).body.jobs).toEqual([])
  })

  it('unusual ids are simply not found', async () => {
    for (const id of ['x', '0', '%00', '..', "';--", 'é', '01900000-0000-7000-8000-00000000000g', 'x'.repeat(900)]) {
      for (const [method, path] of [
        ['GET', '/ojs/v1/jobs/ID'],
        ['DELETE', '/ojs/v1/jobs/ID'],
        ['POST', '/ojs/v1/jobs/ID/activate'],
        ['GET', '/ojs/v1/workflows/ID'],
        ['DELETE', '/ojs/v1/workflows/ID'],
        ['POST', '/ojs/v1/dead-letter/ID/retry'],
        ['DELETE', '/ojs/v1/cron/ID'],
        ['GET', '/v1/instances/ID'],
      ] as const) {
        const { status } = await s.ask(method, path.replace('ID', id.startsWith('%') ? id : encodeURIComponent(id)))
        expect([method, path, id, [400, 404].includes(status)]).toEqual([method, path, id, true])
      }
    }
  })

  it('a hundred at once are all answered', async () => {
    const replies = await Promise.all(
      Array.from({ length: 100 }, (_, n) => s.post('/ojs/v1/jobs', { type: 'test.echo', args: [n] })),
    )
    expect(replies.filter(({ status }) => status === 201)).toHaveLength(100)
    expect(new Set(replies.map(({ body }) => body.job.id)).size).toBe(100)
    expect(new Set(replies.map(({ headers }) => headers.get('x-request-id'))).size).toBe(100)
  })
})
