import { DEPTH_LIMIT, type Meter } from '../budget.ts'
import { filters } from '../builtins/filters.ts'
import { tests } from '../builtins/tests.ts'
import { ExprError } from '../errors.ts'
import type { Comparison, Link, Node } from '../parse/syntax.ts'
import { Alias, type Face, plainOf } from './alias.ts'
import { arithmetic, negate, plus } from './arithmetic.ts'
import { type Args, bind, type Run } from './callable.ts'
import { alike, isTruthy, order, within } from './compare.ts'
import { find } from './find.ts'
import { attribute, item, slice, textArgument } from './lookup.ts'
import { Dict, List, Tuple, type Value } from './value.ts'

/** Names and their values, or an object that makes the values when they are read. */
export type Scope = Alias | { readonly [name: string]: Face }

export function named(scope: Scope, name: string): Face {
  if (scope instanceof Alias) return scope.key(name)
  return Object.hasOwn(scope, name) ? scope[name] : undefined
}

/** One evaluation: a scope, the names bound by the template so far, and the budget they share. */
export class Walk implements Run {
  readonly meter: Meter
  readonly #scope: Scope
  protected locals: Locals | null = null
  /** Nested calls of filters by filters: `map('map', 'map', …)` costs a stack frame each. */
  #calls = 0

  constructor(scope: Scope, meter: Meter) {
    this.#scope = scope
    this.meter = meter
  }

  scopeValue(name: string): Value {
    return plainOf(named(this.#scope, name))
  }

  filter(name: Value, value: Value, args: Args, given: Dict = NONE): Value {
    const known = textArgument(name, 'the name of a filter')
    const filter = find(filters, 'filter', known)
    this.meter.step()
    if (++this.#calls > DEPTH_LIMIT) {
      throw new ExprError('expr_budget', `filters call filters deeper than ${DEPTH_LIMIT} levels`)
    }
    const named =
      filter.named === true || given.size === 0
        ? NO_NAMES
        : given.entries().map(([key, item]) => [String(key), item] as const)
    const bound = bind(`filter \`${known}\``, filter, { positional: args, named }, same)
    const filtered = filter.apply(value, filter.named === true ? [given, ...bound] : bound, this)
    this.#calls--
    return filtered
  }

  test(name: Value, value: Value, args: Args): boolean {
    const known = textArgument(name, 'the name of a test')
    const test = find(tests, 'test', known)
    return test.apply(value, bind(`test \`${known}\``, test, { positional: args, named: [] }, same), this)
  }

  value(node: Node): Value {
    return plainOf(this.face(node))
  }

  /** The value with its hidden names. */
  face(node: Node): Face {
    this.meter.step()
    switch (node.kind) {
      case 'constant':
        return node.value
      case 'name':
        return this.variable(node.name)
      case 'attribute':
        return attribute(this.face(node.object), node.name)
      case 'item':
        return item(this.face(node.object), this.value(node.key), this.meter)
      case 'slice': {
        const object = this.value(node.object)
        return slice(object, this.value(node.start), this.value(node.stop), this.value(node.step), this.meter)
      }
      case 'list':
        return new List(...this.#items(node.items))
      case 'tuple':
        return new Tuple(...this.#items(node.items))
      case 'dict':
        this.meter.slots(node.entries.length * 2)
        return new Dict(node.entries.map(([key, value]) => [this.value(key), this.value(value)] as const))
      case 'chain':
        return this.#chain(node.first, node.links)
      case 'not':
        return !isTruthy(this.value(node.operand), this.meter)
      case 'minus':
        return negate(this.value(node.operand))
      case 'plus':
        return plus(this.value(node.operand))
      case 'choice':
        return this.face(isTruthy(this.value(node.condition), this.meter) ? node.yes : node.no)
      case 'filter':
        if (node.filter.faced !== undefined) {
          return node.filter.faced(this.face(node.operand), this.#faces(node.args), this)
        }
        return node.filter.apply(this.value(node.operand), this.#values(node.args), this)
      case 'test':
        if (node.test.faced !== undefined) {
          return node.test.faced(this.face(node.operand), this.#faces(node.args), this) !== node.negated
        }
        return node.test.apply(this.value(node.operand), this.#values(node.args), this) !== node.negated
      case 'function': {
        const args = this.#values(node.args)
        const given = node.named.map(([name, value]) => [name, this.value(value)] as const)
        return node.func.apply(args, this, given)
      }
      case 'method':
        if (node.method.faced !== undefined) {
          return node.method.faced(this.face(node.object), this.#faces(node.args), this)
        }
        return node.method.apply(this.value(node.object), this.#values(node.args), this)
    }
  }

  #values(nodes: readonly Node[]): readonly Value[] {
    this.meter.slots(nodes.length)
    return nodes.map((node) => this.value(node))
  }

  #faces(nodes: readonly Node[]): readonly Face[] {
    this.meter.slots(nodes.length)
    return nodes.map((node) => this.face(node))
  }

  #items(nodes: readonly Node[]): readonly [readonly Value[], (readonly Face[])?] {
    const faces = this.#faces(nodes)
    return faces.some((face) => face instanceof Alias) ? [faces.map(plainOf), faces] : [faces as readonly Value[]]
  }

  protected variable(name: string): Face {
    for (let locals = this.locals; locals !== null; locals = locals.outer) {
      if (locals.values.has(name)) return locals.values.get(name)
    }
    return named(this.#scope, name)
  }

  #chain(first: Node, links: readonly Link[]): Face {
    let left = this.face(first)
    for (const link of links) left = this.#link(left, link)
    return left
  }

  #link(left: Face, link: Link): Face {
    this.meter.step()
    switch (link.kind) {
      case 'and':
        return isTruthy(plainOf(left), this.meter) ? this.face(link.right) : left
      case 'or':
        return isTruthy(plainOf(left), this.meter) ? left : this.face(link.right)
      case 'compare':
        return this.#compareAll(left, link.comparisons)
      case 'arithmetic':
        return arithmetic(link.operator, plainOf(left), this.value(link.right), this.meter)
    }
  }

  #compareAll(first: Face, comparisons: readonly Comparison[]): boolean {
    let left = first
    for (const { operator, right } of comparisons) {
      const value = this.face(right)
      if (!this.#compare(operator, left, value)) return false
      left = value
    }
    return true
  }

  #compare(operator: Comparison['operator'], left: Face, right: Face): boolean {
    switch (operator) {
      case '==':
        return alike(left, right, this.meter)
      case '!=':
        return !alike(left, right, this.meter)
      case 'in':
        return within(right, left, this.meter)
      case 'not in':
        return !within(right, left, this.meter)
      case '<':
        return order(plainOf(left), plainOf(right), this.meter, operator) < 0
      case '<=':
        return order(plainOf(left), plainOf(right), this.meter, operator) <= 0
      case '>':
        return order(plainOf(left), plainOf(right), this.meter, operator) > 0
      case '>=':
        return order(plainOf(left), plainOf(right), this.meter, operator) >= 0
    }
  }
}

/** Names that a template has bound, innermost first. */
export interface Locals {
  readonly values: Map<string, Face>
  readonly outer: Locals | null
}

const NONE = new Dict([])
const NO_NAMES: readonly (readonly [string, Value])[] = []

function same(value: Value): Value {
  return value
}
