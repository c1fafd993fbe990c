import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Net, Node } from '../../../src/net/net.ts'
import { layoutOf } from '../layout/layout.ts'
import { drawingOf } from './drawing.ts'
import { type MarkingAnswer, merged } from './marking.ts'
import { neighbour } from './move.ts'
import { layoutInputOf, sceneOf } from './scene.ts'
import { traceOf } from './trace.ts'

const run = (type: string): Node['work'] => ({
  kind: 'run',
  type,
  queue: 'q',
  priority: 0,
  delayMs: 0,
  args: null,
  limitKey: null,
})

function node(
  key: string,
  to: readonly (string | Node['next']['arcs'][number])[] = [],
  more: Partial<Node> = {},
): Node {
  const arcs = to.map((one) => (typeof one === 'string' ? { to: one, when: null, args: null, set: null } : one))
  return {
    key,
    work: run(`do.${key}`),
    join: 'each',
    admit: null,
    retry: null,
    timeout: null,
    onFailure: 'net',
    undo: null,
    next: { mode: 'every', arcs, scope: null },
    ...more,
  }
}

function net(nodes: readonly Node[], more: Partial<Net> = {}): Net {
  return {
    version: 1,
    name: 'n',
    dialect: 'net',
    nodes,
    entry: nodes.slice(0, 1).map(({ key }) => key),
    finals: [],
    onFailure: 'abort',
    verdict: { failedOn: 'unhandled', partial: false },
    unknown: 'ignore',
    timeoutMs: null,
    undoTimeoutMs: null,
    held: 'wait',
    noMatch: 'end',
    ...more,
  }
}

const undo = (type: string): Partial<Node> => ({
  undo: { work: run(type) as Extract<Node['work'], { kind: 'run' }>, retry: null, timeout: null },
})

function level(given: Net, id: string, inner = new Map()) {
  const drawing = drawingOf(given)
  return { id, drawing, layout: layoutOf(layoutInputOf(drawing, inner)), inner }
}

describe('the drawing of a net', () => {
  it('has one part for a list, whatever its length, and small ones for joins that a notation adds', () => {
    const each: Node['work'] = {
      kind: 'each',
      items: null,
      body: run('mail') as never,
      maxInFlight: 3,
      failFast: false,
    }
    const { parts } = drawingOf(
      net([node('mails', ['#1'], { work: each }), node('#1', [], { work: { kind: 'pass' } })]),
    )
    expect(parts.map(({ shape, detail }) => [shape, detail])).toEqual([
      ['list', 'each: mail'],
      ['join', ''],
    ])
    expect(parts[0]?.tags).toEqual(['at most 3 at a time'])
  })

  it('has a part beside each node that can be undone, and the way back along a straight stretch', () => {
    const { parts, links, nodes } = drawingOf(
      net([node('a', ['b'], undo('un.a')), node('b', ['c']), node('c', [], undo('un.c'))]),
    )
    expect(parts.slice(nodes).map(({ label, detail, owner }) => [label, detail, owner])).toEqual([
      ['undo a', 'un.a', 0],
      ['undo c', 'un.c', 2],
    ])
    expect(links.filter(({ kind }) => kind !== 'arc').map(({ from, to, kind }) => [kind, from, to])).toEqual([
      ['undo', 0, 3],
      ['undo', 2, 4],
      ['rollback', 4, 3],
    ])
  })

  it('shows conditions, one link for several arcs, and else where a choice has no other', () => {
    const arc = (to: string, when: string | null) => ({ to, when, args: null, set: null })
    const choice = node('a', [arc('b', '{{ x > 1 }}'), arc('b', '{{ y }}'), arc('c', null)])
    const { links } = drawingOf(net([{ ...choice, next: { ...choice.next, mode: 'first' } }, node('b'), node('c')]))
    expect(links.map(({ to, label }) => [to, label])).toEqual([
      [1, 'if x > 1 · if y'],
      [2, 'else'],
    ])
  })

  it('marks what has been added, removed and changed since an earlier version', () => {
    const before = net([node('a', ['b', 'gone']), node('b'), node('gone')])
    const after = net([node('a', ['b', 'new']), node('b', [], { join: 'count' }), node('new')])
    const { parts, links } = drawingOf(after, before)
    expect(parts.map(({ key, change }) => [key, change])).toEqual([
      ['a', null],
      ['b', 'changed'],
      ['new', 'added'],
      ['gone', 'removed'],
    ])
    expect(links.map(({ to, change }) => [parts[to]?.key, change])).toEqual([
      ['b', null],
      ['new', 'added'],
      ['gone', 'removed'],
    ])
  })

  it('says when a final step runs, and where branches meet', () => {
    const finals: Net['finals'] = [{ node: 'z', when: 'failure', onFailure: 'fail' }]
    const fork = node('a', ['b'], {})
    const { parts, finals: last } = drawingOf(
      net([{ ...fork, next: { ...fork.next, scope: 'j' } }, node('b'), node('z')], { finals }),
    )
    expect(last).toEqual([2])
    expect([parts[0]?.tags, parts[2]?.tags]).toEqual([['branches meet at j'], ['finally, after a failure']])
  })
})

