import { expect, it } from 'vitest'
import type { InstanceRow } from '../../src/model/rows.ts'
import type { Store } from '../../src/store/store.ts'
import { net, node, run } from '../engine/drive.ts'
import { aCommand, aDeferred } from './commands.ts'
import { anEvent, anInstance, aStep, T0 } from './rows.ts'
import { put } from './subject.ts'
import type { Current } from './suite.ts'

const step = (key: string, to: readonly string[], undo: string | null) =>
  node(key, to, {
    work: run('saga.template', { program: { subject: `shop.v1.${key}.do` } }),
    undo:
      undo === null ? null : { work: run('saga.template', { program: { subject: undo } }), retry: null, timeout: null },
  })

/** A pass node in between: it has no work, so it is not a step. */
const NET = net(
  [
    step('reserve', ['join'], 'shop.v1.reserve.undo'),
    node('join', ['pay'], { work: { kind: 'pass' } }),
    step('pay', [], null),
  ],
  { name: 'order', dialect: 'saga' },
)

const NETS = [{ hash: 'saga-1', name: 'order', dialect: 'saga', net: JSON.stringify(NET) }]

const aSaga = (given: Partial<InstanceRow> = {}): InstanceRow =>
  anInstance({ dialect: 'saga', netHash: 'saga-1', name: 'order', ...given })

