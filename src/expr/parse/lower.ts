/** From the parser's tree to ours: names resolved against the tables, depth bounded, unsupported syntax refused. */

import { DEPTH_LIMIT } from '../budget.ts'
import { filters } from '../builtins/filters.ts'
import { functions } from '../builtins/functions.ts'
import { methods } from '../builtins/methods.ts'
import { tests } from '../builtins/tests.ts'
import { ExprError } from '../errors.ts'
import type { ArithmeticOperator } from '../evaluate/arithmetic.ts'
import { bind, type Filter, type Given, type Signature } from '../evaluate/callable.ts'
import { find } from '../evaluate/find.ts'
import { float, int, type Value } from '../evaluate/value.ts'
import { type BinarySyntax, type MemberSyntax, parse, type Syntax, type Token } from './jinja.ts'
import type { Code } from './scan.ts'
import type { Comparison, ComparisonOperator, Link, Node } from './syntax.ts'
import { bracketOf, NEGATED_TEST_PREFIX, repair, TEST_PREFIX, TUPLE_FILTER, unexpected } from './tokens.ts'

export interface Lowered {
  readonly node: Node
  /** `xs if …` without else, as a for statement uses it. null: it was not one. */
  readonly filtered: { readonly iterable: Node; readonly condition: Node } | null
}

export function lowerTokens(tokens: readonly Token[], code: Code): Lowered {
  if (tokens.length === 0) throw new ExprError('expr_syntax', 'the expression is empty', code.place)
  const repaired = repair(tokens, code)
  const parsed = parse(repaired)
  if (!('syntax' in parsed)) throw parsed.tooDeep ? tooDeep().at(code.place) : unexpected(parsed.unexpected, code)
  try {
    const lowering = new Lowering(bracketOf(repaired))
    const { syntax } = parsed
    const node = lowering.lower(syntax, 0)
    if (syntax.type !== 'SelectExpression') return { node, filtered: null }
    return {
      node,
      filtered: { iterable: lowering.lower(syntax.lhs, 0), condition: lowering.lower(syntax.test, 0) },
    }
  } catch (error) {
    throw error instanceof ExprError ? error.at(code.place) : error
  }
}

function tooDeep(): ExprError {
  return new ExprError('expr_budget', `the expression nests deeper than ${DEPTH_LIMIT} levels: split it with {% set %}`)
}

function refuse(what: string): ExprError {
  return new ExprError('expr_syntax', what)
}

function constant(value: Value): Node {
  return { kind: 'constant', value }
}

const MISSING = constant(undefined)

const CONSTANTS: ReadonlyMap<string, Value> = new Map<string, Value>([
  ['true', true],
  ['True', true],
  ['false', false],
  ['False', false],
  ['none', null],
  ['None', null],
])

const COMPARISONS: ReadonlySet<string> = new Set(['==', '!=', '<', '<=', '>', '>=', 'in', 'not in'])

class Lowering {
  readonly #brackets: ReadonlyMap<Token, number>

  constructor(brackets: ReadonlyMap<Token, number>) {
    this.#brackets = brackets
  }

  lower(syntax: Syntax, depth: number): Node {
    if (depth > DEPTH_LIMIT) throw tooDeep()
    const lower = (inner: Syntax) => this.lower(inner, depth + 1)
    switch (syntax.type) {
      case 'Identifier':
        return CONSTANTS.has(syntax.value)
          ? constant(CONSTANTS.get(syntax.value))
          : { kind: 'name', name: syntax.value }
      case 'IntegerLiteral':
        return constant(int(syntax.value))
      case 'FloatLiteral':
        return constant(float(syntax.value))
      case 'StringLiteral':
        return constant(syntax.value)
      case 'ArrayLiteral':
        return { kind: 'list', items: syntax.value.map(lower) }
      case 'TupleLiteral':
        return { kind: 'tuple', items: syntax.value.map(lower) }
      case 'ObjectLiteral':
        return { kind: 'dict', entries: [...syntax.value].map(([key, value]) => [lower(key), lower(value)] as const) }
      case 'BinaryExpression':
        return this.#chain(syntax, depth)
      case 'UnaryExpression': {
        const kind = syntax.operator.value === 'not' ? 'not' : syntax.operator.value === '-' ? 'minus' : 'plus'
        return { kind, operand: lower(syntax.argument) }
      }
      case 'Ternary':
        return {
          kind: 'choice',
          condition: lower(syntax.condition),
          yes: lower(syntax.trueExpr),
          no: lower(syntax.falseExpr),
        }
      case 'SelectExpression':
        return { kind: 'choice', condition: lower(syntax.test), yes: lower(syntax.lhs), no: MISSING }
      case 'MemberExpression':
        return this.#member(syntax, depth)
      case 'FilterExpression':
        return this.#filter(syntax.operand, syntax.filter, depth)
      case 'CallExpression':
        return this.#call(syntax.callee, syntax.args, depth)
      case 'SpreadExpression':
      case 'KeywordSpreadExpression':
        throw refuse('`*` and `**` in a call are not supported: write the arguments out')
      default:
        throw refuse(`a ${syntax.type} cannot stand here`)
    }
  }

