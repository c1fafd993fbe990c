/** Python's semantics. Every line here prints the same in Jinja2 3.1 with ChainableUndefined. */
import { describe, expect, it } from 'vitest'
import { compileTemplate, render } from './index.ts'

const scope = { xs: [3, 1, 2], d: { a: 1 }, one: 1, half: 0.5, none: null, yes: true, text: 'héllo 😀' }

/** The leading bar makes it mixed text, so that the value is printed. */
function printed(source: string): string {
  return String(render(compileTemplate(`|{{ ${source} }}`), scope)).slice(1)
}

function prints(cases: readonly (readonly [string, string])[]): void {
  it.each(cases)('%s prints %s', (source, expected) => {
    expect(printed(source)).toBe(expected)
  })
}

describe('printing', () => {
  prints([
    ['true', 'True'],
    ['none', 'None'],
    ['missing', ''],
    ['missing.a.b', ''],
    ['one', '1'],
    ['half', '0.5'],
    ['1.0', '1.0'],
    ['-0.0', '-0.0'],
    ['1e16', '1e+16'],
    ['0.00001', '1e-05'],
    ['123456789.0', '123456789.0'],
    ["[1, 2.0, none, true, 'x', missing]", "[1, 2.0, None, True, 'x', Undefined]"],
    ["{'a': {'b': (1,)}}", "{'a': {'b': (1,)}}"],
    ["[\"it's\", 'say \"x\"', 'a\\nb']", "[\"it's\", 'say \"x\"', 'a\\nb']"],
    ['()', '()'],
  ])
})

describe('arithmetic', () => {
  prints([
    ['10 / 2', '5.0'],
    ['7 // 2', '3'],
    ['-7 // 2', '-4'],
    ['-7 % 3', '2'],
    ['7 % -3', '-2'],
    ['1.0 // 0.1', '9.0'],
    ['2 ** 10', '1024'],
    ['2 ** -1', '0.5'],
    ['2 ** 3 ** 2', '64'],
    ['-2 ** 2', '4'],
    ['true + true', '2'],
    ['1 + 1.0', '2.0'],
    ['[1] + [2]', '[1, 2]'],
    ["'ab' * 2", 'abab'],
    ["'a' ~ 1 ~ none", 'a1None'],
    ["'n' + 1 ~ 'x'", 'n1x'],
    ['-one', '-1'],
    ['1e3', '1000.0'],
    ['1_000', '1000'],
  ])
})

describe('equality and order', () => {
  prints([
    ['1 == 1.0 == true', 'True'],
    ["'1' == 1", 'False'],
    ["'' == 0", 'False'],
    ['[] == false', 'False'],
    ['none == false', 'False'],
    ['missing == none', 'False'],
    ['[1, [2]] == [1.0, [2.0]]', 'True'],
    ["{'a': 1, 'b': 2} == {'b': 2, 'a': 1.0}", 'True'],
    ['(1, 2) == [1, 2]', 'False'],
    ['1 < 2 < 3', 'True'],
    ['1 < 3 < 2', 'False'],
    ['(1 < 3) < 2', 'True'],
    ['[1, 2] < [1, 3]', 'True'],
    ["'a' < 'b'", 'True'],
    ["'h' in text and 'z' not in text", 'True'],
    ["'a' in d and 1 not in d", 'True'],
    ['[1] in [[1]]', 'True'],
    ['1 in missing', 'False'],
  ])
})

describe('truth', () => {
  prints([
    ['not []', 'True'],
    ['not {}', 'True'],
    ["not ''", 'True'],
    ['not 0.0', 'True'],
    ['not missing', 'True'],
    ["not '0'", 'False'],
    ["[] or 'fallback'", 'fallback'],
    ['xs and 7', '7'],
    ["'yes' if xs else 'no'", 'yes'],
    ["'yes' if [] else 'no'", 'no'],
    ["'yes' if []", ''],
    ['not 1 == 2', 'True'],
  ])
})

describe('texts are sequences of code points', () => {
  prints([
    ['text | length', '7'],
    ['text[-1]', '😀'],
    ['text[1:3]', 'él'],
    ['text | reverse', '😀 olléh'],
    ["'\\x41\\u00e9\\d'", 'Aé\\d'],
    ["'a' 'b'", 'ab'],
  ])
})

describe('tests', () => {
  prints([
    ['missing is defined', 'False'],
    ['missing is not defined', 'True'],
    ['none is none', 'True'],
    ['true is number and true is not integer', 'True'],
    ['1.0 is float and 1 is integer', 'True'],
    ['d is mapping and xs is sequence and text is string', 'True'],
    ['4 is divisibleby 2 and 4 is divisibleby(2)', 'True'],
    ['3 is odd and 4 is even', 'True'],
    ['one is eq 1 and one is lt(2)', 'True'],
    ['one is in [1, 2] and one is not in [3]', 'True'],
    ['yes is true and 1 is not true', 'True'],
  ])
})

describe('dicts', () => {
  prints([
    ["{1: 'a', 1.0: 'b'}", "{1: 'b'}"],
    ["{1: 'a'}[true]", 'a'],
    ["{1: 'a'}['1']", ''],
    ["d.get('a') ~ d.get('b') ~ d.get('b', 2)", '1None2'],
    ['dict(d, b=2)', "{'a': 1, 'b': 2}"],
  ])
})

describe('methods of texts', () => {
  prints([
    ["' a b '.strip().upper().split()", "['A', 'B']"],
    ["'a,b,c'.split(',', 1)", "['a', 'b,c']"],
    ["'abc'.replace('', '-')", '-a-b-c-'],
    ["'abc'.startswith(('x', 'a')) and 'abc'.endswith('c')", 'True'],
    ["', '.join(['a', 'b'])", 'a, b'],
  ])
})
