import { describe, expect, it } from 'vitest'
import type { Net, Node } from '../../../src/net/net.ts'
import { linesOf, wordsOf } from './highlight.ts'
import { diffLines, withContext } from './line-diff.ts'
import { netDiff, outlineOf, startInputOf } from './net-model.ts'
import { type Instance, ratesOf } from './rates.ts'

const kinds = (line: string) =>
  wordsOf(line)
    .filter(({ text }) => text.trim() !== '')
    .map(({ kind, text }) => `${kind} ${text.trim()}`)

describe('the words of a line', () => {
  it.each([
    ['name: order # of a shop', ['key name', 'plain : order', 'comment # of a shop']],
    ['  - { run: a.b, n: -1.5, on: true }', ['plain - {', 'key run', 'plain : a.b,', 'key n', 'plain :']],
    ['url: https://x.org/#top', ['key url', 'plain : https://x.org/#top']],
    [`when: 'it''s "so"'`, ['key when', 'plain :', `text 'it''s "so"'`]],
    ['"a": "x: # y"', ['key "a"', 'plain :', 'text "x: # y"']],
    [`it's plain`, [`plain it's plain`]],
  ])('are recognised in %s', (line, expected) => {
    expect(kinds(line).slice(0, expected.length)).toEqual(expected)
  })

  it('numbers and constants', () => {
    expect(kinds('[1, -2.5e3, true, null, 3d]').filter((word) => word.startsWith('number'))).toEqual([
      'number 1',
      'number -2.5e3',
      'number true',
      'number null',
    ])
  })

  it.each(['', '\t', '"open', "a: 'open", 'x'.repeat(5000), '{{ a["b"] }}', '🦆: "\\"'])(
    'lose nothing of %j',
    (line) => {
      expect(
        wordsOf(line)
          .map(({ text }) => text)
          .join(''),
      ).toBe(line)
    },
  )

  it('lines end with any line break', () => {
    expect(linesOf('a\r\nb\n\nc\n')).toEqual(['a', 'b', '', 'c'])
  })
})

describe('the difference of two texts', () => {
  const marks = (before: string, after: string) =>
    diffLines([...before], [...after])
      .map(({ kind, text }) => `${kind === 'same' ? ' ' : kind === 'added' ? '+' : '-'}${text}`)
      .join('')

  it.each([
    ['abc', 'abc', ' a b c'],
    ['', 'ab', '+a+b'],
    ['ab', '', '-a-b'],
    ['abcd', 'axcd', ' a-b+x c d'],
    ['abab', 'ab', ' a-b-a b'],
    ['xay', 'yax', '-x-a+y+a+x'],
  ])('of %s and %s', (before, after, expected) => {
    const found = marks(before, after)
    expect(found.replaceAll(/[ -](.)|\+./gs, (_, kept: string | undefined) => kept ?? '')).toBe(before)
    expect(found.replaceAll(/[ +](.)|-./gs, (_, kept: string | undefined) => kept ?? '')).toBe(after)
    expect(found.match(/[+-]/g)?.length ?? 0).toBeLessThanOrEqual(expected.match(/[+-]/g)?.length ?? 0)
  })

  it('numbers the lines of both', () => {
    expect(diffLines(['a', 'b'], ['b']).map(({ before, after }) => [before, after])).toEqual([
      [1, null],
      [2, 1],
    ])
  })

  it('replaces as a block what is too large to compare', () => {
    const lines = (name: string) => Array.from({ length: 3000 }, (_, i) => `${name} ${i}`)
    expect(diffLines(lines('a'), lines('b'))).toHaveLength(6000)
  })

  it('can leave out what is far from a change', () => {
    const lines = diffLines([...'abcdefgh'], [...'abcdefgX'])
    expect(withContext(lines, 1).map((line) => line?.text ?? null)).toEqual([null, 'g', 'h', 'X'])
  })
})

const node = (key: string, more: Partial<Node> = {}): Node => ({
  key,
  work: { kind: 'run', type: `do.${key}`, queue: 'default', priority: 100, delayMs: 0, args: null, limitKey: null },
  join: 'each',
  admit: null,
  retry: null,
  timeout: null,
  onFailure: 'net',
  undo: null,
  next: { mode: 'every', arcs: [], scope: null },
  ...more,
})

