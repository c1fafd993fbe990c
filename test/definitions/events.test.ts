import { expect, it } from 'vitest'
import { SLOT } from '../../src/net/slots.ts'
import { dag, deploy, instances, metaOf, onBothStores, publish, recorded, refusal, start } from './stage.ts'

const LISTENS = '{ event: order.created }'
const PICKY = '{ event: order.created, condition: payload.total > 100 }'

async function inputOf(
  { store }: { readonly store: Parameters<typeof metaOf>[0]['store'] },
  instanceId: string,
): Promise<unknown> {
  const [slot] = await store.read.slots({ instanceId, prefix: SLOT.input.prefix })
  return slot === undefined ? null : JSON.parse(slot.value)
}

onBothStores('an event', (stage) => {
  it('starts the latest version of each definition that listens to it, with the payload as input', async () => {
    const process = await stage.open()
    await deploy(process, dag({ name: 'ship', version: '1', trigger: LISTENS }))
    await deploy(process, dag({ name: 'ship', version: '2', trigger: LISTENS, steps: 'pack send' }))
    await deploy(process, dag({ name: 'bill', trigger: LISTENS }))
    await deploy(process, dag({ name: 'other', trigger: '{ event: order.paid }' }))
    const payload = { order: 7, total: 12 }
    const { id, started, passed } = await publish(process, 'order.created', { payload, id: 'ord-7', actor: 'shop' })
    expect(id).toBe('ord-7')
    expect(passed).toEqual([])
    expect(started.map((s) => [s.name, s.version, s.created])).toEqual([
      ['bill', '1', true],
      ['ship', '2', true],
    ])
    for (const { instanceId } of started) {
      expect(await inputOf(process, instanceId)).toEqual(payload)
      expect((await metaOf(process, instanceId))['trigger']).toEqual({
        kind: 'event',
        event: 'order.created',
        event_id: 'ord-7',
      })
    }
    expect(await instances(process, 'other')).toEqual([])
    const [event] = await recorded(process, 'workflow.triggered')
    expect(event?.actor).toBe('shop')
    expect(JSON.parse(event?.data ?? '')).toMatchObject({ event: 'order.created', event_id: 'ord-7' })
  })

  it('a version that dropped the trigger no longer listens, nor does a retired one', async () => {
    const process = await stage.open()
    await deploy(process, dag({ name: 'ship', version: '1', trigger: LISTENS }))
    await deploy(process, dag({ name: 'bill', version: '1', trigger: LISTENS }))
    await deploy(process, dag({ name: 'ship', version: '2' }))
    expect((await publish(process, 'order.created')).started.map((s) => s.name)).toEqual(['bill'])
    await process.catalog.retire({ tenant: null, name: 'bill', version: null, actor: null })
    expect((await refusal(publish(process, 'order.created'))).code).toBe('unknown_event')
    await process.catalog.retire({ tenant: null, name: 'ship', version: '2', actor: null })
    expect((await publish(process, 'order.created')).started.map((s) => [s.name, s.version])).toEqual([['ship', '1']])
  })

  it('the condition can use the payload, its fields and the event', async () => {
    const process = await stage.open()
    const condition = (name: string, text: string) =>
      deploy(process, dag({ name, trigger: `{ event: order.created, condition: "${text}" }` }))
    await condition('by-payload', 'payload.total > 100')
    await condition('by-name', "total > 100 and kind == 'gift'")
    await condition('by-event', "event.type == 'order.created' and event.id == 'e1' and event.payload.total == 120")
    await condition('not', 'total < 100')
    const result = await publish(process, 'order.created', { payload: { total: 120, kind: 'gift' }, id: 'e1' })
    expect(result.started.map((s) => s.name)).toEqual(['by-event', 'by-name', 'by-payload'])
    expect(result.passed).toEqual([{ name: 'not', condition: 'total < 100', why: 'the condition does not hold' }])
  })

  it('a condition that cannot be evaluated counts as false, with the reason, and affects no other definition', async () => {
    const process = await stage.open()
    await deploy(
      process,
      dag({ name: 'a-broken', trigger: '{ event: order.created, condition: "payload.total / 0 > 1" }' }),
    )
    const hungry = '(payload.text * 1000000) | length > 3'
    await deploy(process, dag({ name: 'b-hungry', trigger: `{ event: order.created, condition: "${hungry}" }` }))
    await deploy(process, dag({ name: 'c-fine', trigger: LISTENS }))
    const { started, passed } = await publish(process, 'order.created', { payload: { total: 1, text: 'abcd' } })
    expect(started.map((s) => s.name)).toEqual(['c-fine'])
    expect(passed.map((p) => p.name)).toEqual(['a-broken', 'b-hungry'])
    for (const { why } of passed) expect(why).toMatch(/^the condition cannot be evaluated: ./)
    const [event] = await recorded(process, 'workflow.triggered')
    expect(JSON.parse(event?.data ?? '').passed).toHaveLength(2)
  })

  it('the same id starts one instance however often it is sent; another id starts another', async () => {
    const process = await stage.open()
    await deploy(process, dag({ name: 'ship', trigger: LISTENS }))
    const [first] = (await publish(process, 'order.created', { id: 'e1' })).started
    const [again] = (await publish(process, 'order.created', { id: 'e1' })).started
    expect(again).toEqual({ ...first, created: false })
    expect((await publish(process, 'order.created', { id: 'e2' })).started[0]?.created).toBe(true)
    expect((await publish(process, 'order.created')).started[0]?.created).toBe(true)
    expect(await instances(process, 'ship')).toHaveLength(3)
  })

  it('without listeners: refused with the known events, and nothing is written', async () => {
    const process = await stage.open()
    expect((await refusal(publish(process, 'order.created'))).message).toBe(
      "no definition listens to event 'order.created'; no workflow in service has a trigger with an event",
    )
    await deploy(process, dag({ name: 'ship', trigger: LISTENS }))
    const before = await process.store.read.feed({ afterId: 0, limit: 100 })
    expect(await refusal(publish(process, 'order.craeted'))).toMatchObject({
      code: 'unknown_event',
      details: { event: 'order.craeted', known: ['order.created'], did_you_mean: 'order.created' },
    })
    expect(await process.store.read.feed({ afterId: 0, limit: 100 })).toEqual(before)
  })

  it('reaches only definitions of its tenant, and its id is unique within the tenant', async () => {
    const process = await stage.open()
    for (const tenant of ['red', 'blue', null])
      await deploy(process, dag({ name: 'ship', trigger: LISTENS }), { tenant })
    const ids = new Set<string>()
    for (const tenant of ['red', 'blue', null]) {
      const { started } = await publish(process, 'order.created', { id: 'e1', tenant })
      expect(started).toMatchObject([{ created: true }])
      const id = started[0]?.instanceId ?? ''
      expect((await process.store.read.instance(id))?.tenant).toBe(tenant)
      ids.add(id)
    }
    expect(ids.size).toBe(3)
    expect((await refusal(publish(process, 'order.created', { tenant: 'green' }))).code).toBe('unknown_event')
  })

  it('with an invalid name or id is refused', async () => {
    const process = await stage.open()
    for (const more of [{ type: '' }, { id: '' }, { id: 'x'.repeat(201) }, { type: 'x'.repeat(201) }]) {
      expect((await refusal(publish(process, 'order.created', more))).code).toBe('invalid_request')
    }
    expect((await refusal(publish(process, 'order\u0000created'))).code).toBe('unstorable')
  })

  it('a definition that cannot be started does not prevent others from starting', async () => {
    const process = await stage.open()
    await deploy(process, dag({ name: 'a-lost', trigger: LISTENS }))
    await deploy(process, dag({ name: 'b-fine', trigger: LISTENS, steps: 'x y' }))
    await stage.sql("DELETE FROM workflow_net WHERE name = 'a-lost'")
    const { started, passed } = await publish(await stage.open(), 'order.created', { id: 'e1' })
    expect(started.map((s) => s.name)).toEqual(['b-fine'])
    expect(passed).toMatchObject([{ name: 'a-lost', condition: null }])
    await deploy(process, dag({ name: 'a-lost', trigger: LISTENS }))
    const again = await publish(process, 'order.created', { id: 'e1' })
    expect(again.started.map((s) => [s.name, s.created])).toEqual([
      ['a-lost', true],
      ['b-fine', false],
    ])
  })
})

