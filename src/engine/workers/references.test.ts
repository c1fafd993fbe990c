import { describe, expect, it } from 'vitest'
import type { Json } from '../../net/net.ts'
import { refersAside } from '../../net/references.ts'
import type { Store } from '../../store/store.ts'
import { References } from './references.ts'

/** Slots by `instance/key`, and the keys that were read. */
function slots(values: { readonly [name: string]: Json }) {
  const reads: string[] = []
  const slot = async ({ instanceId, key }: { readonly instanceId: string; readonly key: string }) => {
    reads.push(`${instanceId}/${key}`)
    await new Promise((resolve) => setImmediate(resolve))
    const value = values[`${instanceId}/${key}`]
    return value === undefined ? null : JSON.stringify(value)
  }
  return { reads, store: { read: { slot } } as unknown as Pick<Store, 'read'> }
}

describe('a value that refers to a separately stored one', () => {
  it.each<[Json, boolean]>([
    [{ $ref: 'x:7' }, true],
    [{ $shared: 'x:7' }, true],
    [{ $shared: 'x:7', a: 1 }, true],
    [{ $ref: 'x:7', a: 1 }, false],
    [{ $ref: '#/definitions/a' }, false],
    [{ $ref: 'c:secret' }, false],
    [{ $ref: 'x:' }, false],
    [{ $ref: 7 }, false],
    [[{ $ref: 'x:7' }], false],
    [{ a: { $ref: 'x:7' } }, false],
    ['x:7', false],
    [null, false],
  ])('%j: %s', (payload, expected) => {
    expect(refersAside(payload)).toBe(expected)
  })
})

describe('resolving', () => {
  const always = async (): Promise<boolean> => true

  it('resolves no references if nothing is stored separately', async () => {
    const { reads, store } = slots({ 'i/x:1': { a: 1 } })
    const references = new References(store, async () => false)
    for (const payload of [{ $ref: 'x:1' }, { $shared: 'x:1', b: 2 }]) {
      expect(await references.resolve('i', payload)).toBe(payload)
    }
    expect(reads).toEqual([])
  })

  it.each<[string, { readonly [name: string]: Json }, Json, Json | undefined]>([
    ['all of the arguments', { 'i/x:1': [1, 2] }, { $ref: 'x:1' }, [1, 2]],
    ['null stored separately', { 'i/x:1': null }, { $ref: 'x:1' }, null],
    ['own over shared', { 'i/x:1': { a: 1, b: 1 } }, { $shared: 'x:1', b: 2, c: 3 }, { a: 1, b: 2, c: 3 }],
    [
      'a shared part stored separately',
      { 'i/x:2': { $shared: 'x:1', b: 2 }, 'i/x:1': { a: 1 } },
      { $ref: 'x:2' },
      { a: 1, b: 2 },
    ],
    ['a value that looks like one', { 'i/x:1': { $ref: 'x:1' } }, { $ref: 'x:1' }, { $ref: 'x:1' }],
    ['a value that looks like sharing', { 'i/x:1': { $shared: 'x:1' } }, { $shared: 'x:1' }, { $shared: 'x:1' }],
    ['an own name', { 'i/x:1': { a: 1 } }, { $shared: 'x:1', $ref: 'x:1' }, { a: 1, $ref: 'x:1' }],
    ['shared is no map', { 'i/x:1': 7 }, { $shared: 'x:1', b: 2 }, { b: 2 }],
    ['nothing to resolve', {}, { a: 1 }, { a: 1 }],
    ['a stored value that is missing', {}, { $ref: 'x:1' }, undefined],
    ['shared is gone', {}, { $shared: 'x:1', b: 2 }, undefined],
    ['of another instance', { 'j/x:1': 1 }, { $ref: 'x:1' }, undefined],
  ])('%s', async (_, values, payload, expected) => {
    const references = new References(slots(values).store, always)
    expect(await references.resolve('i', payload)).toEqual(expected)
  })

  it('reads a shared value once, also for simultaneous callers', async () => {
    const { reads, store } = slots({ 'i/x:1': { a: [1] } })
    const references = new References(store, always)
    const ask = (n: number) => references.resolve('i', { $shared: 'x:1', n })
    expect(await Promise.all([ask(1), ask(2)])).toEqual([
      { a: [1], n: 1 },
      { a: [1], n: 2 },
    ])
    expect(await ask(3)).toEqual({ a: [1], n: 3 })
    expect(reads).toEqual(['i/x:1'])
  })

  it('a reader cannot change a shared value for the others', async () => {
    const references = new References(slots({ 'i/x:1': { a: { deep: [1] } } }).store, always)
    const given = (await references.resolve('i', { $shared: 'x:1' })) as { a: { deep: number[] }; own?: number }
    expect(() => given.a.deep.push(2)).toThrow(TypeError)
    given.own = 1
    expect(await references.resolve('i', { $shared: 'x:1' })).toEqual({ a: { deep: [1] } })
  })

  it('caches up to its limit, and removes the least recently used', async () => {
    const text = 'x'.repeat(40)
    const { reads, store } = slots({ 'i/x:1': { text }, 'i/x:2': { text }, 'i/x:3': { text } })
    const references = new References(store, always, 120)
    for (const key of ['x:1', 'x:2', 'x:1', 'x:3', 'x:1', 'x:2']) await references.resolve('i', { $shared: key })
    expect(reads).toEqual(['i/x:1', 'i/x:2', 'i/x:3', 'i/x:2'])
    // A value that would fill the whole cache is not kept.
    const small = new References(store, always, 10)
    for (let i = 0; i < 2; i++) await small.resolve('i', { $shared: 'x:1' })
    expect(reads.slice(4)).toEqual(['i/x:1', 'i/x:1'])
  })

  it('reads again after a failed read', async () => {
    let away = true
    const slot = async () => {
      if (away) throw new Error('no connection')
      return '{"a":1}'
    }
    const references = new References({ read: { slot } } as unknown as Pick<Store, 'read'>, always)
    await expect(references.resolve('i', { $shared: 'x:1' })).rejects.toThrow('no connection')
    away = false
    expect(await references.resolve('i', { $shared: 'x:1' })).toEqual({ a: 1 })
  })
})
