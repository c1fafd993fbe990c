import { describe, expect, it } from 'vitest'
import { compileExpression, ExprError, evaluate, namesIn, truthy } from './index.ts'

const scope = {
  ctx: { x: 5, name: 'Ada', tags: ['a', 'b', 'c'], items: 'a key', empty: {} },
  results: { a: { ok: true }, 'step-1': { rows: [{ id: 1 }, { id: 2 }] } },
  none: null,
}

function value(source: string): unknown {
  return evaluate(compileExpression(source), scope)
}

function codeOf(act: () => unknown): string {
  try {
    act()
  } catch (error) {
    if (error instanceof ExprError) return error.code
    throw error
  }
  return 'no error'
}

describe('an expression', () => {
  it('may be bare or inside one pair of braces', () => {
    expect(value('ctx.x > 3 and results.a.ok')).toBe(true)
    expect(value('{{ ctx.x > 3 and results.a.ok }}')).toBe(true)
    expect(value('  {{ ctx.x }}\n')).toBe(5)
  })

  it('refuses two pairs of braces with a suggestion', () => {
    expect(() => value('{{ a }} and {{ b }}')).toThrow(/join the parts inside one pair/)
  })

  it('returns native values', () => {
    expect(value('ctx.tags')).toBe(scope.ctx.tags)
    expect(value("{'a': [1, 2.0, none], 'b': (1, 2)}")).toEqual({ a: [1, 2, null], b: [1, 2] })
    expect(value('10 / 2')).toBe(5)
    expect(value('missing')).toBe(null)
  })

  it('can be evaluated for its truth alone', () => {
    expect(truthy(compileExpression('ctx.tags'), scope)).toBe(true)
    expect(truthy(compileExpression('ctx.empty'), scope)).toBe(false)
    expect(truthy(compileExpression('missing.a.b'), scope)).toBe(false)
  })
})

describe('lookup', () => {
  it.each([
    ["results['step-1'].rows[-1].id", 2],
    ['ctx.tags[1:]', ['b', 'c']],
    ['ctx.tags[::-1]', ['c', 'b', 'a']],
    ['ctx.name[0]', 'A'],
    ['ctx.tags.0', 'a'],
    ['ctx.tags[9]', null],
    ['ctx.nope.deeper[3].still', null],
  ])('%s gives %j', (source, expected) => {
    expect(value(source)).toEqual(expected)
  })

  it('prefers the key: items is the key, items() the method', () => {
    expect(value('ctx.items')).toBe('a key')
    expect(value("{'items': 1}.items()")).toEqual([['items', 1]])
  })

  it('reads own properties only', () => {
    const probes = [
      'ctx.constructor',
      "ctx['__proto__']",
      'ctx.toString',
      'constructor',
      '__proto__',
      "'a'.constructor",
    ]
    for (const probe of probes) expect(value(probe), probe).toBe(null)
    expect(codeOf(() => value('ctx.constructor()'))).toBe('expr_unknown_method')
    expect(codeOf(() => value('1 | constructor'))).toBe('expr_unknown_filter')
  })
})

describe('names', () => {
  const names = (source: string) => namesIn(compileExpression(source))

  it('are the roots with the path below, as far as it is constant', () => {
    expect(names("ctx.x > 3 and results.a.ok or results['b']")).toEqual([
      ['ctx', 'x'],
      ['results', 'a', 'ok'],
      ['results', 'b'],
    ])
    expect(names('rows[i].name')).toEqual([['rows'], ['i']])
    expect(names('d.get(k) and xs | selectattr(f)')).toEqual([['d'], ['k'], ['xs'], ['f']])
  })

  it('are listed once, and constants are not names', () => {
    expect(names('a + a + a.b if true else none')).toEqual([['a'], ['a', 'b']])
  })

  it('include what a function reads', () => {
    expect(names('now()')).toEqual([['$now']])
  })
})

describe('errors', () => {
  it.each([
    ['', 'expr_syntax'],
    ['1 +', 'expr_syntax'],
    ['[1 2]', 'expr_syntax'],
    ['a b', 'expr_syntax'],
    ['(1', 'expr_syntax'],
    ["'abc", 'expr_syntax'],
    ['a && b', 'expr_syntax'],
    ['a }} b', 'expr_syntax'],
    ['x | first.name', 'expr_syntax'],
    ['range(*xs)', 'expr_syntax'],
    ['x | nope', 'expr_unknown_filter'],
    ["xs | map('nope')", 'expr_unknown_filter'],
    ["xs | select('nope')", 'expr_unknown_test'],
    ['x is nope', 'expr_unknown_test'],
    ['nope()', 'expr_unknown_function'],
    ['x.nope()', 'expr_unknown_method'],
    ['x | default(1, 2, 3)', 'expr_arguments'],
    ['x | default(nope=1)', 'expr_arguments'],
    ['x | replace("a")', 'expr_arguments'],
  ])('%s is refused when compiled: %s', (source, code) => {
    expect(codeOf(() => compileExpression(source))).toBe(code)
  })

  it.each([
    ["'a' < 1", 'expr_type'],
    ['missing < 1', 'expr_type'],
    ["'a' + 1", 'expr_type'],
    ['missing + 1', 'expr_type'],
    ['1 in 5', 'expr_type'],
    ['missing.upper()', 'expr_type'],
    ['1 / 0', 'expr_value'],
    ['10 ** 400', 'expr_value'],
    ["'{' | fromjson", 'expr_value'],
    ['now()', 'expr_unknown_name'],
  ])('%s fails when evaluated: %s', (source, code) => {
    const expression = compileExpression(source)
    expect(codeOf(() => evaluate(expression, scope))).toBe(code)
  })

  it('lists the available names, and the position', () => {
    expect(() => compileExpression('x is frobnicated')).toThrow(
      /no test `frobnicated`: use one of !=, .*defined, .*\(line 1, column 1: x is frobnicated\)/,
    )
    expect(() => compileExpression('x | defualt(1)')).toThrow(/no filter `defualt`: did you mean `default`\?/)
    expect(() => compileExpression('xs.append(1)')).toThrow(/no method `append`: values are never changed: use/)
    expect(() => value("'a' < 1")).toThrow(/'<' cannot order str and int: convert one side/)
  })
})