onBothStores('idle instances and an event', (stage) => {
  it('the idle instances of a definition start, with their own input; a new one is created only if there are none', async () => {
    const process = await stage.open()
    await deploy(process, dag({ name: 'ship', version: '1', trigger: PICKY }))
    const idle = []
    for (const n of [1, 2, 3]) idle.push((await start(process, 'ship', { input: { n }, start: false })).id)
    await deploy(process, dag({ name: 'ship', version: '2', trigger: PICKY, steps: 'a b' }))
    expect((await publish(process, 'order.created', { payload: { total: 1 } })).passed).toHaveLength(1)
    expect((await instances(process, 'ship')).map((i) => i.state)).toEqual(['idle', 'idle', 'idle'])
    const payload = { total: 101 }
    const { started } = await publish(process, 'order.created', { payload, id: 'e1', actor: 'shop' })
    expect(started).toEqual(idle.map((instanceId) => ({ name: 'ship', version: '1', instanceId, created: true })))
    for (const [at, id] of idle.entries()) {
      expect((await process.store.read.instance(id))?.state).toBe('running')
      expect(await inputOf(process, id)).toEqual({ n: at + 1 })
      expect(await metaOf(process, id)).toMatchObject({
        definition: { version: '1' },
        trigger: { kind: 'event', event: 'order.created', event_id: 'e1' },
      })
    }
    const again = await publish(process, 'order.created', { payload, id: 'e1' })
    expect(again.started.map((s) => s.created)).toEqual([false])
    expect(await instances(process, 'ship')).toHaveLength(3)
    expect((await publish(process, 'order.created', { payload })).started).toMatchObject([
      { version: '2', created: true },
    ])
    expect(await instances(process, 'ship')).toHaveLength(4)
  })

  it('those of other tenants and other definitions stay idle', async () => {
    const process = await stage.open()
    for (const tenant of ['red', null]) await deploy(process, dag({ name: 'ship', trigger: LISTENS }), { tenant })
    await deploy(process, dag({ name: 'bill' }))
    const red = await start(process, 'ship', { tenant: 'red', start: false })
    const bill = await start(process, 'bill', { start: false })
    const { started } = await publish(process, 'order.created')
    expect(started.map((s) => s.instanceId)).not.toContain(red.id)
    for (const { id } of [red, bill]) expect((await process.store.read.instance(id))?.state).toBe('idle')
  })

  it('more instances than fit into one transaction all start', async () => {
    const process = await stage.open()
    const { row } = await deploy(process, dag({ name: 'ship', trigger: LISTENS }))
    const net = JSON.parse((await process.store.read.net(row.netHash))?.net ?? '')
    await process.engine.start(Array.from({ length: 450 }, () => ({ net, start: false })))
    const { started } = await publish(process, 'order.created', { id: 'e1' })
    expect(new Set(started.map((s) => s.instanceId)).size).toBe(450)
    expect(new Set((await instances(process, 'ship')).map((i) => i.state))).toEqual(new Set(['running']))
    expect((await publish(process, 'order.created', { id: 'e1' })).started).toMatchObject([{ created: false }])
    expect(await process.store.read.countInstances()).toEqual(new Map([['running', 450]]))
  })

  it('those beyond the concurrency limit of their workflow are queued', async () => {
    const process = await stage.open()
    await deploy(process, dag({ name: 'ship', trigger: LISTENS, spec: 'maxConcurrent: 1' }))
    await start(process, 'ship', { start: false })
    await start(process, 'ship', { start: false })
    await publish(process, 'order.created')
    expect((await instances(process, 'ship')).map((i) => i.state).sort()).toEqual(['queued', 'running'])
  })
})
