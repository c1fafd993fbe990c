/** Random expressions, most of them well typed, so that they give values more often than errors. */
import fc from 'fast-check'
import type { Json } from '../../src/net/net.ts'

/** Names available to all sources, generated or written. `missing` is not defined. */
export const scope: { readonly [name: string]: Json } = {
  xs: [3, 1, 2],
  ys: [1.5, -2, 0.25],
  empty: [],
  d: { a: 1, b: { c: [1, 2, { e: 'f' }] }, items: 'key' },
  none: null,
  yes: true,
  no: false,
  s: 'Hello, Wörld 😀',
  t: 'a,b;c',
  num: '42',
  pi: 3.25,
  neg: -7,
  zero: 0,
  one: 1,
  big: 9007199254740991,
  rows: [
    { id: 2, name: 'b', ok: true, tags: ['q'] },
    { id: 1, name: 'A', ok: false },
    { id: 3, name: 'c', ok: true },
  ],
  words: ['Banana', 'apple', 'apple', 'Cherry'],
  nested: [[1, 2], [3], []],
  mixed: [1, 'a', null, true, 2.5, [1], { k: 1 }],
  spaces: '  two  words\n',
  e: '',
  pairs: [
    ['a', 1],
    ['b', 2],
  ],
  huge: 1e300,
  tiny: 1e-7,
  half: 0.5,
}

const TEXTS = [
  "''",
  "'a'",
  "'Abc'",
  "'x y  z'",
  "'a,b,,c'",
  "'é😀ß'",
  "'42'",
  "'-3.5'",
  "'%s|%5s'",
  "'<b>&'",
  '"it\'s"',
  "'a\\nb\\n'",
]
const INTS = ['0', '1', '2', '-1', '7', '-12', '100', 'zero', 'one', 'neg', 'big', 'true', '0x1f', '1_000']
const FLOATS = ['0.5', '-1.25', '3.0', '2.675', '1e3', '1e-7', 'pi', 'half', 'tiny', 'huge', '-0.0']

type Rule = 'int' | 'float' | 'number' | 'text' | 'bool' | 'list' | 'dict' | 'any' | 'wild' | 'numbers' | 'texts'

/**
 * Two constructs that would only meet the same listed difference repeatedly are avoided: escape and tojson give Markup,
 * which `%` makes a text again; and the argument of a test is in parentheses, since `is gt -1` is `(is gt) - 1`.
 */
