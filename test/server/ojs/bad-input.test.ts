/**
 * Mistakes of clients: the reply has the right status and code and suggests a remedy, and nothing has changed. First
 * every route of the server with mistakes that apply to all of them, then each kind of mistake.
 */
import { beforeAll, describe, expect, it } from 'vitest'
import { onBothStores, type Reply, type Serving } from '../serving.ts'
import { contents, settledContents } from './contents.ts'
import { type Any, batch, chain, Flow, group, job, once } from './flow.ts'

const NOBODY = '019539a4-0000-7000-8000-000000000000'
/** Routes of what exists as soon as it is named. */
const NAMED = /\/queues\/|\/registry\/[^/]+\/(pause|resume)$/
const MAX_BODY = 300_000
/** No lease or worker expires by the clock while a request is observed. */
const STILL = { sweep: false }
const AT_ONCE = 16
const JSON_TYPE = { 'content-type': 'application/json' }

interface Route {
  readonly method: string
  /** With ids that do not exist. */
  readonly path: string
  readonly takesBody: boolean
}

onBothStores('bad input', (stage) => {
  let s: Serving
  let f: Flow
  let url: string
  let scene: Scene
  let routes: readonly Route[]

  beforeAll(async () => {
    s = await stage.serve({ maxBodyBytes: MAX_BODY, engine: STILL })
    f = new Flow(s)
    url = await stage.url()
    scene = await arrange(s, f)
    routes = await routesOf(s)
    await settledContents(url)
  })

  /** Sends the request, and checks that the store is unchanged. */
  const refused = async (ask: () => Promise<Reply>): Promise<Reply> => {
    const before = await contents(url)
    const reply = await ask()
    expect(await contents(url)).toEqual(before)
    expect(reply.status).toBeGreaterThanOrEqual(400)
    expect(reply.status).toBeLessThan(500)
    expectHelpful(reply)
    return reply
  }
  const post = (path: string, body: unknown, headers = {}): Promise<Reply> =>
    refused(() => s.post(`/ojs/v1${path}`, body, headers))
  const sure = (reply: Reply): readonly [number, string] => [reply.status, reply.body.error.code]

  /** Every route gets the same, one look at the store around all of them. */
  const everywhere = async (
    which: (route: Route) => boolean,
    ask: (route: Route) => Promise<Reply>,
  ): Promise<readonly string[]> => {
    const before = await contents(url)
    const answers: string[] = []
    await severalAtOnce(routes.filter(which), async (route) => {
      const reply = await ask(route)
      answers.push(`${reply.status} ${reply.body?.error?.code} ${route.method} ${route.path}`)
      if (reply.status >= 400) expectHelpful(reply)
    })
    expect(answers.length).toBeGreaterThan(10)
    expect(await contents(url)).toEqual(before)
    return answers
  }
  const others = (answers: readonly string[], expected: string): readonly string[] =>
    answers.filter((answer) => !answer.startsWith(expected))

  describe('on every route', () => {
    /** A definition is a text, YAML or JSON: its mistakes are reported with lines (test/server/native). */
    const takesJson = ({ takesBody, path }: Route): boolean =>
      takesBody && path !== '/v1/definitions' && path !== '/v1/definitions/check'

    it.each([
      ['cut short', '{"type": "x"'],
      ['a trailing comma', '{"type": "x",}'],
      ['no JSON at all', 'type=x'],
      ['single quotes', "{'type': 'x'}"],
      ['two values', '{} {}'],
      ['nested without end', `${'['.repeat(20_000)}`],
    ])('malformed JSON, %s: 400 invalid_payload', async (_, body) => {
      const answers = await everywhere(takesJson, ({ method, path }) =>
        s.ask(method, path, { body, headers: JSON_TYPE }),
      )
      expect(others(answers, '400 invalid_payload').join('\n')).toBe('')
    })

    it.each([['[]'], ['"text"'], ['42'], ['true']])('a body that is %s and no object: 400', async (body) => {
      const answers = await everywhere(
        // On other routes the unknown id is the first mistake.
        (route) => takesJson(route) && !route.path.includes(NOBODY),
        ({ method, path }) => s.ask(method, path, { body, headers: JSON_TYPE }),
      )
      expect(others(answers, '400 invalid_payload').join('\n')).toBe('')
    })

    it.each([['text/plain'], ['application/xml'], ['multipart/form-data; boundary=x']])(
      'a body of type %s: 400 invalid_request that names the accepted types',
      async (type) => {
        const answers = await everywhere(takesJson, ({ method, path }) =>
          s.ask(method, path, { body: '{}', headers: { 'content-type': type } }),
        )
        expect(others(answers, '400 invalid_request')).toEqual([])
      },
    )

    it('an oversized body: 413 payload_too_large', async () => {
      const body = JSON.stringify({ type: 'a.b', args: ['x'.repeat(MAX_BODY)] })
      const answers = await everywhere(
        (route) => route.takesBody,
        ({ method, path }) => s.ask(method, path, { body, headers: JSON_TYPE }),
      )
      expect(others(answers, '413 payload_too_large')).toEqual([])
    })

    it.each([['2.0'], ['0.9'], ['1.1'], ['latest'], ['']])('OJS-Version "%s": 422 unsupported', async (version) => {
      const answers = await everywhere(
        (route) => route.path.startsWith('/ojs'),
        ({ method, path, takesBody }) =>
          s.ask(method, path, { headers: { 'ojs-version': version }, ...(takesBody ? { body: {} } : {}) }),
      )
      expect(others(answers, '422 unsupported')).toEqual([])
    })

    it('a method that the path does not have: 405 with the available ones', async () => {
      const before = await contents(url)
      const wrong = [...new Set(routes.map((route) => route.path))].flatMap((path) => {
        const known = routes.filter((route) => route.path === path).map((route) => route.method)
        const others = ['PUT', 'PATCH', 'DELETE', 'POST'].filter((one) => !known.includes(one))
        return others.map((method) => ({ method, path, known }))
      })
      await severalAtOnce(wrong, async ({ method, path, known }) => {
        const reply = await s.ask(method, path)
        // Another route may have the same shape: /jobs/batch is also /jobs/:id.
        if (reply.status === 404) return
        expect([method, path, ...sure(reply)]).toEqual([method, path, 405, 'method_not_allowed'])
        expect(reply.headers.get('allow')?.split(', ').sort()).toEqual(
          expect.arrayContaining(known.filter((one) => one !== 'HEAD')),
        )
        expectHelpful(reply)
      })
      expect(await contents(url)).toEqual(before)
    })

    it.each([[NOBODY], ['nonsense'], ['%00'], ['..%2F..'], ['%F0%9F%92%A5'], ['x'.repeat(300)]])(
      'the unknown id %s: 404 or 400, never a crash',
      async (id) => {
        const answers = await everywhere(
          // A queue exists as soon as it is named, and so does a type that is paused.
          (route) => route.path.includes(NOBODY) && !NAMED.test(route.path) && route.method !== 'PUT',
          ({ method, path, takesBody }) => s.ask(method, path.replace(NOBODY, id), takesBody ? { body: {} } : {}),
        )
        expect(answers.filter((answer) => !/^(404 not_found|400 )/.test(answer))).toEqual([])
      },
    )
  })

  describe('wrong types in a job', () => {
    const good = { type: 'email.send', args: [] }
    it.each<[string, Any, number, string]>([
      ['no type', { args: [] }, 400, 'type'],
      ['a number as type', { ...good, type: 7 }, 400, 'type'],
      ['capitals in the type', { ...good, type: 'Email.Send' }, 400, 'type'],
      ['an empty type', { ...good, type: '' }, 400, 'type'],
      ['no args', { type: 'email.send' }, 400, 'args'],
      ['null as args', { ...good, args: null }, 400, 'args'],
      ['an object as args', { ...good, args: { to: 'x' } }, 400, 'args'],
      ['a text as args', { ...good, args: 'x' }, 400, 'args'],
      ['an id that is no UUIDv7', { ...good, id: '123' }, 400, 'id'],
      ['a UUIDv4', { ...good, id: '9b2ce3a0-7a5b-4f0e-8a3a-0d1c2b3a4f5e' }, 400, 'id'],
      ['an id in capitals', { ...good, id: NOBODY.toUpperCase() }, 400, 'id'],
      ['null as id', { ...good, id: null }, 400, 'id'],
      ['a list as meta', { ...good, meta: [] }, 400, 'meta'],
      ['a text as options', { ...good, options: 'high' }, 400, 'options'],
      ['a queue in capitals', { ...good, options: { queue: 'Mail' } }, 400, 'options.queue'],
      ['a priority beyond 100', { ...good, options: { priority: 101 } }, 400, 'options.priority'],
      ['half a priority', { ...good, options: { priority: 1.5 } }, 400, 'options.priority'],
      ['a timeout of nothing', { ...good, options: { timeout_ms: 0 } }, 400, 'options.timeout_ms'],
      ['a time in words', { ...good, options: { scheduled_at: 'tomorrow' } }, 400, 'options.scheduled_at'],
      ['a time that is a number', { ...good, options: { delay_until: 17 } }, 400, 'options.delay_until'],
      ['an impossible day', { ...good, options: { expires_at: '2026-02-30T00:00:00Z' } }, 400, 'options.expires_at'],
      ['tags that are no list', { ...good, options: { tags: 'red' } }, 400, 'options.tags'],
      ['an invalid unique policy', { ...good, options: { unique: 'yes' } }, 400, 'options.unique'],
      ['negative attempts', { ...good, options: { retry: { max_attempts: -1 } } }, 422, 'options.retry.max_attempts'],
      ['half an attempt', { ...good, options: { retry: { max_attempts: 1.5 } } }, 422, 'options.retry.max_attempts'],
      [
        'a shrinking backoff',
        { ...good, options: { retry: { backoff_coefficient: 0.5 } } },
        422,
        'options.retry.backoff_coefficient',
      ],
      ['a policy that is a number', { ...good, options: { retry: 3 } }, 422, 'options.retry'],
    ])('%s', async (_, body, status, field) => {
      const reply = await post('/jobs', body)
      expect(sure(reply)).toEqual([status, 'invalid_request'])
      expect(reply.body.error.details.field).toBe(field)
      expect(reply.body.error.message).toContain(field)
      if (status === 422) expect(reply.body.error.type).toBe('validation_error')
      // One invalid job among valid ones: none is stored.
      const many = await post('/jobs/batch', { jobs: [good, body, good] })
      expect(sure(many)).toEqual([status, 'invalid_request'])
      expect(many.body.error.details).toMatchObject({ field: `jobs[1].${field}`, index: 1 })
    })

    it('every mistake is listed at once', async () => {
      const reply = await post('/jobs', { type: 'NO', args: {}, options: { queue: 'NO', priority: 'high' } })
      const paths = reply.body.error.details.validation_errors.map((mistake: Any) => mistake.path)
      expect(paths.sort()).toEqual(['args', 'options.priority', 'options.queue', 'type'])
    })

    it.each([[{}], [{ jobs: {} }], [{ jobs: [] }], [{ jobs: Array.from({ length: 1001 }, () => good) }]])(
      'a batch of %.30j',
      async (body) => {
        expect(sure(await post('/jobs/batch', body))).toEqual([400, 'invalid_request'])
      },
    )

    it('NUL and lone surrogates, which no database stores', async () => {
      for (const args of ['["a\\u0000b"]', '["\\ud800"]', '[{"k\\u0000": 1}]']) {
        const reply = await post('/jobs', `{"type":"email.send","args":${args}}`)
        expect(sure(reply)).toEqual([400, 'invalid_payload'])
      }
    })
  })

  describe('ids that are used', () => {
    it('of a job: 409 duplicate that names it, and the limit in the request is not set', async () => {
      const reply = await post('/jobs', {
        id: scene.available.id,
        type: 'email.send',
        args: [],
        options: { rate_limit: { key: 'brought', rate: 7, period: 'PT1S' } },
      })
      expect(sure(reply)).toEqual([409, 'duplicate'])
      expect(reply.body.error.details.existing_job_id).toBe(scene.available.id)
    })

    it('of a job in a batch: none of them is stored', async () => {
      const jobs = [job('email.send'), { ...job('email.send'), id: scene.active.id }]
      expect(sure(await post('/jobs/batch', { jobs }))).toEqual([409, 'duplicate'])
    })

    it('twice in one batch', async () => {
      const twin = { ...job('email.send'), id: '019539a4-1111-7000-8000-000000000000' }
      expect(sure(await post('/jobs/batch', { jobs: [twin, twin] }))).toEqual([409, 'duplicate'])
    })

    it('by a unique policy', async () => {
      const reply = await post('/jobs', job('unique.job', [1], { unique: { keys: ['type', 'args'] } }))
      expect(sure(reply)).toEqual([409, 'duplicate'])
      expect(reply.body.error.details.existing_job_id).toBe(scene.unique.id)
    })

    it('of a workflow, nested ones too', async () => {
      for (const id of ['wf_taken', 'wf_inner']) {
        expect(sure(await post('/workflows', { ...chain(job('a')), id }))).toEqual([409, 'duplicate'])
        const nested = chain({ ...group(job('a')), id })
        expect(sure(await post('/workflows', nested))).toEqual([409, 'duplicate'])
      }
    })
  })

  describe('wrong types from workers', () => {
    it.each<[string, Any]>([
      ['/workers/fetch', {}],
      ['/workers/fetch', { queues: [] }],
      ['/workers/fetch', { queues: 'default' }],
      ['/workers/fetch', { queues: [7] }],
      ['/workers/fetch', { queues: ['No'] }],
      ['/workers/fetch', { queues: ['q'], count: 0 }],
      ['/workers/fetch', { queues: ['q'], count: 'all' }],
      ['/workers/fetch', { queues: ['q'], count: 1e9 }],
      ['/workers/fetch', { queues: ['q'], wait_ms: -1 }],
      ['/workers/fetch', { queues: ['q'], visibility_timeout_ms: 0 }],
      ['/workers/fetch', { queues: ['q'], worker_id: 'two words' }],
      ['/workers/fetch', { queues: ['q'], worker_id: 7 }],
      ['/workers/ack', {}],
      ['/workers/ack', { job_id: 7 }],
      ['/workers/ack', { job_id: NOBODY, attempt: 'first' }],
      ['/workers/nack', { job_id: NOBODY }],
      ['/workers/nack', { job_id: NOBODY, error: 'broken' }],
      ['/workers/nack', { job_id: NOBODY, error: { code: 7 } }],
      ['/workers/nack', { job_id: NOBODY, error: { retryable: 'no' } }],
      ['/workers/nack', { job_id: NOBODY, error: {}, requeue: 'yes' }],
      ['/workers/ack/batch', {}],
      ['/workers/ack/batch', { acks: {} }],
      ['/workers/nack/batch', { nacks: [] }],
      ['/workers/heartbeat', {}],
      ['/workers/heartbeat', { worker_id: '' }],
      ['/workers/heartbeat', { worker_id: 'w', active_job_ids: [7] }],
      ['/workers/heartbeat', { worker_id: 'w', visibility_timeout_ms: 'long' }],
      ['/workers/heartbeat', { worker_id: 'w', pid: -5 }],
    ])('%s %j', async (path, body) => {
      const reply = await post(path, body)
      expect(sure(reply)).toEqual([400, 'invalid_request'])
      expect(reply.body.error.details.field).toEqual(expect.any(String))
    })
  })

  describe('leases', () => {
    const report = (path: string, body: object): Promise<Reply> => post(`/workers/${path}`, body)
    const error = { code: 'handler_error', message: 'x' }
    const conflict = (reply: Reply, id: string, state: string): void => {
      expect(sure(reply)).toEqual([409, 'conflict'])
      expect(reply.body.error.details).toMatchObject({ job_id: id, current_state: state, expected_state: 'active' })
    }

    it('of an unknown job: 404 not_found', async () => {
      for (const job_id of [NOBODY, 'nonsense', '']) {
        for (const reply of [await report('ack', { job_id }), await report('nack', { job_id, error })]) {
          if (job_id === '') expect(reply.status).toBe(400)
          else expect(sure(reply)).toEqual([404, 'not_found'])
        }
      }
    })

    it('of another worker', async () => {
      const { id } = scene.active
      conflict(await report('ack', { job_id: id, worker_id: 'thief' }), id, 'active')
      conflict(await report('nack', { job_id: id, worker_id: 'thief', error }), id, 'active')
      conflict(await report('nack', { job_id: id, worker_id: 'thief', error, requeue: true }), id, 'active')
    })

    it('of another start of the same job', async () => {
      const { id } = scene.active
      for (const attempt of [2, 99]) {
        conflict(await report('ack', { job_id: id, worker_id: 'worker-1', attempt }), id, 'active')
        conflict(await report('nack', { job_id: id, attempt, error }), id, 'active')
      }
    })

    it('that never existed, or have ended', async () => {
      for (const [found, state] of [
        [scene.available, 'available'],
        [scene.scheduled, 'scheduled'],
        [scene.held, 'pending'],
        [scene.retryable, 'retryable'],
        [scene.completed, 'completed'],
        [scene.discarded, 'discarded'],
        [scene.cancelled, 'cancelled'],
      ] as const) {
        conflict(await report('ack', { job_id: found.id, result: 'mine' }), found.id, state)
        conflict(await report('ack', { job_id: found.id, worker_id: 'worker-1' }), found.id, state)
        conflict(await report('nack', { job_id: found.id, error }), found.id, state)
        conflict(await report('nack', { job_id: found.id, error, requeue: true }), found.id, state)
      }
    })

    it('reported twice, also with the opposite outcome', async () => {
      const { id } = scene.completed
      const body = { job_id: id, worker_id: 'worker-1', result: { first: true } }
      conflict(await report('ack', body), id, 'completed')
      conflict(await report('nack', { ...body, error }), id, 'completed')
      expect((await f.job(id)).result).toEqual({ first: true })
    })

    it('many at once, all of them invalid', async () => {
      const acks = [
        { job_id: NOBODY },
        { job_id: scene.completed.id },
        { job_id: scene.active.id, worker_id: 'thief' },
        {},
        7,
      ]
      const before = await contents(url)
      const { status, body } = await s.post('/ojs/v1/workers/ack/batch', { acks })
      expect(status).toBe(200)
      expect(body).toMatchObject({ succeeded: 0, failed: 5 })
      expect(body.results.map((one: Any) => one.error.code)).toEqual([
        'not_found',
        'conflict',
        'conflict',
        'invalid_request',
        'invalid_request',
      ])
      expect(await contents(url)).toEqual(before)
    })

    it('a heartbeat renews only jobs held by its worker', async () => {
      const jobs = [scene.active.id, scene.completed.id, NOBODY, 'nonsense']
      const held = (await contents(url))['workflow_run']
      const { status, body } = await s.post('/ojs/v1/workers/heartbeat', { worker_id: 'thief', active_jobs: jobs })
      expect([status, body.jobs_extended]).toEqual([200, []])
      expect((await contents(url))['workflow_run']).toEqual(held)
    })

    it('a result beyond the limit: 413, and the job stays active', async () => {
      const own = await stage.serve({ maxBodyBytes: 4_000_000, engine: STILL })
      const reply = await refused(() =>
        own.post('/ojs/v1/workers/ack', { job_id: scene.active.id, result: 'x'.repeat(2_000_000) }),
      )
      expect(sure(reply)).toEqual([413, 'payload_too_large'])
      expect(reply.body.error.message).toMatch(/\d/)
    })
  })

  describe('operations that the state does not allow', () => {
    const remove = (path: string): Promise<Reply> => refused(() => s.ask('DELETE', `/ojs/v1${path}`))

    it('cancel of a job that has ended', async () => {
      for (const found of [scene.completed, scene.discarded, scene.cancelled]) {
        const reply = await remove(`/jobs/${found.id}`)
        expect(sure(reply)).toEqual([409, 'conflict'])
        expect(reply.body.error.details.job_id).toBe(found.id)
      }
    })

    it('activate of a job that is not pending', async () => {
      for (const found of [scene.available, scene.active, scene.scheduled, scene.completed]) {
        const reply = await post(`/jobs/${found.id}/activate`, undefined)
        expect(sure(reply)).toEqual([409, 'conflict'])
        expect(reply.body.error.details.expected_state).toBe('pending')
      }
    })

    it('8.2 cancel of a workflow that has ended', async () => {
      for (const [id, state] of [
        ['wf_taken', 'completed'],
        ['wf_failed', 'failed'],
        ['wf_cancelled', 'cancelled'],
      ] as const) {
        for (const reply of [await remove(`/workflows/${id}`), await post(`/workflows/${id}/cancel`, {})]) {
          expect(sure(reply)).toEqual([409, 'conflict'])
          expect(reply.body.error.message).toBe(`Workflow ${id} is already in terminal state '${state}'`)
        }
      }
    })

    it('8.2 no report changes a workflow that has ended', async () => {
      for (const id of ['wf_taken', 'wf_failed', 'wf_cancelled']) {
        const { steps } = await f.get(id)
        for (const { job_id } of steps.filter((step: Any) => step.job_id !== null)) {
          expect(sure(await post('/workers/ack', { job_id }))).toEqual([409, 'conflict'])
          expect(sure(await remove(`/jobs/${job_id}`))).toEqual([409, 'conflict'])
        }
      }
    })

    it('retry and removal of a run that is not a dead letter', async () => {
      for (const id of [scene.completed.id, scene.available.id, scene.discarded.id, NOBODY, 'x']) {
        expect(sure(await post(`/dead-letter/${id}/retry`, {}))).toEqual([404, 'not_found'])
        expect(sure(await remove(`/dead-letter/${id}`))).toEqual([404, 'not_found'])
      }
    })

    it('reset without the flag', async () => {
      expect(sure(await post('/admin/reset', {}))).toEqual([403, 'permission_denied'])
    })
  })

  describe('wrong types elsewhere', () => {
    const good = { name: 'nightly', expression: '0 3 * * *', job_template: job('a') }
    it.each<[string, Any]>([
      ['no name', { ...good, name: undefined }],
      ['no expression', { ...good, expression: undefined }],
      ['words', { ...good, expression: 'not a valid cron' }],
      ['seven fields', { ...good, expression: '* * * * * * *' }],
      ['the 61st minute', { ...good, expression: '61 * * * *' }],
      ['an invalid zone', { ...good, timezone: 'Mars/Base' }],
      ['an invalid policy', { ...good, overlap_policy: 'maybe' }],
      ['no job', { ...good, job_template: undefined }],
      ['a job without a type', { ...good, job_template: { args: [] } }],
    ])('a cron job with %s', async (_, body) => {
      const reply = await post('/cron', body)
      expect([400, 422]).toContain(reply.status)
    })

    it('a workflow: 400 invalid_workflow with the path of each mistake', async () => {
      const reply = await post('/workflows', {
        type: 'batch',
        jobs: [{ type: 'A', args: 7 }, group()],
        callbacks: { on_complete: once('c', { retry: { max_attempts: -2 } }) },
      })
      expect(sure(reply)).toEqual([400, 'invalid_workflow'])
      expect(reply.body.error.details.validation_errors.map((one: Any) => one.path)).toEqual([
        '$.jobs[0].type',
        '$.jobs[0].args',
        '$.jobs[1].jobs',
        '$.callbacks.on_complete.options.retry.max_attempts',
      ])
    })

    it('a workflow with too many attributes in a job: nothing of it is stored', async () => {
      const own = await stage.serve({ maxBodyBytes: 4_000_000, engine: STILL })
      const tooBig = chain(job('a'), job('b', ['x'.repeat(2_000_000)]))
      const reply = await refused(() => own.post('/ojs/v1/workflows', tooBig))
      expect(sure(reply)).toEqual([413, 'payload_too_large'])
    })

    it.each([
      '/workflows?state=awake',
      '/workflows?limit=0',
      '/workflows?limit=many',
      '/workflows?cursor=!!',
      '/workflows?colour=red',
      '/dead-letter?limit=-1',
      '/queues?limit=1.5',
      '/events?limit=0',
      '/events?after=nonsense',
      '/queues/NOT%20a%20queue/stats',
    ])('GET %s: 400 invalid_request', async (path) => {
      expect(sure(await refused(() => s.get(`/ojs/v1${path}`)))).toEqual([400, 'invalid_request'])
    })
  })
})

