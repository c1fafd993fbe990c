import { describe, expect, it } from 'vitest'
import { net, node } from '../../test/engine/drive.ts'
import { compileNet } from './compile.ts'
import { type EarlierPlace, partOf } from './going-back.ts'
import type { Net, Node } from './net.ts'
import { downstreamOf, firesOnce } from './reach.ts'

const pass: Partial<Node> = { work: { kind: 'pass' } }
const fork = (key: string, to: readonly string[], scope: string | readonly string[]): Node => {
  const made = node(key, to)
  return { ...made, next: { ...made.next, scope } }
}
const follow = (of: Net, key: string): string => [...downstreamOf(compileNet(of), key)].sort().join('')

describe('what follows from a node', () => {
  it('is what its tokens can reach; a parallel branch is not', () => {
    const diamond = net([
      node('a', ['b', 'c']),
      node('b', ['d']),
      node('c', ['d']),
      node('d', ['e'], { join: 'count' }),
      node('e'),
    ])
    expect(follow(diamond, 'a')).toBe('bcde')
    expect(follow(diamond, 'b')).toBe('de')
    expect(follow(diamond, 'e')).toBe('')
  })

  it('includes the node itself if a cycle leads back to it', () => {
    const cycle = net([node('a', ['b']), node('b', ['c', 'd']), node('c', ['b']), node('d')])
    expect(follow(cycle, 'b')).toBe('bcd')
    expect(follow(cycle, 'd')).toBe('')
  })

  it('includes the joins that wait for its branch, even if the branch does not lead to them', () => {
    const nodes = [
      fork('f', ['p', 'q'], 'j'),
      node('p'),
      node('q', ['j']),
      node('j', ['z'], { join: 'scope' }),
      node('z'),
    ]
    expect(follow(net(nodes), 'p')).toBe('jz')
    expect(follow(net(nodes), 'j')).toBe('z')
    const nested = [
      fork('f', ['g', 'q'], 'j'),
      fork('g', ['p', 'r'], 'i'),
      node('p'),
      node('r', ['i']),
      node('q', ['j']),
      node('i', [], { join: 'scope' }),
      node('j', [], { join: 'scope' }),
    ]
    expect(follow(net(nested), 'p')).toBe('ij')
    expect(follow(net(nested), 'i')).toBe('j')
    expect(follow(net(nested), 'q')).toBe('j')
  })
})

describe('whether nodes fire once', () => {
  it.each([
    [net([node('a', ['b']), node('b')]), true],
    [net([node('a', ['b', 'c']), node('b', ['d']), node('c', ['d']), node('d', [], { join: 'count' })]), true],
    [net([node('a', ['b', 'c'], pass), node('b', ['d']), node('c', ['d']), node('d')]), false],
    [net([node('a', ['b']), node('b', ['a'])]), false],
  ])('%#', (of, once) => {
    expect(firesOnce(compileNet(of))).toBe(once)
  })
})

describe('the parts of an earlier instance', () => {
  const once = compileNet(net([node('a', ['b', 'c']), node('b', ['d']), node('c'), node('d')]))
  const cycle = compileNet(net([node('a', ['b']), node('b', ['a', 'c']), node('c')]))
  const at = (node: string, fire: number, item = -1): EarlierPlace => ({ node, fire, item })
  const part = (of: typeof once, from: EarlierPlace, place: EarlierPlace) =>
    partOf(of, { fork: false, path: [from] }, place)

  it('where nodes fire once, are determined by the node', () => {
    const from = at('b', 2)
    expect(['a', 'b', 'c', 'd'].map((key, i) => part(once, from, at(key, i + 1)))).toEqual([
      'kept',
      'chosen',
      'kept',
      'later',
    ])
  })

  it('where they fire several times, by the number of the firing as well', () => {
    const places = [at('a', 1), at('b', 2), at('a', 3), at('b', 4), at('a', 5), at('c', 6)]
    const parts = places.map((place) => part(cycle, at('b', 4), place))
    expect(parts).toEqual(['kept', 'kept', 'kept', 'chosen', 'later', 'later'])
  })

  it('of a list, only the chosen item is', () => {
    expect([0, 1, 2].map((item) => part(once, at('b', 2, 1), at('b', 2, item)))).toEqual(['kept', 'chosen', 'kept'])
    expect([0, 1, 2].map((item) => part(once, at('b', 2), at('b', 2, item)))).toEqual(['chosen', 'chosen', 'chosen'])
  })

  it('without a place, are all kept; from the beginning, none is', () => {
    expect(partOf(once, null, at('a', 1))).toBe('kept')
    expect(partOf(once, { fork: true, path: [] }, at('a', 1))).toBe('kept')
    expect(partOf(once, { fork: true, path: null }, at('a', 1))).toBe('later')
  })
})
