import { describe, expect, it } from 'vitest'
import { compileTemplate, ExprError, namesIn, render } from './index.ts'

const scope = {
  a: 1,
  xs: [3, 1, 2],
  user: { name: 'Ada', ids: [7] },
  rows: [
    { id: 1, ok: true },
    { id: 2, ok: false },
  ],
}

function rendered(value: Parameters<typeof compileTemplate>[0]): unknown {
  return render(compileTemplate(value), scope)
}

describe('a template', () => {
  it('keeps the native type of a string that is exactly one expression', () => {
    expect(rendered('{{ xs }}')).toBe(scope.xs)
    expect(rendered('{{ a }}\n')).toBe(1)
    expect(rendered('{{ missing }}')).toBe(null)
  })

  it('makes a string of mixed text', () => {
    expect(rendered('id={{ a }}')).toBe('id=1')
    expect(rendered(' {{ a }}')).toBe(' 1')
    expect(rendered('{{ a }}{{ a }}')).toBe('11')
    expect(rendered('{{ missing }}.')).toBe('.')
  })

  it('is evaluated in arrays and objects, and other values are returned unchanged', () => {
    const fixed = { deep: ['text', 1, null, '{ not a tag }'] }
    expect(rendered({ who: '{{ user.name }}', list: [1, '{{ user.ids }}'], fixed })).toEqual({
      who: 'Ada',
      list: [1, [7]],
      fixed,
    })
    expect((rendered({ who: '{{ user.name }}', fixed }) as { fixed: unknown }).fixed).toBe(fixed)
  })

  it('looks up any number of values: only computation costs steps', () => {
    const many = Array.from({ length: 20_000 }, () => '{{ user.name }}')
    expect(rendered(many)).toEqual(many.map(() => 'Ada'))
    expect(() => rendered(many.map(() => '{{ user.name | upper }}'))).toThrow('more than 10000 steps')
  })

  it('leaves keys unchanged, even __proto__', () => {
    const value = rendered(JSON.parse('{"__proto__": "{{ user }}", "{{ a }}": 1}'))
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype)
    expect(Object.entries(value as object)).toEqual([
      ['__proto__', scope.user],
      ['{{ a }}', 1],
    ])
  })
})

describe('statements', () => {
  it.each([
    ['{% if a == 2 %}two{% elif a == 1 %}one{% else %}other{% endif %}', 'one'],
    ['{% for x in xs %}{{ x }}{% if not loop.last %},{% endif %}{% endfor %}', '3,1,2'],
    [
      '{% for x in xs %}{{ loop.index }}{{ loop.index0 }}{{ loop.first }}{{ loop.length }} {% endfor %}',
      '10True3 21False3 32False3 ',
    ],
    ['{% for x in [] %}x{% else %}nothing{% endfor %}', 'nothing'],
    ['{% for x in missing %}x{% else %}nothing{% endfor %}', 'nothing'],
    ['{% for r in rows if r.ok %}{{ loop.length }}:{{ r.id }}{% endfor %}', '1:1'],
    ["{% for k, v in {'x': 1}.items() %}{{ k }}={{ v }}{% endfor %}", 'x=1'],
    ['{% set y = a + 1 %}{{ y }}.', '2.'],
    ['{% set p, q = 1, 2 %}{{ p + q }}.', '3.'],
    ['{% set t %}<{{ a }}>{% endset %}{{ t }}{{ t }}', '<1><1>'],
    ['{% set y = 0 %}{% for x in xs %}{% set y = x %}{% endfor %}{{ y }}.', '0.'],
    ['{% if true %}{% set y = 9 %}{% endif %}{{ y }}.', '9.'],
    ['a {#- gone -#} b {{- a -}} c {%- if true %} d{% endif %}', 'ab1c d'],
    ["{{ '}}' }}{{ '%}' }}{{ {'a': {'b': 1}} }}", "}}%}{'a': {'b': 1}}"],
  ])('%s', (source, expected) => {
    expect(rendered(source)).toBe(expected)
  })

  it.each([
    ['{% macro m() %}{% endmacro %}', /no statement `macro`: use one of if, for, set/],
    ["{% include 'x' %}", /no statement `include`/],
    ['x\n{% if a %}y', /`if` is never closed: add {% endif %} \(line 2, column 1/],
    ['{% endfor %}', /`endfor` does not belong here/],
    ['{% for x of xs %}{% endfor %}', /{% for name in list %}/],
    ['{% set a.b.c = 1 %}', /left side must be a name/],
    ['{{ a', /never closed: end it with `}}`/],
    ['{# a {{ b }}', /comment is never closed/],
  ])('%s is refused', (source, message) => {
    expect(() => compileTemplate(source)).toThrow(message)
  })
})

it('a key can be set in a namespace only', () => {
  expect(() => rendered('{% set a.b = 1 %}')).toThrow(/needs a namespace: begin with {% set a = namespace\(\) %}/)
})

describe('names in a template', () => {
  it('leave out variables of loops and sets, from where they are bound', () => {
    const template = compileTemplate({
      text: '{{ q }}{% set q = ctx.z %}{% for r in rows if r.ok and limit %}{{ r.x }}{{ loop.index }}{{ q.t }}{% endfor %}{{ r.y }}',
      list: ['{{ ctx.z }}', '{{ s }}'],
    })
    expect(namesIn(template)).toEqual([['q'], ['ctx', 'z'], ['rows'], ['limit'], ['r', 'y'], ['s']])
  })

  it('keep a name that an if may or may not have set', () => {
    expect(namesIn(compileTemplate('{% if a %}{% set x = 1 %}{{ x }}{% endif %}{{ x }}'))).toEqual([['a'], ['x']])
  })
})

describe('an error in a template', () => {
  it('names the string, the line and the tag', () => {
    const template = compileTemplate({ args: [{ url: 'http://x/\n  {{ nope + 1 }}' }] })
    try {
      render(template, scope)
      expect.unreachable()
    } catch (error) {
      expect(error).toBeInstanceOf(ExprError)
      expect((error as ExprError).code).toBe('expr_type')
      expect((error as ExprError).place).toEqual({
        line: 2,
        column: 3,
        snippet: '{{ nope + 1 }}',
        path: '$.args[0].url',
      })
    }
  })
})