async function severalAtOnce<T>(all: readonly T[], body: (one: T) => Promise<void>): Promise<void> {
  const rest = [...all]
  const take = async (): Promise<void> => {
    for (let one = rest.shift(); one !== undefined; one = rest.shift()) await body(one)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, take))
}

/** A person who reads it knows what to do next. */
function expectHelpful({ status, headers, body, text }: Reply): void {
  expect(body, text).toMatchObject({
    error: {
      code: expect.stringMatching(/^[a-zA-Z_]+$/),
      message: expect.stringMatching(/\w{2,} .*\w/),
      retryable: status === 429 || status >= 500,
      hint: expect.stringMatching(/\w{3}.*\w{2}/),
      docs_url: expect.stringContaining(body.error.code),
      request_id: headers.get('x-request-id'),
    },
  })
  // No trace of the code that produced it.
  expect(text).not.toMatch(/node_modules|\.ts:\d|\bat \w+ \(|SQLITE_|ECONN|undefined/)
}

/** From the server's own document, with ids that do not exist. */
async function routesOf(s: Serving): Promise<readonly Route[]> {
  const { body } = await s.get('/openapi.json')
  return Object.entries<Any>(body.paths).flatMap(([path, item]) =>
    Object.keys(item)
      .filter((method) => ['get', 'post', 'put', 'patch', 'delete'].includes(method))
      .map((method) => ({
        method: method.toUpperCase(),
        path: path.replace(/\{\w+\}/, NOBODY).replace(/\{\w+\}/g, 'x'),
        takesBody: item[method].requestBody !== undefined,
      }))
      .filter((route) => !/\/(ws|stream|events)$|\/admin\/reset$/.test(route.path)),
  )
}

type Scene = Record<
  'available' | 'active' | 'scheduled' | 'held' | 'retryable' | 'completed' | 'discarded' | 'cancelled' | 'unique',
  Any
>

/** A job in every state and workflows in every state, which a mistake could affect. */
async function arrange(s: Serving, f: Flow): Promise<Scene> {
  const enqueue = async (name: string, options: object = {}): Promise<Any> =>
    (await s.post('/ojs/v1/jobs', job('scene.job', [name], options))).body.job
  const started = async (name: string, options: object = {}): Promise<Any> => {
    await enqueue(name, options)
    return f.fetchOne()
  }
  const active = await started('active')
  const completed = await started('completed')
  await f.ack(completed, { first: true })
  const discarded = await started('discarded')
  await f.nack(discarded, { retryable: false })
  const retryable = await started('retryable', { retry: { max_attempts: 5, initial_interval: 'PT1H' } })
  await f.nack(retryable)
  const dead = await started('dead', { retry: { max_attempts: 1, on_exhaustion: 'dead_letter' } })
  await f.nack(dead)
  const cancelled = await enqueue('cancelled')
  await s.ask('DELETE', `/ojs/v1/jobs/${cancelled.id}`)

  await f.create({ ...chain(once('a')), id: 'wf_taken' })
  await f.create({ ...chain(once('bad'), once('b')), id: 'wf_failed' })
  await f.work((one) => (one.type === 'bad' ? new Error('as asked') : null))
  await f.create({ ...chain(once('a'), once('b')), id: 'wf_cancelled' })
  await f.delete('wf_cancelled')
  await f.create({ ...chain(once('a'), { ...batch([once('b')]), id: 'wf_inner' }), id: 'wf_running' })
  await s.post('/ojs/v1/queues/paused/pause')
  await s.post('/ojs/v1/cron', { name: 'yearly', expression: '0 0 1 1 *', job_template: job('a') })
  const unique = (await s.post('/ojs/v1/jobs', job('unique.job', [1], { unique: { keys: ['type', 'args'] } }))).body.job
  return {
    active,
    completed,
    discarded,
    retryable,
    cancelled,
    unique,
    available: await enqueue('available'),
    scheduled: await enqueue('scheduled', { scheduled_at: '+PT1H' }),
    held: await enqueue('held', { pending: true }),
  }
}
