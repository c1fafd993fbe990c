/** A retry with another input, and with a key. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { SLOT } from '../../src/net/slots.ts'
import { type Drive, net, node, ONCE, PLACES } from './drive.ts'
import { open } from './specifications/stage.ts'

describe.each(PLACES)('a retry with another input on $name', (place) => {
  let d: Drive
  beforeEach(async () => {
    d = await open(place)
  })
  afterEach(async () => {
    expect(await d.doctor()).toEqual([])
    await d.close()
  })

  const three = net([node('a', ['b']), node('b', ['c'], { retry: ONCE }), node('c')])

  it('continues after the completed work, with the new input', async () => {
    const id = await d.start({ net: three, input: { amount: 'ten' } })
    await d.succeed(await d.claimOne(), 'A')
    await d.fail(await d.claimOne())
    const again = await d.engine.retryInstance({ id, actor: 'ada', input: { amount: 10 } })
    const input = async (of: string) => d.store.read.slots({ instanceId: of, prefix: SLOT.input.prefix })
    expect(await input(again.id)).toMatchObject([{ value: '{"amount":10}' }])
    expect(await input(id)).toMatchObject([{ value: '{"amount":"ten"}' }])
    expect(await d.work((w) => w.node)).toEqual(['b', 'c'])
    expect(await d.results(again.id)).toEqual({ a: 'A', b: 'b', c: 'c' })
    const recorded = await d.store.read.instanceEvents({ instanceId: again.id, afterSeq: 0, limit: 10 })
    const retries = recorded.find((event) => event.type === 'instance.retries')
    expect(JSON.parse(retries?.data as string)).toEqual({ retry_of: id, actor: 'ada', input_edited: true })
  })

  it('null is an input like any other; without one, the old input stays', async () => {
    const id = await d.start({ net: three, input: { amount: 1 } })
    await d.engine.cancelInstance({ id, actor: null })
    const input = async (of: string) => d.store.read.slots({ instanceId: of, prefix: SLOT.input.prefix })
    const same = await d.engine.retryInstance({ id, actor: null })
    expect(await input(same.id)).toMatchObject([{ value: '{"amount":1}' }])
    const none = await d.engine.retryInstance({ id, actor: null, input: null })
    expect(await input(none.id)).toEqual([])
    await d.work()
  })

  it('with one key there is one retry, however often and from wherever it is requested', async () => {
    const id = await d.start({ net: three })
    await d.engine.cancelInstance({ id, actor: null })
    const ask = () => d.engine.retryInstance({ id, actor: null, startKey: 'again:1' })
    const made = await Promise.all([ask(), ask(), ask()])
    expect(new Set(made.map((m) => m.id)).size).toBe(1)
    expect(made.filter((m) => m.created)).toHaveLength(1)
    expect(await ask()).toEqual({ id: made[0]?.id, created: false })
    const other = await d.start({ net: three })
    await d.engine.cancelInstance({ id: other, actor: null })
    const taken = d.engine.retryInstance({ id: other, actor: null, startKey: 'again:1' })
    await expect(taken).rejects.toMatchObject({ code: 'duplicate' })
    const rows = await d.store.read.listInstances({
      states: null,
      name: null,
      dialect: null,
      tenant: null,
      rootsOnly: true,
      limit: 10,
      before: null,
    })
    expect(rows).toHaveLength(3)
  })

  it('an input that cannot be stored is refused, and nothing starts', async () => {
    const id = await d.start({ net: three })
    await d.engine.cancelInstance({ id, actor: null })
    await expect(d.engine.retryInstance({ id, actor: null, input: { bad: 'a\u0000b' } })).rejects.toMatchObject({
      message: expect.stringContaining('input'),
    })
    expect((await d.store.read.countInstances()).get('running') ?? 0).toBe(0)
  })
})
