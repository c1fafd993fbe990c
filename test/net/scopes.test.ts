/** Scopes and the joins that close them: nested, in cycles, with failures, held tokens and no arrivals. */
import { expect, test } from 'vitest'
import * as core from '../../src/net/index.ts'
import type { Arc, Json, Net, Node, Work } from '../../src/net/net.ts'
import { plain, plainNet } from './plain.ts'
import { type Row, World } from './world.ts'

const run: Work = { kind: 'run', type: 'work', queue: 'default', priority: 0, delayMs: 0, args: null, limitKey: null }
const pass: Work = { kind: 'pass' }
const arc = (to: string, when: string | null = null, set: Arc['set'] = null): Arc => ({ to, when, args: null, set })

function fork(key: string, scope: Node['next']['scope'], mode: 'first' | 'every', ...arcs: readonly Arc[]): Node {
  return { ...plain(key, pass), next: { mode, arcs, scope } }
}

const join = (key: string, ...to: readonly string[]): Node => ({ ...plain(key, run, to), join: 'scope' })
const routed = (key: string, ...to: readonly string[]): Node => ({ ...plain(key, run, to), onFailure: 'route' })

function given(nodes: readonly Node[], change: Partial<Net> = {}): World {
  const world = new World(core, plainNet(nodes, [(nodes[0] as Node).key], change), {})
  world.happen({ kind: 'start' })
  return world
}

const open = (world: World): string[] => world.rows.filter((row) => row.open).map((row) => row.place.node)

function end(world: World, key: string, kind: 'succeeded' | 'failed' = 'succeeded'): void {
  const row = world.rows.find((r) => r.open && r.place.node === key) as Row
  expect(row, `nothing is open at ${key}: ${open(world)}`).toBeDefined()
  row.open = false
  row.started = true
  const outcome = kind === 'failed' ? { kind, error: { code: 'test', message: 'test' } } : { kind }
  world.happen({ kind: 'ended', place: row.place, outcome })
}

const fired = (world: World, key: string): number => world.rows.filter((row) => row.place.node === key).length
const scopes = (world: World): string[] => [...world.slots.keys()].filter((key) => key.startsWith('s:'))

test('a join fires once, when all branches of an inclusive fork have ended', () => {
  const world = given([
    fork('f', 'j', 'every', arc('a'), arc('b'), arc('c', 'false')),
    plain('a', run, ['j']),
    plain('b', run, ['j']),
    plain('c', run, ['j']),
    join('j'),
  ])
  end(world, 'a')
  expect(open(world)).toEqual(['b'])
  end(world, 'b')
  expect(open(world)).toEqual(['j'])
  end(world, 'j')
  expect(world.marking).toMatchObject({ phase: 'ended', state: 'completed' })
  expect(fired(world, 'j')).toBe(1)
})

test('an exclusive fork waits for the one branch it took', () => {
  const world = given([
    fork('f', 'j', 'first', arc('a', 'false'), arc('b')),
    plain('a', run, ['j']),
    plain('b', run, ['j']),
    join('j'),
  ])
  end(world, 'b')
  expect(open(world)).toEqual(['j'])
})

test('a fork inside a branch joins inside it, and its join counts as that branch', () => {
  const world = given([
    fork('f', 'j', 'every', arc('a'), arc('g')),
    plain('a', run, ['j']),
    fork('g', 'k', 'every', arc('b'), arc('c')),
    plain('b', run, ['k']),
    plain('c', run, ['k']),
    join('k', 'j'),
    join('j'),
  ])
  end(world, 'a')
  end(world, 'b')
  end(world, 'c')
  expect(open(world)).toEqual(['k'])
  end(world, 'k')
  expect(open(world)).toEqual(['j'])
  end(world, 'j')
  expect(world.marking.state).toBe('completed')
  expect(scopes(world)).toEqual([])
})

test('branches of one fork that meet at different joins: one scope inside the other', () => {
  const nodes = [
    fork('f', ['j2', 'j1'], 'every', arc('a'), arc('b'), arc('c')),
    plain('a', run, ['j1']),
    plain('b', run, ['j1']),
    plain('c', run, ['j2']),
    join('j1', 'j2'),
    join('j2'),
  ]
  const orders = [
    ['a', 'b', 'j1', 'c', 'j2'],
    ['c', 'a', 'b', 'j1', 'j2'],
    ['a', 'c', 'b', 'j1', 'j2'],
  ]
  for (const order of orders) {
    const world = given(nodes)
    // The first join waits for all branches of the fork: whether c will arrive is not known before it has ended.
    const [first, second] = order as [string, string]
    end(world, first)
    end(world, second)
    for (const key of ['a', 'b', 'c']) if (open(world).includes(key)) end(world, key)
    expect(open(world)).toEqual(['j1'])
    end(world, 'j1')
    expect(open(world)).toEqual(['j2'])
    end(world, 'j2')
    expect(world.marking.state).toBe('completed')
    expect([fired(world, 'j1'), fired(world, 'j2'), scopes(world).length]).toEqual([1, 1, 0])
  }
})

