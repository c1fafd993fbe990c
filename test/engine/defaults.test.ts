/** The input of an instance is merged over the defaults of its net, however it is started. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { withDefaults } from '../../src/engine/fold/instance/input-defaults.ts'
import { netHash } from '../../src/kernel/hash.ts'
import { SLOT } from '../../src/net/slots.ts'
import { Drive, net, node, ONCE, PLACES } from './drive.ts'

describe('defaults', () => {
  it('maps are merged at every depth, any other given value replaces its default', () => {
    const defaults = { a: 1, list: [1, 2], map: { x: 1, y: { z: 1 } }, gone: 'x' }
    expect(withDefaults(defaults, { list: [3], map: { y: { w: 2 }, q: 1 }, gone: null, own: 0 })).toEqual({
      a: 1,
      list: [3],
      map: { x: 1, y: { z: 1, w: 2 }, q: 1 },
      gone: null,
      own: 0,
    })
    expect(withDefaults(defaults, null)).toBe(defaults)
    expect(withDefaults({ a: { b: 1 } }, { a: [] })).toEqual({ a: [] })
    expect(withDefaults({ a: [] }, { a: { b: 1 } })).toEqual({ a: { b: 1 } })
    expect(withDefaults(undefined, { a: 1 })).toEqual({ a: 1 })
  })

  it('a key called __proto__ is an ordinary key', () => {
    const given = JSON.parse('{"__proto__": {"sly": true}, "a": {"__proto__": {"sly": true}}}')
    const merged = withDefaults({ a: { b: 1 } }, given) as Record<string, unknown>
    expect(({} as Record<string, unknown>)['sly']).toBeUndefined()
    expect((merged as { sly?: unknown }).sly).toBeUndefined()
    expect(JSON.stringify(merged)).toBe('{"a":{"b":1,"__proto__":{"sly":true}},"__proto__":{"sly":true}}')
  })
})

describe.each(PLACES)('defaults of the input on $name', (place) => {
  let d: Drive
  beforeEach(async () => {
    d = await Drive.open(place)
  })
  afterEach(async () => {
    expect(await d.doctor()).toEqual([])
    await d.close()
  })

  const input = async (id: string): Promise<unknown> => {
    const [slot] = await d.store.read.slots({ instanceId: id, prefix: SLOT.input.prefix })
    return slot === undefined ? null : JSON.parse(slot.value)
  }
  const withInput = net([node('a', [], { retry: ONCE })], { input: { host: 'x', opts: { deep: 1, more: 2 } } })

  it('apply at the start of a root, of a child, and in a retry with another input', async () => {
    expect(await input(await d.start({ net: withInput }))).toEqual({ host: 'x', opts: { deep: 1, more: 2 } })
    const id = await d.start({ net: withInput, input: { opts: { deep: 5 } } })
    expect(await input(id)).toEqual({ host: 'x', opts: { deep: 5, more: 2 } })
    await d.engine.cancelInstance({ id, actor: null })
    const same = await d.engine.retryInstance({ id, actor: null })
    expect(await input(same.id)).toEqual({ host: 'x', opts: { deep: 5, more: 2 } })
    const other = await d.engine.retryInstance({ id, actor: null, input: { host: 'y' } })
    expect(await input(other.id)).toEqual({ host: 'y', opts: { deep: 1, more: 2 } })
    const work = { kind: 'child', net: netHash(withInput), mode: 'attached', input: { host: '{{ input.h }}' } } as const
    const parent = await d.start({ net: net([node('sub', [], { work })]), nets: [withInput], input: { h: 'z' } })
    const [child] = await d.store.read.children(parent)
    expect(await input(child?.id as string)).toEqual({ host: 'z', opts: { deep: 1, more: 2 } })
    await d.work()
  })
})