export function sagaTopic(current: Current): void {
  const columns = async (view: string): Promise<string[]> => {
    const { store, sql } = current()
    const rows = await sql(
      store.kind === 'postgres'
        ? `SELECT column_name AS name FROM information_schema.columns
           WHERE table_schema = 'saga' AND table_name = '${view}' ORDER BY ordinal_position`
        : `SELECT name FROM pragma_table_info('saga_${view}')`,
    )
    return rows.map(({ name }) => name as string)
  }

  it('are shown under the names of the audit tables', async () => {
    expect((await columns('workflow_instance')).join(' ')).toBe(
      'id tenant_id type state request_json result_json error correlation_id created_by current_step_index step_count ' +
        'completed_at last_event_at created_at',
    )
    expect((await columns('workflow_step')).join(' ')).toBe(
      'id workflow_id step_index name state request_json response_json error command_subject command_json ' +
        'command_published_at idempotency_key compensation_subject compensation_json started_at completed_at created_at',
    )
  })

  it('show the request, its author, and their progress', async () => {
    const { store } = current()
    const saga = aSaga({ tenant: 'acme', succeeded: 1, eventSeq: 2 })
    const about = { initiator: 'ada', meta: { correlationId: 'c-1' } }
    await put(store, {
      nets: NETS,
      instances: { insert: [saga, anInstance({ id: saga.id.replace(/^./, 'f') })] },
      slots: {
        put: [
          { instanceId: saga.id, key: 'in', value: '{"item":7}' },
          { instanceId: saga.id, key: 'm', value: JSON.stringify(about) },
        ],
      },
      events: [
        anEvent({ type: 'instance.created', instanceId: saga.id, seq: 1 }),
        anEvent({ type: 'instance.started', instanceId: saga.id, seq: 2, at: T0 + 5_000 }),
      ],
    })
    const row = await store.read.sagas.get(saga.id)
    expect({ ...row, requestJson: JSON.parse(row?.requestJson ?? 'null') }).toEqual({
      id: saga.id,
      tenantId: 'acme',
      type: 'order',
      state: 'in_progress',
      requestJson: { item: 7 },
      resultJson: null,
      error: null,
      correlationId: 'c-1',
      createdBy: 'ada',
      currentStepIndex: 1,
      stepCount: 2,
      completedAt: null,
      lastEventAt: T0 + 5_000,
      createdAt: T0,
    })
    expect(await store.read.sagas.get(saga.id.replace(/^./, 'f'))).toBeNull()
    expect(await store.read.sagas.get('no id')).toBeNull()
  })

  it.each([
    ['idle', 'forward', 'in_progress'],
    ['queued', 'forward', 'in_progress'],
    ['running', 'forward', 'in_progress'],
    ['waiting', 'forward', 'in_progress'],
    ['cancelling', 'drain', 'in_progress'],
    ['compensating', 'undo', 'compensating'],
    ['completed', 'ended', 'completed'],
    ['failed', 'ended', 'failed'],
    ['cancelled', 'ended', 'failed'],
    ['compensated', 'ended', 'compensated'],
  ] as const)('that are %s (%s) are %s, with an end only if they have ended', async (state, phase, shown) => {
    const { store } = current()
    const endedAt = phase === 'ended' ? T0 + 1_000 : null
    await put(store, { nets: NETS, instances: { insert: [aSaga({ state, phase, endedAt })] } })
    const rows = await store.read.sagas.list({ tenant: null, state: shown, type: null, limit: 10, before: null })
    expect(rows).toMatchObject([{ state: shown, completedAt: endedAt }])
    const others = (['in_progress', 'compensating', 'completed', 'failed', 'compensated'] as const).map((other) =>
      store.read.sagas.list({ tenant: null, state: other, type: null, limit: 10, before: null }),
    )
    expect((await Promise.all(others)).flat()).toHaveLength(1)
  })

  it('show the results of their steps when completed, and both errors when an undo failed', async () => {
    const { store } = current()
    const done = { status: 'succeeded', settledAt: T0, finishedAt: T0 } as const
    const completed = aSaga({ state: 'completed', phase: 'ended', endedAt: T0 })
    const failed = aSaga({ state: 'failed', phase: 'ended', endedAt: T0 })
    const undone = aSaga({ state: 'compensated', phase: 'ended', endedAt: T0 })
    const slot = (saga: InstanceRow, key: string, message: string) => ({
      instanceId: saga.id,
      key,
      value: JSON.stringify({ code: 'x', message }),
    })
    await put(store, {
      nets: NETS,
      instances: { insert: [completed, failed, undone] },
      runs: { insert: [aStep(completed, 'reserve', { ...done, result: '{"n":1}' }), aStep(completed, 'pay', done)] },
      slots: { put: [slot(failed, 'e', 'no money'), slot(failed, 'eu', 'shop closed'), slot(undone, 'e', 'no money')] },
    })
    expect(JSON.parse((await store.read.sagas.get(completed.id))?.resultJson ?? '0')).toEqual({
      reserve: { n: 1 },
      pay: null,
    })
    expect(await store.read.sagas.get(failed.id)).toMatchObject({
      error: 'no money; undo: shop closed',
      resultJson: null,
    })
    expect(await store.read.sagas.get(undone.id)).toMatchObject({ error: 'no money' })
  })

  it('show their steps with commands, and undos at −(number + 1)', async () => {
    const { store } = current()
    const saga = aSaga({ state: 'compensating', phase: 'undo' })
    const failed = { status: 'failed', settledAt: T0, finishedAt: T0 + 2_000, lastError: 'no money' } as const
    const runs = {
      reserve: aStep(saga, 'reserve', {
        status: 'succeeded',
        epoch: 2,
        startedAt: T0,
        settledAt: T0,
        finishedAt: T0 + 1_000,
        result: '{"id": 7}',
      }),
      pay: aStep(saga, 'pay', { ...failed, epoch: 2, startedAt: T0 + 1_000, createdAt: T0 + 1_000 }),
      undo: aDeferred(saga, 'reserve', { role: 'undo', createdAt: T0 + 2_000 }),
    }
    const { reserve, pay, undo } = runs
    await put(store, {
      nets: NETS,
      instances: { insert: [saga] },
      runs: { insert: [undo, pay, reserve] },
      commands: { put: [aCommand(reserve), aCommand(undo, { subject: 'shop.v1.reserve.undo', body: '{"id": 7}' })] },
    })
    await store.commands.confirm({ runIds: [reserve.id] })
    const steps = await store.read.sagas.steps(saga.id)
    expect(steps.map((row) => [row.stepIndex, row.name, row.state])).toEqual([
      [0, 'reserve', 'completed'],
      [1, 'pay', 'failed'],
      [-1, 'reserve', 'in_progress'],
    ])
    const [forward, unsent, back] = steps
    expect({ ...forward, ...parsed(forward) }).toEqual({
      id: reserve.id,
      workflowId: saga.id,
      stepIndex: 0,
      name: 'reserve',
      state: 'completed',
      requestJson: { step: 'reserve' },
      responseJson: { id: 7 },
      error: null,
      commandSubject: 'shop.v1.reserve.do',
      commandJson: '{"step": "reserve"}',
      commandPublishedAt: expect.any(Number),
      idempotencyKey: reserve.id,
      compensationSubject: 'shop.v1.reserve.undo',
      compensationJson: '{"id": 7}',
      startedAt: T0,
      completedAt: T0 + 1_000,
      createdAt: T0,
    })
    // Never sent: its subject is known, its command is not.
    expect(unsent).toMatchObject({
      error: 'no money',
      commandSubject: 'shop.v1.pay.do',
      commandJson: '',
      requestJson: null,
      commandPublishedAt: null,
      compensationSubject: '',
      compensationJson: '',
    })
    expect(back).toMatchObject({
      id: undo.id,
      commandSubject: 'shop.v1.reserve.undo',
      commandJson: '{"id": 7}',
      compensationSubject: 'shop.v1.reserve.undo',
      compensationJson: '{"id": 7}',
      completedAt: null,
    })
    expect(await store.read.sagas.steps('no id')).toEqual([])
  })

  it('are listed by tenant, state and type, newest first, page by page; other and nested workflows are not', async () => {
    const { store } = current()
    const all = [
      aSaga({ tenant: 'acme' }),
      aSaga({ tenant: 'acme', name: 'refund' }),
      aSaga({ state: 'failed', phase: 'ended', endedAt: T0 }),
    ].sort((a, b) => (a.id < b.id ? 1 : -1))
    const [newest] = all as [InstanceRow]
    await put(store, {
      nets: NETS,
      instances: { insert: [...all, anInstance(), aSaga({ rootId: newest.id, parentId: newest.id, parentNode: 'x' })] },
    })
    const ids = async (given: Partial<Parameters<Store['read']['sagas']['list']>[0]>): Promise<string[]> =>
      (await store.read.sagas.list({ tenant: null, state: null, type: null, limit: 10, before: null, ...given })).map(
        (row) => row.id,
      )
    const where = (wanted: (row: InstanceRow) => boolean): string[] => all.filter(wanted).map((row) => row.id)
    expect(await ids({})).toEqual(where(() => true))
    expect(await ids({ tenant: 'acme' })).toEqual(where((row) => row.tenant === 'acme'))
    expect(await ids({ state: 'in_progress' })).toEqual(where((row) => row.state === 'running'))
    expect(await ids({ type: 'refund' })).toEqual(where((row) => row.name === 'refund'))
    expect(await ids({ limit: 1, before: newest.id })).toEqual([all[1]?.id])
  })
}

function parsed(row: { readonly requestJson: string | null; readonly responseJson: string | null } | undefined) {
  const read = (text: string | null | undefined): unknown => (text == null ? null : JSON.parse(text))
  return { requestJson: read(row?.requestJson), responseJson: read(row?.responseJson) }
}