test('if no token arrives at the inner join, the outer one continues without it', () => {
  const world = given(
    [
      fork('f', ['j2', 'j1'], 'every', arc('a'), arc('c')),
      routed('a'),
      plain('c', run, ['j2']),
      join('j1', 'j2'),
      join('j2'),
      plain('x', run, ['j1']),
    ].filter((node) => node.key !== 'x'),
  )
  end(world, 'a')
  end(world, 'c')
  expect(open(world)).toEqual(['j2'])
})

test('a branch that fails ends; the join continues with those that arrived', () => {
  const world = given([
    fork('f', 'j', 'every', arc('a'), arc('b')),
    { ...routed('a'), next: { mode: 'first', arcs: [arc('j', 'event.ok')], scope: null } },
    { ...routed('b'), next: { mode: 'first', arcs: [arc('j', 'event.ok')], scope: null } },
    join('j'),
  ])
  end(world, 'a', 'failed')
  expect(open(world)).toEqual(['b'])
  end(world, 'b')
  expect(open(world)).toEqual(['j'])
  end(world, 'j')
  expect(world.marking).toMatchObject({ state: 'failed', unhandled: 1 })
})

test('with no arrivals the join does not fire, and the enclosing scope continues', () => {
  const dead = (key: string): Node => ({
    ...routed(key),
    next: { mode: 'first', arcs: [arc('j', 'false')], scope: null },
  })
  const world = given([fork('f', 'j', 'every', arc('a'), arc('b')), dead('a'), dead('b'), join('j', 'z'), routed('z')])
  end(world, 'a')
  end(world, 'b')
  expect(world.marking).toMatchObject({ phase: 'ended', state: 'completed', live: 0 })
  expect(fired(world, 'j')).toBe(0)
})

test('a held token keeps its scope open; when it is admitted or discarded, the join continues', () => {
  const held: Node = {
    ...plain('h', run, ['j']),
    admit: { rules: [{ when: 'ctx.k0', allow: true }], onDeny: 'hold' },
  }
  const nodes = [fork('f', 'j', 'every', arc('a'), arc('h')), plain('a', run, ['j']), held, join('j')]
  const waiting = given(nodes)
  end(waiting, 'a')
  expect(waiting.marking).toMatchObject({ state: 'waiting', held: 1 })
  waiting.happen({ kind: 'patched', set: { k0: true } })
  end(waiting, 'h')
  expect(open(waiting)).toEqual(['j'])
  const complete = given(nodes, { held: 'complete' })
  end(complete, 'a')
  expect(open(complete)).toEqual(['j'])
  expect(complete.slots.get('b')).toEqual({ held: 1, nodes: ['h'] })
})

test('a cycle through fork and join opens a scope each time, and leaves none behind', () => {
  const again = [arc('f', 'ctx.n<2', { n: '=ctx.n+1' }), arc('z')]
  const world = given([
    fork('f', 'j', 'every', arc('a'), arc('b')),
    plain('a', run, ['j']),
    plain('b', run, ['j']),
    { ...join('j'), next: { mode: 'first', arcs: again, scope: null } },
    plain('z', run),
  ])
  for (let round = 0; round < 3; round += 1) {
    end(world, 'b')
    end(world, 'a')
    expect(scopes(world)).toEqual([])
    end(world, 'j')
  }
  expect([open(world), fired(world, 'j')]).toEqual([['z'], 3])
})

test('a branch that goes back to its own fork is still waited for, once', () => {
  const back = [arc('f', 'ctx.n<1', { n: '=ctx.n+1' }), arc('j')]
  const world = given([
    fork('f', 'j', 'every', arc('a'), arc('b')),
    { ...plain('a', run), next: { mode: 'first', arcs: back, scope: null } },
    plain('b', run, ['j']),
    join('j'),
  ])
  end(world, 'b')
  end(world, 'a')
  expect(open(world)).toEqual(['a', 'b'])
  end(world, 'a')
  end(world, 'b')
  expect(open(world)).toEqual(['j'])
  end(world, 'j')
  expect([world.marking.state, fired(world, 'j'), scopes(world)]).toEqual(['completed', 1, []])
})

test('a list inside a branch counts as one token of it', () => {
  const list: Work = { kind: 'each', items: 'list:3', body: run as never, maxInFlight: 1, failFast: false }
  const world = given([
    fork('f', 'j', 'every', arc('l'), arc('a')),
    plain('l', list, ['j']),
    plain('a', run, ['j']),
    join('j'),
  ])
  end(world, 'a')
  for (let i = 0; i < 3; i += 1) end(world, 'l')
  expect(open(world)).toEqual(['j'])
})

test('the nodes in joins must exist, be joins, and be named once', () => {
  const problems = (scope: Json): readonly string[] => {
    try {
      core.compileNet(
        plainNet([fork('f', scope as never, 'every', arc('a')), plain('a', run, ['j']), join('j')], ['f']),
      )
      return []
    } catch (error) {
      return (error as core.NetError).problems.map(({ message }) => message)
    }
  }
  expect(problems('j')).toEqual([])
  expect(problems(['j'])).toEqual([])
  expect(problems(['j', 'j'])).toEqual(['each node only once'])
  expect(problems(['j', 'a'])).toEqual(["node 'a' must have join: scope"])
  expect(problems(['nobody'])).toContain("there is no node 'nobody'")
  expect(problems([])).toContain('at least one node, or null')
})
