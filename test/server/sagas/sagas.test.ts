/** /v1/sagas: lists, one saga with its steps, resume and cancel; and the rejected messages. */

import { afterAll, beforeAll, expect, it } from 'vitest'
import { petrelOn } from '../../../src/client/petrel.ts'
import type { Petrel } from '../../../src/index.ts'
import type { CommandRow } from '../../../src/model/commands.ts'
import { deploy, key, MISSING } from '../native/stage.ts'
import { onBothStores, type Serving, until } from '../serving.ts'

const SAGA = (name: string, onFailure: string) => `apiVersion: petrel.dev/v1
kind: Saga
metadata: { name: ${name} }
spec:
  onFailure: ${onFailure}
  steps:
    - name: reserve
      command: { subject: shop.v1.orders.reserve, body: { item: '{{ request.item }}' } }
      compensation: { subject: shop.v1.orders.release, body: { id: '{{ result.id }}' } }
    - name: charge
      command: { subject: pay.v1.cards.charge }
`

onBothStores('sagas on the server', (stage) => {
  let s: Serving
  let petrel: Petrel
  beforeAll(async () => {
    s = await stage.serve()
    petrel = petrelOn(s.engine)
    await petrel.saga()
    await petrel.work()
    for (const onFailure of ['compensate', 'stop'])
      expect((await deploy(s, SAGA(onFailure, onFailure))).status).toBe(201)
  }, 60_000)
  afterAll(() => petrel.close({ graceMs: 0 }))

  const start = async (workflow: string, more: object = {}): Promise<string> => {
    const { status, body } = await s.post('/v1/instances', { workflow, input: { item: 'lamp' }, ...more })
    expect([status, body.error]).toEqual([201, undefined])
    return body.id
  }
  /** The next command to be published; this test replies as its service. */
  const command = async (): Promise<CommandRow> => {
    const take = () => s.engine.commands.take({ limit: 1, holdMs: 600_000 })
    const [row] = await until(take, (rows) => rows.length === 1, 10_000)
    await s.engine.commands.confirm({ runIds: [(row as CommandRow).runId] })
    return row as CommandRow
  }
  const shown = async (id: string) => (await s.get(`/v1/sagas/${id}`)).body

  it('shows a saga and its steps from the first command to the last reply', async () => {
    const id = await start('compensate', { correlation_id: 'c-9' })
    const reserve = await command()
    const under = await shown(id)
    expect(under.saga).toMatchObject({
      id,
      type: 'compensate',
      state: 'in_progress',
      request: { item: 'lamp' },
      result: null,
      correlation_id: 'c-9',
      current_step_index: 0,
      step_count: 2,
      completed_at: null,
    })
    expect(under.steps).toMatchObject([
      {
        id: reserve.runId,
        step_index: 0,
        name: 'reserve',
        state: 'in_progress',
        command_subject: 'shop.v1.orders.reserve',
        command: { item: 'lamp' },
        command_published_at: expect.any(String),
        idempotency_key: reserve.runId,
        response: null,
        compensation_subject: 'shop.v1.orders.release',
        compensation: null,
      },
    ])
    await petrel.complete(reserve.runId, { id: 'r1' })
    await petrel.complete((await command()).runId, { paid: true })
    await petrel.instance(id).result()
    const { saga, steps } = await shown(id)
    expect(saga).toMatchObject({
      state: 'completed',
      result: { reserve: { id: 'r1' }, charge: { paid: true } },
      current_step_index: 2,
      completed_at: expect.any(String),
    })
    expect(steps.map((step: any) => [step.step_index, step.state, step.response])).toEqual([
      [0, 'completed', { id: 'r1' }],
      [1, 'completed', { paid: true }],
    ])
  })

  it('retry continues where a saga stopped, under the same step id; a running or undone one is refused', async () => {
    const id = await start('stop')
    await petrel.complete((await command()).runId, {})
    expect((await s.post(`/v1/sagas/${id}/retry`, {})).status).toBe(409)
    const charge = await command()
    await petrel.fail(charge.runId, { code: 'step_failed', message: 'no money' })
    expect((await shown(id)).saga).toMatchObject({ state: 'failed', error: expect.stringContaining('no money') })
    const { status, body } = await s.post(`/v1/sagas/${id}/retry`, {})
    expect([status, body.saga.state]).toEqual([200, 'in_progress'])
    const again = await command()
    expect(again.runId).toBe(charge.runId)
    await petrel.complete(again.runId, {})
    await petrel.instance(id).result()
    expect((await s.post(`/v1/sagas/${id}/retry`, {})).body.error).toMatchObject({ code: 'conflict' })
    expect((await s.post(`/v1/sagas/${id}/cancel`, {})).status).toBe(409)
  })

  it('a rollback that stopped names the steps it did not undo; retry continues it, and a new instance lists it', async () => {
    const id = await start('compensate')
    const reserve = await command()
    await petrel.complete(reserve.runId, { id: 'r3' })
    await petrel.fail((await command()).runId, { code: 'step_failed', message: 'no money' })
    const undo = await command()
    await petrel.fail(undo.runId, { code: 'stuck', message: 'the goods are gone' })
    const open = [{ step_id: reserve.runId, step_index: 0, name: 'reserve', reason: 'undo_failed' }]
    expect(await shown(id)).toMatchObject({ saga: { state: 'failed' }, open_effects: open })
    const { status, body } = await s.post(`/v1/sagas/${id}/retry`, {})
    expect([status, body.saga.id, body.saga.state, body.open_effects]).toEqual([200, id, 'compensating', []])
    const again = await command()
    expect(again.runId).toBe(undo.runId)
    await petrel.fail(again.runId, { code: 'stuck', message: 'still gone' })
    const retried = await s.post(`/v1/instances/${id}/retry`, {})
    expect([retried.status, retried.body.retry_of, retried.body.not_undone]).toEqual([201, id, open])
    expect((await shown(retried.body.id)).open_effects).toEqual([])
    for (const subject of ['shop.v1.orders.reserve', 'pay.v1.cards.charge']) {
      const next = await command()
      expect([next.instanceId, next.subject]).toEqual([retried.body.id, subject])
      await petrel.complete(next.runId, {})
    }
    expect((await shown(retried.body.id)).saga.state).toBe('completed')
  })

  it.each([['sagas'], ['instances']])(
    'cancel by /v1/%s awaits steps in flight, and undoes completed ones',
    async (by) => {
      const id = await start('compensate')
      await petrel.complete((await command()).runId, { id: 'r2' })
      const charge = await command()
      expect((await s.post(`/v1/${by}/${id}/cancel`, {})).status).toBe(200)
      expect((await shown(id)).saga.state).toBe('compensating')
      await petrel.complete(charge.runId, {})
      const undo = await command()
      expect([undo.role, undo.body]).toEqual(['undo', '{"id":"r2"}'])
      await petrel.complete(undo.runId)
      const { saga, steps } = await shown(id)
      expect(saga).toMatchObject({ state: 'compensated', error: 'cancelled before it ended' })
      expect(steps.at(-1)).toMatchObject({
        step_index: -1,
        name: 'reserve',
        state: 'completed',
        compensation: { id: 'r2' },
      })
    },
  )

  it('lists them by state and type, page by page, and only those of the caller', async () => {
    const mine = await start('compensate')
    await command()
    const { body } = await s.get('/v1/sagas?state=in_progress&type=compensate')
    expect(body.sagas.map((saga: any) => saga.id)).toEqual([mine])
    const first = (await s.get('/v1/sagas?limit=1')).body
    expect(first.sagas).toHaveLength(1)
    const second = (await s.get(`/v1/sagas?limit=1&before=${first.next_before}`)).body
    expect(second.sagas[0].id).not.toBe(first.sagas[0].id)
    const headers = await key(s, 'other', ['read', 'enqueue'], 'acme')
    expect((await s.get('/v1/sagas', headers)).body.sagas).toEqual([])
    expect((await s.get(`/v1/sagas/${mine}`, headers)).status).toBe(404)
    expect((await s.ask('POST', `/v1/sagas/${mine}/cancel`, { headers })).status).toBe(404)
    expect((await s.get('/v1/refused-messages', headers)).status).toBe(403)
  })

  it('reports mistakes in a request', async () => {
    for (const path of ['?state=running', '?limit=0', '?before=x', '?colour=red']) {
      expect((await s.get(`/v1/sagas${path}`)).body.error).toMatchObject({ code: 'invalid_request' })
    }
    expect((await s.get(`/v1/sagas/${MISSING}`)).body.error.code).toBe('not_found')
    expect((await s.get('/v1/sagas/17')).body.error.message).toContain('17')
    expect((await s.post(`/v1/sagas/${MISSING}/retry`, {})).status).toBe(404)
    expect((await s.post(`/v1/sagas/${MISSING}/cancel`, { now: true })).status).toBe(400)
  })

  it('shows the rejected messages, newest first', async () => {
    for (const code of ['invalid_json', 'not_found']) {
      const about = { instanceId: null, stepId: 'x', body: '{"a"' }
      await s.engine.commands.refused.note({ subject: 'workflow.v1.start', code, message: 'why', ...about })
    }
    const { body } = await s.get('/v1/refused-messages?limit=1')
    expect(body.messages).toMatchObject([{ code: 'not_found', message: 'why', step_id: 'x', body: '{"a"' }])
    const rest = (await s.get(`/v1/refused-messages?before=${body.next_before}`)).body
    expect(rest.messages.map((message: any) => message.code)).toEqual(['invalid_json'])
  })
})
