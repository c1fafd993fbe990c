/** Incoming starts: answered if a reply is requested, and executed once however often they arrive. */
import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { onBothStores } from '../sdk/stores.ts'
import { natsUrl } from '../services.ts'
import { deploy, onRoad, PAIR, reaches, refused, until } from './stage.ts'

const CHAIN = JSON.stringify({ type: 'chain', name: 'plain', steps: [{ type: 'a.b', args: [] }] })

describe.skipIf(natsUrl() === null)('workflow.v1.start', () => {
  onBothStores('start', (stage) => {
    const road = onRoad(stage)

    it('starts a saga and replies with its id', async () => {
      const { engine } = await road.ready()
      await deploy(engine, PAIR)
      const answer = await road.start({
        type: 'pair',
        request_json: '{"what":"bowl"}',
        correlation_id: 'order 7',
        tenant_id: 'acme',
        created_by: 'ada',
      })
      expect(answer).toEqual({ ok: true, instance_id: expect.any(String), created: true })
      expect(await engine.queries.sagas.get(answer.instance_id)).toMatchObject({
        type: 'pair',
        state: 'in_progress',
        correlationId: 'order 7',
        tenantId: 'acme',
        createdBy: 'ada',
      })
      const command = await until(() => road.seen[0])
      expect(command).toMatchObject({ instanceId: answer.instance_id, tenant: 'acme', body: { what: 'bowl' } })
    })

    it('accepts a request that is an object, a version by name, and no reply subject', async () => {
      const { engine } = await road.ready()
      await deploy(engine, PAIR)
      await deploy(
        engine,
        PAIR.replace('version: 1', 'version: 2').replace('alpha.v1.things.make', 'alpha.v1.things.form'),
      )
      const id = randomUUID()
      const body = { type: 'pair', version: '1', request_json: { what: 'jug' }, instance_id: id }
      road.nc.publish(road.names.start, JSON.stringify(body))
      const command = await until(() => road.seen[0])
      expect(command).toMatchObject({ instanceId: id, subject: 'alpha.v1.things.make', body: { what: 'jug' } })
      expect(await road.start({ type: 'pair' })).toMatchObject({ ok: true })
      await until(() => road.seen.some(({ subject }) => subject === 'alpha.v1.things.form'))
    })

    it('starts an instance once, however often its id arrives', async () => {
      const { engine } = await road.ready()
      await road.ready()
      await deploy(engine, PAIR)
      const id = randomUUID()
      const start = { type: 'pair', request_json: '{}', instance_id: id }
      const answers = await Promise.all(Array.from({ length: 8 }, () => road.start(start)))
      expect(answers.every(({ ok, instance_id }) => ok && instance_id === id)).toBe(true)
      expect(answers.filter(({ created }) => created)).toHaveLength(1)
      expect(await road.start({ ...start, instance_id: id.toUpperCase() })).toMatchObject({ ok: true, created: false })
      await road.settled()
      expect(
        await engine.queries.sagas.list({ tenant: null, state: null, type: null, limit: 10, before: null }),
      ).toHaveLength(1)
      expect(await refused(engine)).toEqual([])
      await until(() => road.seen.length === 1)
    })

    it('refuses an id that is used by something else', async () => {
      const { engine } = await road.ready()
      await deploy(engine, PAIR)
      await deploy(engine, PAIR.replace('name: pair', 'name: other'))
      const id = randomUUID()
      expect(await road.start({ type: 'other', instance_id: id })).toMatchObject({ ok: true })
      const answer = await road.start({ type: 'pair', instance_id: id })
      expect(answer).toMatchObject({ ok: false, error: { code: 'duplicate' } })
    })

    it('refuses invalid starts with the reason, keeps them, and continues', async () => {
      const { engine } = await road.ready()
      await deploy(engine, PAIR)
      await deploy(engine, CHAIN)
      const bad: readonly [string, string, object | string][] = [
        ['not_found', "did you mean 'pair'", { type: 'pairs' }],
        ['not_found', "version '9'", { type: 'pair', version: '9' }],
        ['invalid_request', 'not as a saga', { type: 'plain' }],
        ['invalid_json', 'not JSON', '{"type":"pair"'],
        ['invalid_json', 'request_json is not JSON', { type: 'pair', request_json: '{what: 1}' }],
        ['invalid_message', 'type is missing', {}],
        ['invalid_message', 'type is empty', { type: '' }],
        ['invalid_message', 'type is a number', { type: 7 }],
        ['invalid_message', 'instance_id is not a UUID', { type: 'pair', instance_id: 'seven' }],
        ['invalid_message', 'tenant_id is a list', { type: 'pair', tenant_id: [] }],
        ['invalid_message', 'created_by is not text', { type: 'pair', created_by: 'a\u0000b' }],
      ]
      for (const [code, message, body] of bad) {
        const answer = await road.start(body)
        expect(answer).toEqual({ ok: false, error: { code, message: expect.stringContaining(message) } })
      }
      expect(await road.start({ type: 'pair' })).toMatchObject({ ok: true })
      await road.settled()
      const rows = await refused(engine)
      expect(rows.map(({ code }) => code).reverse()).toEqual(bad.map(([code]) => code))
      expect(rows.every(({ subject }) => subject === road.names.start)).toBe(true)
    })

    it('waits for an engine: a request sent while there was none is started by the next', async () => {
      const first = await road.ready()
      await deploy(first.engine, PAIR)
      await first.close()
      const id = randomUUID()
      road.nc.publish(road.names.start, JSON.stringify({ type: 'pair', instance_id: id }))
      await road.nc.flush()
      const { engine } = await road.ready()
      await until(async () => (await engine.queries.sagas.get(id)) !== null)
      await reaches(engine, [id], 'in_progress')
    })
  })
})