describe('the scene', () => {
  it('contains an open nested workflow inside the part of its node', () => {
    const child = level(net([node('x', ['y'], undo('un.x')), node('y')]), 'child')
    const top = level(net([node('a', ['b']), node('b')]), 'top', new Map([[0, child]]))
    const scene = sceneOf(top)
    expect(scene.path.map((path) => path.join('/'))).toEqual(['a', 'b', 'a/x', 'a/y', 'a/x'])
    expect(scene.instance).toEqual(['top', 'top', 'child', 'child', 'child'])
    const [frame] = scene.frames
    for (const i of [2, 3, 4]) {
      expect(scene.x[i]! >= frame!.x && scene.x[i]! + scene.w[i]! <= frame!.x + frame!.w).toBe(true)
      expect(scene.y[i]! >= frame!.y && scene.y[i]! + scene.h[i]! <= frame!.y + frame!.h).toBe(true)
    }
    expect(scene.y[1]!).toBeGreaterThan(frame!.y + frame!.h)
  })

  it('meets each arc at the card, not at the middle of card and undo', () => {
    const scene = sceneOf(level(net([node('a', ['b'], undo('un.a')), node('b')]), ''))
    const at = scene.pointAt[0]! * 2
    expect(scene.points[at]).toBeCloseTo(scene.x[0]! + scene.w[0]! / 2, 1)
    expect(scene.points[at + 1]).toBeCloseTo(scene.y[0]! + scene.h[0]!, 1)
  })
})

describe('the arrow keys', () => {
  it('lead along the links, and to the neighbour in the same layer', () => {
    const scene = sceneOf(level(net([node('a', ['b', 'c']), node('b', ['d']), node('c', ['d']), node('d')]), ''))
    const [a, b, c, d] = [0, 1, 2, 3]
    expect([b, c]).toContain(neighbour(scene, a, 'down'))
    expect(neighbour(scene, b, 'down')).toBe(d)
    expect(neighbour(scene, c, 'up')).toBe(a)
    expect(neighbour(scene, a, 'up')).toBeNull()
    const beside = neighbour(scene, b, 'right') ?? neighbour(scene, b, 'left')
    expect(beside).toBe(c)
  })
})

describe('the path to a failure', () => {
  const drawing = drawingOf(
    net([node('a', ['b', 'c']), node('b', ['d']), node('c', ['d']), node('d', ['e']), node('e')]),
  )
  const states: Record<string, { state: string; startedAt: number | null }> = {
    a: { state: 'completed', startedAt: 1 },
    b: { state: 'completed', startedAt: 2 },
    c: { state: 'completed', startedAt: 5 },
    d: { state: 'failed', startedAt: 9 },
    e: { state: 'pending', startedAt: null },
  }

  it('follows what ended last before the failure', () => {
    const { parts, links } = traceOf(drawing, (i) => states[drawing.parts[i]!.key])
    expect([...parts].map((i) => drawing.parts[i]?.key)).toEqual(['d', 'c', 'a'])
    expect([...links].map((i) => [drawing.links[i]?.from, drawing.links[i]?.to])).toEqual([
      [2, 3],
      [0, 2],
    ])
  })

  it('ends in a cycle, and is empty without a failure', () => {
    const cycle = drawingOf(net([node('a', ['b']), node('b', ['a'])]))
    const failing = traceOf(cycle, () => ({ state: 'failed', startedAt: 1 }))
    expect(failing.parts.size).toBe(2)
    expect(traceOf(cycle, () => ({ state: 'completed', startedAt: 1 })).parts.size).toBe(0)
  })
})

describe('the marking', () => {
  const answer = (nodes: readonly (readonly [string, string])[], seq: number): MarkingAnswer => ({
    instance: {} as MarkingAnswer['instance'],
    now: '2026-01-01T00:00:10.000Z',
    seq,
    total: 2,
    base: '2026-01-01T00:00:00.000Z',
    nodes: nodes.map(([key]) => key),
    kind: { words: ['run'], of: nodes.map(() => 0) },
    state: { words: nodes.map(([, state]) => state), of: nodes.map((_, i) => i) },
    attempts: nodes.map(() => 1),
    started: nodes.map((_, i) => (i === 0 ? 1000 : 500)),
    took: nodes.map(() => 20),
    lists: { node: [], pending: [], running: [], completed: [], failed: [], exact: [] },
    next_from: null,
    has_more: false,
  })

  it('reads the columns, and puts changes over what it has', () => {
    const first = merged(
      null,
      answer(
        [
          ['a', 'running'],
          ['b', 'pending'],
        ],
        5,
      ),
    )
    expect(first.marks.get('b')?.startedAt).toBe(Date.parse('2026-01-01T00:00:01.500Z'))
    const next = merged(first, answer([['b', 'running']], 9))
    expect([...next.marks].map(([key, { state }]) => [key, state])).toEqual([
      ['a', 'running'],
      ['b', 'running'],
    ])
    expect([next.seq, first.marks.get('b')?.state]).toEqual([9, 'pending'])
  })

  it('of several pages continues from the number of the first', () => {
    const pages = fc.array(fc.integer({ min: 0, max: 99 }), { minLength: 1 })
    fc.assert(
      fc.property(pages, ([first, ...others]) => {
        let marking = merged(null, answer([['a', 'running']], first!), { isPage: true })
        for (const seq of others) marking = merged(marking, answer([['b', 'running']], seq), { isPage: true })
        expect(marking.seq).toBe(first)
      }),
    )
  })
})
