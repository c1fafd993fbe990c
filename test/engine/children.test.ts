/** The results that a nested workflow gives to later nodes. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { netHash } from '../../src/kernel/hash.ts'
import type { ChildWork, Net } from '../../src/net/net.ts'
import { Drive, net, node, PLACES, run } from './drive.ts'

describe.each(PLACES)('nested workflows on $name', (place) => {
  let d: Drive
  beforeEach(async () => {
    d = await Drive.open(place)
  })
  afterEach(async () => {
    expect(await d.doctor()).toEqual([])
    await d.close()
  })

  const child = (inner: Net, rest: Partial<ChildWork> = {}): ChildWork => {
    return { kind: 'child', net: netHash(inner), mode: 'attached', input: null, ...rest }
  }
  const inner = net([node('x', ['y']), node('y')], { name: 'inner' })

  const around = async (returns: string, results: { x: any; y: any }): Promise<unknown[]> => {
    const outer = net([
      node('sub', ['z'], { work: child(inner, { returns }) }),
      node('z', [], { work: run('z', { args: '{{ sub }}' }) }),
    ])
    const id = await d.start({ net: outer, nets: [inner] })
    let given: unknown
    await d.work((w) => {
      if (w.node === 'z') given = JSON.parse(w.payload)
      return results[w.node as 'x'] ?? null
    })
    return [given, (await d.results(id)).sub]
  }

  it('its result is merged over the results of its nodes', async () => {
    const map = { x: 1, y: { total: 5, x: 'over' } }
    for (const seen of await around('y', map)) expect(seen).toEqual({ x: 'over', y: map.y, total: 5 })
    for (const seen of await around('x', { x: [1, 2], y: 0 })) expect(seen).toEqual({ x: [1, 2], y: 0, result: [1, 2] })
    for (const seen of await around('nobody', { x: 1, y: 2 })) expect(seen).toEqual({ x: 1, y: 2, result: null })
  })

  it('a list inside it returns its collected results', async () => {
    const listing = net(
      [
        node('l', [], {
          work: {
            kind: 'each',
            items: '[1, 2]',
            body: run('item', { args: '{{ item }}' }),
            maxInFlight: 1,
            failFast: false,
            collect: 'list',
          },
        }),
      ],
      { name: 'listing' },
    )
    const outer = net([
      node('sub', ['z'], { work: child(listing) }),
      node('z', [], { work: run('z', { args: '{{ sub.l }}' }) }),
    ])
    const id = await d.start({ net: outer, nets: [listing] })
    let given: unknown
    await d.work((w) => {
      if (w.node === 'z') given = JSON.parse(w.payload)
      return w.node === 'l' ? `did ${w.payload}` : null
    })
    const all = { results: ['did 1', 'did 2'], stats: { total: 2, success: 2, failed: 0 } }
    expect(given).toEqual(all)
    expect((await d.results(id)).sub).toEqual({ l: all })
  })

  it('the id of a detached one is available at once', async () => {
    const outer = net([
      node('go', ['z'], { work: child(inner, { mode: 'detached' }), set: { at: '{{ event.result.status }}' } }),
      node('z', [], { work: run('z', { args: { id: '{{ go.execution_id }}', at: '{{ ctx.at }}' } }) }),
    ])
    const id = await d.start({ net: outer, nets: [inner] })
    const runs = await d.claim()
    const z = runs.find((w) => w.node === 'z')
    const { id: started, at } = JSON.parse(z?.payload as string)
    expect([at, started]).toEqual(['started', runs.find((w) => w.node === 'x')?.instanceId])
    expect(await d.results(id)).toMatchObject({ go: { status: 'started', execution_id: started } })
    expect(await d.store.read.instance(started)).toMatchObject({ name: 'inner', rootId: started })
    await d.engine.cancelInstance({ id, actor: null })
    await d.engine.cancelInstance({ id: started, actor: null })
  })
})
