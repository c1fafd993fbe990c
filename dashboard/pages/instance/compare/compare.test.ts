import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compared, type NodeAt, nodesOf } from './compare.ts'
import { diffLines, folded } from './lines.ts'

const at = (state: string, tookMs: number | null = 100, attempts = 1): NodeAt => ({ state, tookMs, attempts })

describe('two instances', () => {
  it('are read from columns', () => {
    const page = (nodes: readonly string[], state: string) => ({
      nodes,
      state: { words: [state], of: nodes.map(() => 0) },
      attempts: nodes.map(() => 2),
      took: nodes.map(() => null),
    })
    expect([...nodesOf([page(['a', 'b'], 'completed'), page(['c'], 'failed')])]).toEqual([
      ['a', at('completed', null, 2)],
      ['b', at('completed', null, 2)],
      ['c', at('failed', null, 2)],
    ])
  })

  it('differ where a state, a result, or clearly a duration differs', () => {
    const here = new Map([
      ['a', at('completed')],
      ['b', at('failed', 9_000, 3)],
      ['c', at('completed', 9_000)],
      ['d', at('completed')],
    ])
    const there = new Map([
      ['a', at('completed', 150)],
      ['b', at('completed', 9_000)],
      ['c', at('completed', 2_000)],
      ['e', at('completed')],
    ])
    const results = {
      here: new Map([
        ['a', '1'],
        ['c', '{"n":12345678901234567890}'],
      ]),
      there: new Map([
        ['a', '1'],
        ['b', '2'],
        ['c', '{"n":12345678901234567891}'],
      ]),
    }
    expect(compared(here, there, results).map(({ name, result, differs }) => [name, result, ...differs])).toEqual([
      ['a', 'same'],
      ['b', 'only there', 'state', 'attempts', 'result'],
      ['c', 'different', 'duration', 'result'],
      ['d', 'none', 'step'],
      ['e', 'none', 'step'],
    ])
  })
})

describe('the differences of two texts', () => {
  it('are lines that only one of them has', () => {
    const lines = diffLines(['{', ' a', ' b', ' c', '}'], ['{', ' a', ' x', ' c', '}'])
    expect(lines.map(({ kind, text }) => `${kind}:${text}`)).toEqual([
      'same:{',
      'same: a',
      'only here: b',
      'only there: x',
      'same: c',
      'same:}',
    ])
  })

  it('without the lines of one text are the other', () => {
    const word = fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 12 })
    fc.assert(
      fc.property(word, word, (here, there) => {
        const lines = diffLines(here, there)
        const without = (kind: string): readonly string[] => lines.flatMap((l) => (l.kind === kind ? [] : [l.text]))
        expect([without('only there'), without('only here')]).toEqual([here, there])
      }),
    )
  })

  it('are shown with the lines around them', () => {
    const many = Array.from({ length: 20 }, (_, n) => `line ${n}`)
    const shown = folded(diffLines(many, [...many.slice(0, 10), 'new', ...many.slice(10)]))
    expect(shown.map((line) => (typeof line === 'number' ? line : line.text))).toEqual([
      7,
      'line 7',
      'line 8',
      'line 9',
      'new',
      'line 10',
      'line 11',
      'line 12',
      7,
    ])
  })
})