  /**
   * Follows the left edge of the tree instead of recursing into it. On the way it restores two things that the parser
   * has flattened: adjacent comparisons share their operands, and `~` binds tighter than `+` and `-`.
   */
  #chain(root: BinarySyntax, depth: number): Node {
    const edge: BinarySyntax[] = []
    let left: Syntax = root
    while (left.type === 'BinaryExpression') {
      edge.push(left)
      left = left.left
    }
    const links: Link[] = []
    let comparisons: Comparison[] = []
    let concatenations: Link[] | null = null
    let before: { readonly name: string; readonly bracket: number | undefined } | null = null
    for (const { operator, right: rightSyntax } of edge.reverse()) {
      const right = this.lower(rightSyntax, depth + 1)
      const name = operator.value
      const bracket = this.#brackets.get(operator)
      const beside = before !== null && before.bracket === bracket ? before.name : null
      if (name !== '~') concatenations = null
      if (COMPARISONS.has(name)) {
        const comparison = { operator: name as ComparisonOperator, right }
        if (beside !== null && COMPARISONS.has(beside)) comparisons.push(comparison)
        else links.push({ kind: 'compare', comparisons: (comparisons = [comparison]) })
      } else if (name === '~' && (beside === '+' || beside === '-')) {
        concatenations = [{ kind: 'arithmetic', operator: '~', right }]
        const sum = links.pop() as Link & { readonly kind: 'arithmetic' }
        links.push({ ...sum, right: { kind: 'chain', first: sum.right, links: concatenations } })
      } else if (name === '~' && beside === '~' && concatenations !== null) {
        concatenations.push({ kind: 'arithmetic', operator: '~', right })
      } else if (name === 'and' || name === 'or') links.push({ kind: name, right })
      else links.push({ kind: 'arithmetic', operator: name as ArithmeticOperator, right })
      before = { name, bracket }
    }
    return { kind: 'chain', first: this.lower(left, depth + 1), links }
  }

  #member({ object, property, computed }: MemberSyntax, depth: number): Node {
    const lowered = this.lower(object, depth + 1)
    const part = (syntax: Syntax | undefined) => (syntax === undefined ? MISSING : this.lower(syntax, depth + 1))
    if (property.type === 'SliceExpression') {
      const { start, stop, step } = property
      return { kind: 'slice', object: lowered, start: part(start), stop: part(stop), step: part(step) }
    }
    if (!computed && property.type === 'Identifier') return { kind: 'attribute', object: lowered, name: property.value }
    if (computed && property.type === 'StringLiteral')
      return { kind: 'attribute', object: lowered, name: property.value }
    return { kind: 'item', object: lowered, key: part(property) }
  }

  #filter(operand: Syntax, filter: Syntax, depth: number): Node {
    const lowered = this.lower(operand, depth + 1)
    const callee = filter.type === 'CallExpression' ? filter.callee : filter
    const given = this.#arguments(filter.type === 'CallExpression' ? filter.args : [], depth)
    if (callee.type !== 'Identifier')
      throw refuse('put a filtered value in parentheses before going on: `(x | first).name`')
    const name = callee.value
    if (name === TUPLE_FILTER && lowered.kind === 'list') return { kind: 'tuple', items: lowered.items }
    if (name.startsWith(TEST_PREFIX)) {
      const negated = name.startsWith(NEGATED_TEST_PREFIX)
      const testName = name.slice(negated ? NEGATED_TEST_PREFIX.length : TEST_PREFIX.length)
      const test = find(tests, 'test', testName)
      return { kind: 'test', test, operand: lowered, args: this.#bind(`test \`${testName}\``, test, given), negated }
    }
    const found = find(filters, 'filter', name)
    const bound = this.#bind(`filter \`${name}\``, found, found.named === true ? { ...given, named: [] } : given)
    checkNamed(found, bound)
    const args = found.named === true ? [dictOf(given.named), ...bound] : bound
    return { kind: 'filter', filter: found, operand: lowered, args }
  }

  #call(callee: Syntax, args: readonly Syntax[], depth: number): Node {
    const given = this.#arguments(args, depth)
    if (callee.type === 'Identifier') {
      const func = find(functions, 'function', callee.value)
      const named = func.named === true ? given.named : []
      const bound = this.#bind(`${callee.value}()`, func, func.named === true ? { ...given, named: [] } : given)
      return { kind: 'function', func, args: bound, named }
    }
    if (callee.type === 'MemberExpression' && !callee.computed && callee.property.type === 'Identifier') {
      const name = callee.property.value
      const method = find(methods, 'method', name)
      const object = this.lower(callee.object, depth + 1)
      return { kind: 'method', method, object, args: this.#bind(`.${name}()`, method, given) }
    }
    throw refuse('only functions and methods can be called, such as range(3) or text.upper()')
  }

  #arguments(args: readonly Syntax[], depth: number): Given<Node> {
    const positional: Node[] = []
    const named: (readonly [string, Node])[] = []
    for (const arg of args) {
      if (arg.type === 'KeywordArgumentExpression') named.push([arg.key.value, this.lower(arg.value, depth + 1)])
      else positional.push(this.lower(arg, depth + 1))
    }
    return { positional, named }
  }

  #bind(what: string, signature: Signature, given: Given<Node>): readonly Node[] {
    return bind(what, signature, given, constant)
  }
}

function dictOf(named: Given<Node>['named']): Node {
  return { kind: 'dict', entries: named.map(([name, value]) => [constant(name), value] as const) }
}

function checkNamed(filter: Filter, args: readonly Node[]): void {
  const named = filter.names === undefined ? undefined : args[filter.names.argument]
  if (named?.kind !== 'constant' || typeof named.value !== 'string') return
  if (filter.names?.table === 'filter') find(filters, 'filter', named.value)
  else find(tests, 'test', named.value)
}
