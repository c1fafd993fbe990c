/** Every mistake is reported with its path and a remedy, and nothing is written. */
import { beforeAll, describe, expect, it } from 'vitest'
import { onBothStores, type Serving } from '../serving.ts'

const GOOD = { type: 'good.a.v1', payload: {} }

onBothStores('bad input of the inbox', (stage) => {
  let s: Serving
  let held: { id: string; epoch: number }
  beforeAll(async () => {
    s = await stage.serve()
    await s.post('/v1/runs', { type: 'held.a.v1', payload: {} })
    held = (await s.post('/v1/runs/claim', { worker_id: 'w', types: ['held.%'], lease_seconds: 3600 })).body.runs[0]
  })

  async function refused(path: string, body: unknown, field: string, status = 400): Promise<any> {
    const before = await everything()
    const reply = await s.post(path, body)
    expect([path, reply.status, reply.text]).toEqual([path, status, expect.any(String)])
    const { error } = reply.body
    expect([error.details.field, error.message.startsWith(field)]).toEqual([field, true])
    expect(error.hint.length).toBeGreaterThan(5)
    expect(await everything()).toEqual(before)
    return error
  }

  /** Everything that the request could have changed. */
  async function everything(): Promise<unknown> {
    const page = await s.store.read.listInbox({
      type: null,
      status: null,
      idempotencyKey: null,
      queue: null,
      deleted: null,
      tenant: null,
      limit: 200,
      before: null,
    })
    return { page, events: await s.store.read.runHistory(held.id), registry: await s.engine.registry.list() }
  }

  describe('submit', () => {
    it.each([
      ['email.send', 'email.send'],
      ['v1', 'v1'],
      ['a.v', 'a.v'],
      ['a.v1.b', 'a.v1.b'],
      ['.v1', '.v1'],
      ['a..v1', 'a..v1'],
      ['a b.v1', 'a b.v1'],
      ['a.v1\n', 'a.v1'],
      [`${'a'.repeat(253)}.v1`, 'aaa'],
      ['a\u0000.v1', ''],
      ['a\ud800.v1', ''],
      ['', 'empty'],
      [7, '7'],
      [null, 'missing'],
      [undefined, 'missing'],
      [['a.v1'], 'list'],
    ])('type %j', async (type, shown) => {
      const error = await refused('/v1/runs', { ...GOOD, type }, 'type')
      expect(error.code).toBe('invalid_request')
      expect(error.message).toContain(shown)
      expect(error.hint).toContain('billing.invoice.v1')
    })

    it.each([
      ['idempotency_key', ''],
      ['idempotency_key', 'k'.repeat(513)],
      ['idempotency_key', 'k'.repeat(3_000_000)],
      ['idempotency_key', '🗝'.repeat(513)],
      ['idempotency_key', 'a\u0000b'],
      ['idempotency_key', 7],
      ['priority', 'high'],
      ['priority', 1.5],
      ['priority', 2 ** 31],
      ['priority', -(2 ** 31) - 1],
      ['run_at', 'tomorrow'],
      ['run_at', '2030-01-31'],
      ['run_at', '2030-01-31T09:00:00'],
      ['run_at', '2030-02-30T09:00:00Z'],
      ['run_at', '9999-06-01T00:00:00Z'],
      ['run_at', '1969-12-31T23:59:59Z'],
      ['run_at', '+PT5M'],
      ['run_at', 1_900_000_000],
      ['max_attempts', 0],
      ['max_attempts', -1],
      ['max_attempts', 1001],
      ['max_attempts', '3'],
      ['queue', ''],
      ['queue', 'q'.repeat(256)],
      ['queue', 3],
    ])('%s that is not valid (row %#)', async (field, value) => {
      expect((await refused('/v1/runs', { ...GOOD, [field]: value }, field)).code).toBe('invalid_request')
    })

    it.each(['status', 'attempt', 'id', 'leased_by', 'tenant', 'Payload', 'instance_id'])(
      'an unknown field %s',
      async (field) => {
        const error = await refused('/v1/runs', { ...GOOD, [field]: 'pending' }, field)
        expect(error.message).toContain(`a run has no key '${field}'`)
      },
    )

    it('no payload', async () => {
      await refused('/v1/runs', { type: 'good.a.v1' }, 'payload')
    })

    it.each([
      ['a NUL', { text: 'a\u0000b' }, 'unstorable', 400],
      ['half a surrogate pair', { text: '\ud800' }, 'unstorable', 400],
      ['too much', { text: 'x'.repeat(1024 * 1024 + 1) }, 'payload_too_large', 413],
    ] as const)('a payload with %s', async (_, payload, code, status) => {
      expect((await refused('/v1/runs', { ...GOOD, payload }, 'payload', status)).code).toBe(code)
    })

    it('a payload nested too deeply', async () => {
      const deep = `${'['.repeat(210)}${']'.repeat(210)}`
      const reply = await s.ask('POST', '/v1/runs', { body: `{"type":"good.a.v1","payload":${deep}}` })
      expect([reply.status, reply.body.error.code]).toEqual([400, 'unstorable'])
    })

    it('every mistake is listed at once, with its path', async () => {
      const { body } = await s.post('/v1/runs', {
        type: 'x',
        payload: 1,
        priority: 'a',
        max_attempts: 0,
        colour: 'red',
      })
      expect(body.error.details.validation_errors.map((e: any) => e.path).sort()).toEqual(
        ['colour', 'max_attempts', 'priority', 'type'].sort(),
      )
      expect(body.error.message).toContain('and 3 more')
    })
  })

  describe('a body', () => {
    it.each([
      ['{"type":', 'invalid_payload'],
      ['[1]', 'invalid_payload'],
      ['7', 'invalid_payload'],
      ['', 'invalid_payload'],
      ['null', 'invalid_payload'],
    ])('%j is not an object', async (body, code) => {
      for (const path of ['/v1/runs', '/v1/runs/claim', `/v1/runs/${held.id}/complete`]) {
        const headers = { 'content-type': 'application/json' }
        const reply = await s.ask('POST', path, { body, headers })
        expect([path, reply.status, reply.body.error.code]).toEqual([path, 400, code])
      }
    })

    it('of another media type is refused', async () => {
      const headers = { 'content-type': 'text/plain' }
      const reply = await s.ask('POST', '/v1/runs', { body: JSON.stringify(GOOD), headers })
      expect([reply.status, reply.body.error.code]).toEqual([400, 'invalid_request'])
    })

    it('above the limit is 413', async () => {
      const reply = await s.post('/v1/runs', { ...GOOD, payload: 'x'.repeat(5 * 1024 * 1024) })
      expect([reply.status, reply.body.error.code]).toEqual([413, 'payload_too_large'])
    })
  })

  describe('claim', () => {
    const CLAIM = { worker_id: 'w', types: ['good.%'] }

    it.each([
      ['worker_id', { ...CLAIM, worker_id: undefined }],
      ['worker_id', { ...CLAIM, worker_id: '' }],
      ['worker_id', { ...CLAIM, worker_id: 'w'.repeat(256) }],
      ['worker_id', { ...CLAIM, worker_id: 7 }],
      ['worker_id', { ...CLAIM, worker_id: 'a\u0000' }],
      ['types', { worker_id: 'w' }],
      ['types', { ...CLAIM, types: [] }],
      ['types', { ...CLAIM, types: 'good.%' }],
      ['types', { ...CLAIM, types: Array.from({ length: 101 }, () => 'a.v1') }],
      ['types[0]', { ...CLAIM, types: [7] }],
      ['types[1]', { ...CLAIM, types: ['a.v1', 'a%b'] }],
      ['types[1]', { ...CLAIM, types: ['a.v1', ''] }],
      ['types[0]', { ...CLAIM, types: ['a\\x%'] }],
      ['queues', { ...CLAIM, queues: [] }],
      ['queues', { ...CLAIM, queues: 'default' }],
      ['queues[0]', { ...CLAIM, queues: [''] }],
      ['runtime', { ...CLAIM, runtime: 7 }],
      ['runtime', { ...CLAIM, runtime: ' go ' }],
      ['lease_seconds', { ...CLAIM, lease_seconds: 0 }],
      ['lease_seconds', { ...CLAIM, lease_seconds: -1 }],
      ['lease_seconds', { ...CLAIM, lease_seconds: 86_401 }],
      ['lease_seconds', { ...CLAIM, lease_seconds: '30' }],
      ['limit', { ...CLAIM, limit: 0 }],
      ['limit', { ...CLAIM, limit: 101 }],
      ['limit', { ...CLAIM, limit: 1.5 }],
      ['wait_seconds', { ...CLAIM, wait_seconds: 31 }],
      ['wait_seconds', { ...CLAIM, wait_seconds: -1 }],
      ['lease', { ...CLAIM, lease: 30 }],
    ])('%s of %j', async (field, body) => {
      await refused('/v1/runs/claim', body, field)
    })
  })

  it('a stop requires the worker, and no other field', async () => {
    await refused('/v1/runs/claim/stop', {}, 'worker_id')
    await refused('/v1/runs/claim/stop', { worker_id: 7 }, 'worker_id')
    await refused('/v1/runs/claim/stop', { worker_id: 'w', types: [] }, 'types')
  })

  describe('reports', () => {
    it.each([
      ['heartbeat', {}],
      ['complete', {}],
      ['fail', { error: { message: 'x' } }],
      ['later', { delay_seconds: 1 }],
      ['release', {}],
    ])('%s requires the worker and the epoch', async (verb, more) => {
      const path = `/v1/runs/${held.id}/${verb}`
      const good = { worker_id: 'w', epoch: 0, ...more }
      for (const [field, wrong] of [
        ['worker_id', [undefined, '', 7, null]],
        ['epoch', [undefined, -1, '0', 0.5, null, 2 ** 31]],
        ['reason', ['none']],
      ] as const) {
        for (const value of wrong) await refused(path, { ...good, [field]: value }, field)
      }
    })

    it.each([
      ['error', undefined],
      ['error', 'it broke'],
      ['error', []],
      ['error.message', {}],
      ['error.message', { message: 7 }],
      ['error.code', { message: 'x', code: 7 }],
      ['error.code', { message: 'x', code: '' }],
      ['error.stack', { message: 'x', stack: 'at …' }],
      ['error.details.retry_delay_ms', { message: 'x', details: { retry_delay_ms: -1 } }],
      ['error.details.retry_delay_ms', { message: 'x', details: { retry_delay_ms: 1e300 } }],
    ])('a failure with an invalid %s: %j', async (field, error) => {
      await refused(`/v1/runs/${held.id}/fail`, { worker_id: 'w', epoch: held.epoch, error }, field)
    })

    it('an outcome that cannot be stored changes nothing, and the lease continues', async () => {
      const worker = { worker_id: 'w', epoch: held.epoch }
      const nul = { text: 'a\u0000' }
      expect((await refused(`/v1/runs/${held.id}/complete`, { ...worker, result: nul }, 'result')).code).toBe(
        'unstorable',
      )
      const error = { message: 'a\u0000' }
      expect((await refused(`/v1/runs/${held.id}/fail`, { ...worker, error }, 'error')).code).toBe('unstorable')
      const result = 'x'.repeat(1024 * 1024 + 1)
      await refused(`/v1/runs/${held.id}/complete`, { ...worker, result }, 'result', 413)
      expect((await s.post(`/v1/runs/${held.id}/heartbeat`, { ...worker, lease_seconds: 3600 })).status).toBe(200)
    })

    it.each([
      ['set', { set: [1] }],
      ['set', { set: 'page' }],
      ['set', { set: { page: 1 } }],
      ['set.', { set: { '': 1 } }],
      [`set.${'n'.repeat(129)}`, { set: { ['n'.repeat(129)]: 1 } }],
      ['notes', { notes: 'a note' }],
      ['notes', { notes: { a: 1 } }],
    ])('an invalid %s changes nothing: %j', async (field, more) => {
      const worker = { worker_id: 'w', epoch: held.epoch }
      await refused(`/v1/runs/${held.id}/complete`, { ...worker, ...more }, field)
      await refused(`/v1/runs/${held.id}/fail`, { ...worker, error: { message: 'x' }, ...more }, field)
      await refused(`/v1/runs/${held.id}/later`, { ...worker, delay_seconds: 1, ...more }, field)
      expect((await s.post(`/v1/runs/${held.id}/heartbeat`, { ...worker, lease_seconds: 3600 })).status).toBe(200)
    })

    it.each([undefined, null, -1, '5', 1e300])('%j is not a delay_seconds of a later', async (delay_seconds) => {
      const body = { worker_id: 'w', epoch: held.epoch, delay_seconds }
      await refused(`/v1/runs/${held.id}/later`, body, 'delay_seconds')
    })

    it('a release accepts neither entries nor notes', async () => {
      const body = { worker_id: 'w', epoch: held.epoch }
      await refused(`/v1/runs/${held.id}/release`, { ...body, set: {} }, 'set')
      await refused(`/v1/runs/${held.id}/release`, { ...body, notes: [] }, 'notes')
    })

    it('retryable is true or false', async () => {
      const error = { message: 'x' }
      const body = { worker_id: 'w', epoch: held.epoch, error, retryable: 'no' }
      await refused(`/v1/runs/${held.id}/fail`, body, 'retryable')
    })

    it('lease_seconds of a heartbeat is 1 to 86400', async () => {
      const body = { worker_id: 'w', epoch: held.epoch, lease_seconds: 0.5 }
      await refused(`/v1/runs/${held.id}/heartbeat`, body, 'lease_seconds')
    })

    it('a cancel accepts no body', async () => {
      await refused(`/v1/runs/${held.id}/cancel`, { reason: 'because' }, 'reason')
    })
  })

  describe('the registry', () => {
    const put = (name: string, body: unknown) => s.ask('PUT', `/v1/registry/${encodeURIComponent(name)}`, { body })

    it.each([
      ['bad.a.v1', 'runtime', {}],
      ['bad.a.v1', 'runtime', { runtime: '' }],
      ['bad.a.v1', 'runtime', { runtime: 7 }],
      ['bad.a.v1', 'runtime', { runtime: ' go ' }],
      ['bad.a.v1', 'runtime', { runtime: 'g'.repeat(256) }],
      ['bad.a.v1', 'is_enabled', { runtime: 'go', is_enabled: 'yes' }],
      ['bad.a.v1', 'description', { runtime: 'go', description: 7 }],
      ['bad.a.v1', 'description', { runtime: 'go', description: 'x'.repeat(10_001) }],
      ['bad.a.v1', 'intent_type', { runtime: 'go', intent_type: '' }],
      ['bad.a.v1', 'workflow_name', { runtime: 'go', workflow_name: 'other.v1' }],
      ['bad.%', 'name', { runtime: 'go' }],
      ['b'.repeat(256), 'name', { runtime: 'go' }],
    ])('%s: an invalid %s in %j', async (name, field, body) => {
      const before = await everything()
      const reply = await put(name, body)
      expect([reply.status, reply.body.error.code, reply.body.error.details.field]).toEqual([
        400,
        'invalid_request',
        field,
      ])
      expect(reply.body.error.message).toContain(`${field}:`)
      expect(await everything()).toEqual(before)
    })
  })

  it('another method is 405, another path 404', async () => {
    expect((await s.ask('PATCH', '/v1/runs')).status).toBe(405)
    expect((await s.ask('GET', '/v1/runs/claim/x')).status).toBe(404)
    expect((await s.ask('POST', `/v1/runs/${held.id}/retry`)).status).toBe(404)
  })
})
