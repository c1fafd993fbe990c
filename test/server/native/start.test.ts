/** POST /v1/instances: definitions started by name. */
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { onBothStores, type Serving } from '../serving.ts'
import { deploy, key, requests, work, workflow } from './stage.ts'

onBothStores('starting over HTTP', (stage) => {
  let s: Serving
  const { start, look, unchanged } = requests(() => s)
  beforeAll(async () => {
    s = await stage.serve({ engine: { sweep: false }, maxBodyBytes: 200_000 })
    await deploy(s, workflow('order', { version: '1.0' }))
    await deploy(s, workflow('order', { version: '2.0', steps: ['pay'] }))
  })
  // Work left over by one test would be taken by the next.
  beforeEach(() => work(s))

  describe('POST /v1/instances', () => {
    it('starts the latest version, or the one that is named', async () => {
      const made = await s.post('/v1/instances', { workflow: 'order', input: { order: 17 } })
      expect(made.status).toBe(201)
      expect(made.headers.get('location')).toBe(`/v1/instances/${made.body.id}`)
      expect(made.body).toMatchObject({
        created: true,
        definition: { name: 'order', version: '2.0', id: expect.any(String) },
        instance: { id: made.body.id, name: 'order', dialect: 'dag', state: 'running', start_key: null },
      })
      expect(await look(made.body.id)).toMatchObject({ input: { order: 17 }, context: {} })
      expect(await work(s)).toEqual(['order.pay'])
      expect((await look(made.body.id)).instance.state).toBe('completed')
      await start({ version: '1.0' })
      expect(await work(s)).toEqual(['order.pay', 'order.ship'])
    })

    it('returns the existing instance for a used start key', async () => {
      const first = await s.post('/v1/instances', { workflow: 'order', start_key: 'order:17', input: 1 })
      const again = await unchanged(() =>
        s.post('/v1/instances', { workflow: 'order', version: '1.0', start_key: 'order:17', input: 2 }),
      )
      expect(again.status).toBe(200)
      expect(again.body).toEqual({ ...first.body, created: false })
      expect(again.body.definition.version).toBe('2.0')
    })

    it('gives its runs the fair key, and refuses one that no run can have', async () => {
      const made = await s.post('/v1/instances', { workflow: 'order', fair_key: 'ann' })
      expect(made.body.instance.fair_key).toBe('ann')
      expect((await look(made.body.id)).runs.map((run: any) => run.fair_key)).toEqual(['ann'])
      const refused = await unchanged(() => s.post('/v1/instances', { workflow: 'order', fair_key: '' }))
      expect(refused.status).toBe(400)
      expect(refused.body.error.message).toContain('fair_key')
    })

    it('decides between simultaneous starts with one key', async () => {
      const replies = await Promise.all(
        Array.from({ length: 8 }, () => s.post('/v1/instances', { workflow: 'order', start_key: 'race' })),
      )
      expect(replies.map((r) => r.status).sort()).toEqual([200, 200, 200, 200, 200, 200, 200, 201])
      expect(new Set(replies.map((r) => r.body.id)).size).toBe(1)
    })

    it('records the subject of the key as initiator, the meta and the correlation id', async () => {
      const body = { workflow: 'order', meta: { ticket: 'T-1' }, correlation_id: 'c-9' }
      const made = await s.post('/v1/instances', body, await key(s, 'ci', ['enqueue']))
      const shown = await look(made.body.id)
      expect(shown.initiator).toBe('ci')
      expect(shown.meta).toMatchObject({
        ticket: 'T-1',
        correlationId: 'c-9',
        definition: { name: 'order', version: '2.0' },
        trigger: { kind: 'manual' },
      })
      const unverified = await s.post('/v1/instances', { workflow: 'order' }, { 'x-petrel-actor': 'eve' })
      expect((await look(unverified.body.id)).initiator).toBe('eve (unverified)')
    })

    it('start: false leaves it idle: no work is due, no deadline runs', async () => {
      const id = await start({ start: false, input: { order: 3 } })
      const { instance, input, runs } = await look(id)
      expect(instance).toMatchObject({ state: 'idle', started_at: null, deadline_at: null })
      expect([input, runs]).toEqual([{ order: 3 }, []])
      expect(await work(s)).toEqual([])
      const started = await s.post(`/v1/instances/${id}/start`)
      expect([started.status, started.body.instance.state]).toEqual([200, 'running'])
      expect(started.body.instance.deadline_at).not.toBe(null)
      expect(await work(s)).toEqual(['order.pay'])
    })

    it.each([
      ['an unknown field', { workfow: 'order' }, 'workfow'],
      ['a slip in a field', { workflow: 'order', inputs: {} }, 'inputs'],
      ['no workflow', { input: {} }, 'workflow'],
      ['a workflow that is no text', { workflow: 7 }, 'workflow'],
      ['a version that is a number', { workflow: 'order', version: 2 }, 'version'],
      ['an empty start key', { workflow: 'order', start_key: '' }, 'start_key'],
      ['a start key with NUL', { workflow: 'order', start_key: 'a\u0000' }, 'start_key'],
      ['a start key that is too long', { workflow: 'order', start_key: 'k'.repeat(600) }, 'start_key'],
      ['start as a text', { workflow: 'order', start: 'no' }, 'start'],
      ['meta as a text', { workflow: 'order', meta: 'x' }, 'meta'],
      ['a correlation id that is no text', { workflow: 'order', correlation_id: 5 }, 'correlation_id'],
      [
        'two correlation ids',
        { workflow: 'order', correlation_id: 'a', meta: { correlationId: 'b' } },
        'meta.correlationId',
      ],
    ])('%s: 400, and nothing is written', async (_, body, field) => {
      const reply = await unchanged(() => s.post('/v1/instances', body))
      expect(reply.status).toBe(400)
      expect(reply.body.error).toMatchObject({ code: 'invalid_request', details: { field } })
      expect(reply.body.error.hint.length).toBeGreaterThan(5)
    })

    it.each([
      ['no body', undefined, 'invalid_payload'],
      ['no object', [], 'invalid_payload'],
      ['no JSON', '{ workflow: order }', 'invalid_payload'],
    ])('%s: 400', async (_, body, code) => {
      const reply = await unchanged(() => s.ask('POST', '/v1/instances', { body }))
      expect([reply.status, reply.body.error.code]).toEqual([400, code])
    })

    it('every mistake of a body is reported at once', async () => {
      const { body } = await s.post('/v1/instances', { workflow: 1, start: 2, colour: 3 })
      expect(body.error.details.validation_errors.map((e: any) => e.path).sort()).toEqual([
        'colour',
        'start',
        'workflow',
      ])
    })

    it('an unknown workflow or version: 404 with a suggestion', async () => {
      const name = await unchanged(() => s.post('/v1/instances', { workflow: 'ordr' }))
      expect(name.status).toBe(404)
      expect(name.body.error).toMatchObject({
        code: 'not_found',
        message: expect.stringContaining("did you mean 'order'?"),
        details: { resource_type: 'definition', resource_id: 'ordr', did_you_mean: 'order' },
      })
      const version = await unchanged(() => s.post('/v1/instances', { workflow: 'order', version: '3.0' }))
      expect(version.body.error).toMatchObject({
        code: 'not_found',
        details: { version: '3.0', known: ['2.0', '1.0'] },
      })
    })

    it('a body that is too large: 413; an input that cannot be stored: 400', async () => {
      const large = await unchanged(() => s.post('/v1/instances', { workflow: 'order', input: 'x'.repeat(300_000) }))
      expect([large.status, large.body.error.code]).toEqual([413, 'payload_too_large'])
      for (const field of ['input', 'meta']) {
        const nul = await unchanged(() => s.post('/v1/instances', { workflow: 'order', [field]: { a: 'x\u0000' } }))
        expect([field, nul.status, nul.body.error.code]).toEqual([field, 400, 'unstorable'])
      }
    })
  })
})