const { any, wild, text, list, bool, number } = fc.letrec<{ readonly [rule in Rule]: string }>((rule) => {
  const some = (...choices: readonly fc.Arbitrary<string>[]) =>
    fc.oneof({ depthSize: 'small', withCrossShrink: true }, ...choices)
  const words = (choices: readonly string[]) => fc.constantFrom(...choices)
  /** `$int` and the like stand for an expression of that type. */
  const form = (pattern: string): fc.Arbitrary<string> => {
    const parts = pattern.split(/\$(\w+)/)
    const inner = parts.filter((_part, at) => at % 2 === 1).map((name) => rule(name as Rule))
    return fc
      .tuple(...inner)
      .map((made) => parts.map((part, at) => (at % 2 === 1 ? made[(at - 1) / 2] : part)).join(''))
  }
  const forms = (patterns: string) =>
    patterns
      .trim()
      .split('\n')
      .map((pattern) => form(pattern.trim()))
  return {
    int: some(
      words(INTS),
      ...forms(`
        ($int + $int)
        ($int - $int)
        ($int * $int)
        ($int // $int)
        ($int % $int)
        (-$int)
        ($list | length)
        ($text | length)
        ($dict | count)
        ($text | int)
        ($number | int)
        ($numbers | sum | int)
        ($int | abs)
        ($text | wordcount)
        $text.count($text)
        $text.find($text)
        ($int if $bool else $int)
        ($int or $int)
        ($int and $int)
      `),
    ),
    float: some(
      words(FLOATS),
      ...forms(`
        ($int / $int)
        ($float + $number)
        ($number - $float)
        ($float * $number)
        ($float // $number)
        ($float % $number)
        ($number | float)
        ($text | float)
        ($float | round)
        ($float | round(2))
        ($float | round(1, 'ceil'))
        ($float | round(1, 'floor'))
        ($float | abs)
      `),
    ),
    number: some(
      rule('int'),
      rule('float'),
      ...forms(`
        ($numbers | max)
        ($numbers | min)
        ($numbers | sum)
        ($numbers | first)
      `),
    ),
    text: some(
      words([...TEXTS, 's', 't', 'num', 'spaces', 'e']),
      ...forms(`
        ($text ~ $any)
        ($text + $text)
        ($text * 2)
        ($text | upper)
        ($text | lower)
        ($text | title)
        ($text | capitalize)
        ($text | trim)
        ($text | trim('a '))
        ($text | replace($text, $text))
        ($text | replace('a', $text, 1))
        ($text | reverse)
        ($text | center(9))
        ($text | indent(2, true))
        ($text | truncate(5, true, '.', 0))
        ($text | truncate(4, false, '', 1))
        ('%s' % ($text | escape,))
        ($text | urlencode)
        ($any | string)
        ('%s' % ($any | tojson,))
        ($list | join(', '))
        ($texts | join($text))
        ($text | default($text))
        ($text | b64encode)
        ('%s' % ($any,))
        ('%5.1f|%-4d|%x' | format($number, $int, 255))
        $text.strip()
        $text.upper()
        $text.title()
        $text.swapcase()
        $text.replace('a', $text)
        $text.removeprefix($text)
        $text.zfill(6)
        $text.rjust(4, '*')
        $text[1:]
        $text[::-1]
        $text[-3:2]
        $text[0]
        ($text if $bool else $text)
        ($text or $text)
      `),
    ),
    bool: some(
      words(['true', 'false', 'yes', 'no']),
      ...forms(`
        ($any == $any)
        ($any != $any)
        ($number < $number)
        ($number <= $number <= $number)
        ($text < $text)
        ($text >= $text)
        ($numbers < $numbers)
        ($any in $list)
        ($text in $text)
        ($text not in $dict)
        (not $any)
        (($any and $any) is true)
        ($any is defined)
        ($any is none)
        ($any is string)
        ($any is number)
        ($any is integer)
        ($any is float)
        ($any is boolean)
        ($any is mapping)
        ($any is sequence)
        ($any is iterable)
        ($any is true)
        ($any is sameas true)
        ($text is lower)
        ($text is upper)
        ($int is odd)
        ($int is even)
        ($int is divisibleby($int))
        ($number is gt($number))
        ($any is eq($any))
        ($any is in($list))
        $text.startswith($text)
        $text.isdigit()
        $text.isalpha()
        $text.isspace()
      `),
    ),
    numbers: some(
      words(['xs', 'ys', '(range(4) | list)', '[1, 2.5, -3]', 'empty']),
      ...forms(`
        [$number, $number]
        ($numbers | sort)
        ($numbers | sort(reverse=true))
        ($numbers + $numbers)
        ($numbers | unique | list)
        ($numbers | select('gt', $number) | list)
        ($numbers | map('abs') | list)
        ($numbers | reverse | list)
        $numbers[1:]
      `),
    ),
    texts: some(
      words(['words', "['b', 'A', 'c']", '[]']),
      ...forms(`
        [$text, $text]
        ($text.split(','))
        ($text.split())
        ($text | split(' ', 1))
        ($text | list)
        ($text.splitlines())
        ($texts | sort)
        ($texts | sort(case_sensitive=true))
        ($texts | unique | list)
        ($texts | map('upper') | list)
        ($texts | reject('in', $text) | list)
        ($dict | list)
      `),
    ),
    list: some(
      rule('numbers'),
      rule('texts'),
      words(['rows', 'nested', 'mixed', 'pairs', '()', '(1,)', '(rows | map(attribute="name") | list)']),
      ...forms(`
        [$any, $any]
        [$any]
        ($any, $any)
        ($list + [$any])
        ($list * 2)
        $list[:2]
        $list[::-2]
        ($list | list)
        ($list | reverse | list)
        ($list | select | list)
        ($list | reject('string') | list)
        ($list | map('string') | list)
        ($list | batch(2) | list)
        ($list | batch(2, $any) | list)
        ($list | slice(2) | list)
        ($dict.items() | list)
        ($dict.values() | list)
        ($dict | dictsort)
        (rows | selectattr('id', 'gt', $int) | list)
        (rows | groupby('ok') | list)
        (rows | sort(attribute='name'))
        ($list if $bool else $list)
      `),
    ),
    dict: some(
      words(['d', '{}', "{'a': 1}", 'rows[0]', "{1: 'a', 'b': 2}"]),
      ...forms(`
        {'k': $any}
        {$text: $any, 'z': $any}
        {$int: $any}
        dict(d, x=$any)
        dict(a=$any)
        ($dict if $bool else $dict)
      `),
    ),
    any: some(
      rule('int'),
      rule('float'),
      rule('text'),
      rule('bool'),
      rule('list'),
      rule('dict'),
      words(['none', 'missing', 'missing.a[0]', 'd.b.c', 'd.zz', 'rows[0].tags', 'none.x']),
      ...forms(`
        ($list | first)
        ($list | last)
        $list[$int]
        $dict[$text]
        ($dict | get($text, $any))
        $dict.get($text)
        ($any | default($any))
        ($any | default($any, true))
        ($any or $any)
        ($any and $any)
        ($any if $bool)
      `),
    ),
    wild: some(
      ...forms(`
        ($any + $any)
        ($any - $any)
        ($any * $any)
        ($any / $any)
        ($any % $int)
        ($any < $any)
        ($any in $any)
        ($any | length)
        ($any | upper)
        ($any | sort)
        ($any | sum)
        ($any | join)
        ($any | first)
        ($any | round)
        ($any | list)
        ($any | max)
        ($any | unique | list)
        ($any | replace($any, $any))
        ($any | trim)
        ($any | abs)
        ($any | reverse)
        ($any | items | list)
        (-$any)
        $any[$any]
        $any[$int:$int]
        $any.a.b
        ($any ~ $any)
      `),
    ),
  }
})

/** One source per run, the same ones for the same seed. */
export function generate(p: { readonly seed: number; readonly runs: number }): readonly string[] {
  const source = fc.oneof(any, text, list, bool, number, wild)
  return [...new Set(fc.sample(source, { seed: p.seed, numRuns: p.runs }))].filter(({ length }) => length < 600)
}
