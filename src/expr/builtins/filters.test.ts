import { describe, expect, it } from 'vitest'
import { compileExpression, evaluate, NOW } from '../index.ts'

const scope = {
  rows: [
    { id: 2, name: 'b', ok: true, tags: ['q'] },
    { id: 1, name: 'A', ok: false },
    { id: 3, name: 'c', ok: true },
  ],
  words: ['Banana', 'apple', 'apple'],
}

function gives(cases: readonly (readonly [string, unknown])[]): void {
  it.each(cases)('%s gives %j', (source, expected) => {
    expect(evaluate(compileExpression(source), scope)).toEqual(expected)
  })
}

describe('conversion', () => {
  gives([
    ["'42' | int", 42],
    ["' 3.9 ' | int", 3],
    ["'abc' | int(7)", 7],
    ["'ff' | int(0, 16)", 255],
    ['none | int', 0],
    ['missing | int', 0],
    ['true | int', 1],
    ["'1.5' | float", 1.5],
    ['5 | float | string', '5.0'],
    ["missing | default('d')", 'd'],
    ["none | default('d')", null],
    ["'' | default('d', true)", 'd'],
    ["'' | default('d', boolean=true)", 'd'],
    ['[1, 2.0, none] | tojson', '[1, 2.0, null]'],
    ["{'b': 1, 'a': '<é>'} | tojson", '{"a": "\\u003c\\u00e9\\u003e", "b": 1}'],
    ["{'a': [1]} | tojson(indent=2)", '{\n  "a": [\n    1\n  ]\n}'],
    ['\'{"a": [1]}\' | fromjson', { a: [1] }],
  ])
})

describe('text', () => {
  gives([
    ["'aBc' | lower ~ 'aBc' | upper", 'abcABC'],
    ["'hELLO' | capitalize", 'Hello'],
    ["'hello big-world' | title", 'Hello Big-World'],
    ["'  x ' | trim ~ '--x-' | trim('-')", 'xx'],
    ["'a,b' | split(',')", ['a', 'b']],
    ["'aaa' | replace('a', 'b', 2)", 'bba'],
    ["words | join(', ')", 'Banana, apple, apple'],
    ["rows | join('/', attribute='name')", 'b/A/c'],
    ["'hé' | b64encode", 'aMOp'],
    ["'aMOp' | b64decode", 'hé'],
    ['[1, none] | string', '[1, None]'],
  ])
})

describe('numbers', () => {
  gives([
    ['2.5 | round', 2],
    ['3.5 | round', 4],
    ['2.675 | round(2)', 2.67],
    ['1234 | round(-2)', 1200],
    ["2.1 | round(0, 'ceil')", 3],
    ['-5 | abs', 5],
    ['[1, 2.5] | sum', 3.5],
    ["rows | sum(attribute='id', start=10)", 16],
  ])
})

describe('collections', () => {
  gives([
    ['rows | length + words | count', 6],
    ['words | first ~ words | last', 'Bananaapple'],
    ['[] | first', null],
    ["'abc' | list", ['a', 'b', 'c']],
    ['words | reverse', ['apple', 'apple', 'Banana']],
    ["{'a': 1} | keys", ['a']],
    ["{'a': 1} | values", [1]],
    ["{'a': 1} | items", [['a', 1]]],
    ["rows | map(attribute='name')", ['b', 'A', 'c']],
    ["rows | map(attribute='tags.0', default='-')", ['q', '-', '-']],
    ["words | map('replace', 'a', '4')", ['B4n4n4', '4pple', '4pple']],
    ['[0, 1, none, 2] | select', [1, 2]],
    ["[1, 2, 3] | select('gt', 1)", [2, 3]],
    ["[1, 2, 3] | reject('odd')", [2]],
    ["rows | selectattr('ok') | map(attribute='id')", [2, 3]],
    ["rows | selectattr('id', 'gt', 1) | map(attribute='id')", [2, 3]],
    ["rows | rejectattr('tags', 'defined') | map(attribute='id')", [1, 3]],
  ])
})

describe('order', () => {
  gives([
    ['[3, 1, 2] | sort', [1, 2, 3]],
    ['words | sort', ['apple', 'apple', 'Banana']],
    ['words | sort(case_sensitive=true, reverse=true)', ['apple', 'apple', 'Banana']],
    ["rows | sort(attribute='ok,id') | map(attribute='id')", [1, 2, 3]],
    ['words | unique', ['Banana', 'apple']],
    ["rows | max(attribute='id') | string | length > 0", true],
    ['[3, 1, 2] | min', 1],
    ['[3, 1, 2] | max', 3],
    ['[] | max', null],
  ])
})

describe('functions', () => {
  gives([
    ['range(3)', [0, 1, 2]],
    ['range(10, 0, -4)', [10, 6, 2]],
    ["dict(a=1, b='x')", { a: 1, b: 'x' }],
  ])

  it('now() is the time of the scope', () => {
    expect(evaluate(compileExpression('now()'), { [NOW]: '2026-01-01T00:00:00Z' })).toBe('2026-01-01T00:00:00Z')
  })
})
