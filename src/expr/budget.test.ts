import { describe, expect, it } from 'vitest'
import type { Json } from '../net/net.ts'
import { compileExpression, compileTemplate, ExprError, evaluate, render } from './index.ts'

/** The runner's time limit checks that it stops soon: without a budget these take minutes, or all memory. */
function stopped(act: () => unknown): boolean {
  try {
    act()
    return false
  } catch (error) {
    if (!(error instanceof ExprError)) throw error
    expect(error.code).toBe('expr_budget')
    return true
  }
}

function nested(depth: number): Json {
  let value: Json = []
  for (let level = 0; level < depth; level++) value = [value]
  return value
}

function doubled(start: string, grow: string, end: string): string {
  return `{% set x = ${start} %}${`{% set x = ${grow} %}`.repeat(40)}${end}`
}

describe('a small source cannot cause much work', () => {
  it.each([
    ['a text product', "{{ 'a' * 10**9 }}"],
    ['a list product', '{{ [1] * 10**9 }}'],
    ['one long loop', '{% for i in range(10**9) %}x{% endfor %}'],
    ['nested loops', '{% for i in range(1000) %}{% for j in range(1000) %}x{% endfor %}{% endfor %}'],
    ['replace', "{{ ('a' * 1000) | replace('a', 'b' * 10000) }}"],
    ['join', "{{ range(1000) | join('b' * 10000) }}"],
    ['a text that doubles', doubled("'ab'", 'x ~ x', '{{ x }}')],
    ['a list that doubles', doubled('[1]', 'x + x', '{{ x | length }}')],
    ['a shared list, printed', doubled('[1]', '[x, x]', '.{{ x }}')],
    ['a shared list, as JSON', doubled('[1]', '[x, x]', '.{{ x | tojson }}')],
    ['a shared list, sorted', doubled('[1]', '[x, x]', '{{ x == 1 or x | sort }}.')],
    ['a shared tuple as a key', doubled('(1,)', '(x, x)', '{{ {x: 1} }}')],
  ])('%s', (_what, source) => {
    expect(stopped(() => render(compileTemplate(source), {}))).toBe(true)
  })

  it('costs of one template add up over its strings', () => {
    const template = compileTemplate(['{{ a }}!', '{{ a }}!', '{{ a }}!'])
    const scope = { a: 'x'.repeat(100) }
    expect(render(template, scope, { bytes: 400 })).toHaveLength(3)
    expect(stopped(() => render(template, scope, { bytes: 250 }))).toBe(true)
  })

  it('the caller sets the budget', () => {
    const expression = compileExpression('range(100) | sum')
    expect(evaluate(expression, {})).toBe(4950)
    expect(stopped(() => evaluate(expression, {}, { steps: 5 }))).toBe(true)
    expect(stopped(() => evaluate(expression, {}, { bytes: 100 }))).toBe(true)
  })
})

describe('the size of a source is limited when it is compiled', () => {
  it.each([
    ['length', '1'.padEnd(17 * 1024)],
    ['parentheses', `${'('.repeat(5000)}1${')'.repeat(5000)}`],
    ['not', `${'not '.repeat(4000)}1`],
    ['minus', `${'-'.repeat(16000)}1`],
    ['else', `${'1 if x else '.repeat(1300)}2`],
    ['members', `a${'.b'.repeat(8000)}`],
    ['filters', `a${'|d'.repeat(8000)}`],
  ])('%s', (_what, source) => {
    expect(stopped(() => compileExpression(source))).toBe(true)
  })

  it('blocks and the JSON around templates are limited too', () => {
    expect(stopped(() => compileTemplate(`${'{% if 1 %}'.repeat(70)}${'{% endif %}'.repeat(70)}`))).toBe(true)
    expect(stopped(() => compileTemplate(nested(100_000)))).toBe(true)
  })

  it('a long chain of operators is not deep', () => {
    const chain = (part: string, operator: string) => compileExpression(Array(900).fill(part).join(operator))
    expect(evaluate(chain('1', ' + '), {})).toBe(900)
    expect(evaluate(chain('x == 1', ' or '), {})).toBe(false)
  })

  it('white space costs little', () => {
    const spaces = ' '.repeat(16_000)
    expect(render(compileTemplate(`{{${spaces}1 }}`), {})).toBe(1)
    expect(render(compileTemplate(`${spaces}{{ 1 }}`), {})).toHaveLength(16_001)
    expect(render(compileTemplate(`{{ '${spaces}' }}`), {})).toHaveLength(16_000)
  })
})

describe('large data', () => {
  const rows = Array.from({ length: 100_000 }, (_empty, id) => ({ id }))

  it('passes through for free', () => {
    expect(evaluate(compileExpression('rows'), { rows })).toBe(rows)
    expect(evaluate(compileExpression('rows[1100].id'), { rows })).toBe(1100)
    expect(evaluate(compileExpression('rows | length'), { rows })).toBe(100_000)
  })

  it('may be summed once, but not printed or searched repeatedly', () => {
    expect(evaluate(compileExpression("rows | sum(attribute='id')"), { rows })).toBe(4_999_950_000)
    expect(stopped(() => evaluate(compileExpression('rows | tojson'), { rows }))).toBe(true)
    const search = compileTemplate("{% for i in range(100) %}{{ rows | selectattr('id', 'eq', i) | list }}{% endfor %}")
    expect(stopped(() => render(search, { rows }))).toBe(true)
  })

  it('may be deep', () => {
    const scope = { a: nested(100_000), b: nested(100_000) }
    for (const source of ['a == b', 'a < b', 'a | tojson', 'a | string', 'a in [b]']) {
      expect(
        stopped(() => evaluate(compileExpression(source), scope)),
        source,
      ).toBe(true)
    }
    expect(evaluate(compileExpression('a'), scope)).toBe(scope.a)
  })
})