const net = (nodes: readonly Node[], more: Partial<Net> = {}): Net => ({
  version: 1,
  name: 'n',
  dialect: 'net',
  nodes,
  entry: [nodes[0]?.key ?? ''],
  finals: [],
  onFailure: 'abort',
  verdict: { failedOn: 'unhandled', partial: false },
  unknown: 'ignore',
  timeoutMs: null,
  undoTimeoutMs: null,
  held: 'wait',
  noMatch: 'end',
  ...more,
})

describe('the outline of a net', () => {
  it('has what each node does, and what follows', () => {
    const gate = { kind: 'gate', options: { title: 'Ship it?' }, timeoutMs: null, onTimeout: 'reject' } as const
    const a = node('a', {
      next: { mode: 'every', arcs: [{ to: 'b', when: 'x > 1', args: null, set: null }], scope: null },
    })
    const found = outlineOf(
      net([a, node('b', { work: gate })], { finals: [{ node: 'b', when: 'failure', onFailure: 'fail' }] }),
    )
    expect(found).toMatchObject([
      { key: 'a', what: 'do.a', isEntry: true, final: null, next: [{ to: 'b', when: 'x > 1' }] },
      { key: 'b', what: 'Ship it?', isEntry: false, final: 'failure' },
    ])
  })
})

describe('the difference of two nets', () => {
  it('names nodes and their members', () => {
    const before = net([node('a'), node('b'), node('c')])
    const elsewhere = {
      next: { mode: 'every', arcs: [{ to: 'd', when: null, args: null, set: null }], scope: null },
    } as const
    const after = net([node('a', { join: 'count' }), node('c', elsewhere), node('d')], { held: 'complete' })
    expect(netDiff(before, after)).toEqual({
      added: ['d'],
      removed: ['b'],
      changed: [{ key: 'a', members: ['join'] }],
      rerouted: ['c'],
      settings: ['held'],
    })
    expect(netDiff(before, before)).toEqual({ added: [], removed: [], changed: [], rerouted: [], settings: [] })
  })
})

describe('the input of a start', () => {
  const schema = { type: 'object' }
  const run = (args: object | string) => ({ ...node('a').work, args }) as Node['work']

  it('is described by the first step that receives it as a whole', () => {
    const first = node('a', {
      work: run({ agent: 'x', input: '{{ input }}' }),
      schema: { input: { path: ['input'], schema }, output: null },
    })
    expect(startInputOf(net([first]))).toEqual({ schema, node: 'a', defaults: undefined })
  })

  it('is not described by a schema of a part of it, nor of a later step', () => {
    const part = node('a', { work: run('{{ input.order }}'), schema: { input: { path: [], schema }, output: null } })
    const later = node('b', { work: run('{{ input }}'), schema: { input: { path: [], schema }, output: null } })
    expect(startInputOf(net([part, later], { input: { a: 1 } }))).toEqual({
      schema: null,
      node: null,
      defaults: { a: 1 },
    })
  })
})

describe('rates', () => {
  it('are those of the instances with the same net', () => {
    const instance = (hash: string, state: string, seconds: number | null): Instance =>
      ({
        id: 'i',
        net: hash,
        state,
        created_at: '2026-03-01T10:00:00.000Z',
        started_at: null,
        ended_at: seconds === null ? null : new Date(Date.parse('2026-03-01T10:00:00Z') + seconds * 1000).toISOString(),
      }) as Instance
    const rates = ratesOf([
      instance('x', 'completed', 1),
      instance('x', 'completed', 3),
      instance('x', 'failed', 9),
      instance('x', 'running', null),
      instance('y', 'running', null),
      { id: 'z', error: { code: 'unreadable', message: '' } },
    ])
    expect(rates.get('x')).toEqual({ started: 4, ended: 3, completed: 2, p50Ms: 1000, p95Ms: 3000 })
    expect(rates.get('y')).toEqual({ started: 1, ended: 0, completed: 0, p50Ms: null, p95Ms: null })
    expect(rates.size).toBe(2)
  })
})
