import type { Json } from '../net/net.ts'
import { arithmetic, negate, plus } from './arithmetic.ts'
import type { Meter } from './budget.ts'
import { type Args, bind, find, type Run } from './callable.ts'
import { contains, equals, isTruthy, order } from './compare.ts'
import { ExprError } from './errors.ts'
import { filters } from './filters.ts'
import { attribute, item, iterate, slice, textArgument } from './lookup.ts'
import { str } from './print.ts'
import type { Block, Comparison, ForBlock, Link, Node, Placed } from './syntax.ts'
import { tests } from './tests.ts'
import { Dict, itemsOf, List, Tuple, typeName, type Value } from './value.ts'

export interface Scope {
  readonly [name: string]: Json
}

/** One evaluation: a scope, the names bound by the template so far, and the budget they share. */
export class Walk implements Run {
  readonly meter: Meter
  readonly #scope: Scope
  #locals: Locals | null = null

  constructor(scope: Scope, meter: Meter) {
    this.#scope = scope
    this.meter = meter
  }

  scopeValue(name: string): Value {
    return Object.hasOwn(this.#scope, name) ? this.#scope[name] : undefined
  }

  filter(name: Value, value: Value, args: Args): Value {
    const known = textArgument(name, 'the name of a filter')
    const filter = find(filters, 'filter', known)
    this.meter.step()
    return filter.apply(value, bind(`filter \`${known}\``, filter, { positional: args, named: [] }, same), this)
  }

  test(name: Value, value: Value, args: Args): boolean {
    const known = textArgument(name, 'the name of a test')
    const test = find(tests, 'test', known)
    return test.apply(value, bind(`test \`${known}\``, test, { positional: args, named: [] }, same), this)
  }

  placed({ node, place }: Placed): Value {
    try {
      return this.value(node)
    } catch (error) {
      throw error instanceof ExprError ? error.at(place) : error
    }
  }

  value(node: Node): Value {
    this.meter.step()
    switch (node.kind) {
      case 'constant':
        return node.value
      case 'name':
        return this.#named(node.name)
      case 'attribute':
        return attribute(this.value(node.object), node.name)
      case 'item':
        return item(this.value(node.object), this.value(node.key), this.meter)
      case 'slice': {
        const object = this.value(node.object)
        return slice(object, this.value(node.start), this.value(node.stop), this.value(node.step), this.meter)
      }
      case 'list':
        return new List(this.#values(node.items))
      case 'tuple':
        return new Tuple(this.#values(node.items))
      case 'dict':
        this.meter.slots(node.entries.length * 2)
        return new Dict(node.entries.map(([key, value]) => [this.value(key), this.value(value)] as const))
      case 'chain':
        return node.links.reduce((left, link) => this.#link(left, link), this.value(node.first))
      case 'not':
        return !isTruthy(this.value(node.operand), this.meter)
      case 'minus':
        return negate(this.value(node.operand))
      case 'plus':
        return plus(this.value(node.operand))
      case 'choice':
        return this.value(isTruthy(this.value(node.condition), this.meter) ? node.yes : node.no)
      case 'filter':
        return node.filter.apply(this.value(node.operand), this.#values(node.args), this)
      case 'test':
        return node.test.apply(this.value(node.operand), this.#values(node.args), this) !== node.negated
      case 'function': {
        const args = this.#values(node.args)
        const named = node.named.map(([name, value]) => [name, this.value(value)] as const)
        return node.func.apply(args, this, named)
      }
      case 'method':
        return node.method.apply(this.value(node.object), this.#values(node.args), this)
    }
  }

  #values(nodes: readonly Node[]): readonly Value[] {
    this.meter.slots(nodes.length)
    return nodes.map((node) => this.value(node))
  }

  #named(name: string): Value {
    for (let locals = this.#locals; locals !== null; locals = locals.outer) {
      if (locals.values.has(name)) return locals.values.get(name)
    }
    return this.scopeValue(name)
  }

  #link(left: Value, link: Link): Value {
    this.meter.step()
    switch (link.kind) {
      case 'and':
        return isTruthy(left, this.meter) ? this.value(link.right) : left
      case 'or':
        return isTruthy(left, this.meter) ? left : this.value(link.right)
      case 'compare':
        return this.#compareAll(left, link.comparisons)
      case 'arithmetic':
        return arithmetic(link.operator, left, this.value(link.right), this.meter)
    }
  }

  #compareAll(first: Value, comparisons: readonly Comparison[]): boolean {
    let left = first
    for (const { operator, right } of comparisons) {
      const value = this.value(right)
      if (!this.#compare(operator, left, value)) return false
      left = value
    }
    return true
  }

  #compare(operator: Comparison['operator'], left: Value, right: Value): boolean {
    switch (operator) {
      case '==':
        return equals(left, right, this.meter)
      case '!=':
        return !equals(left, right, this.meter)
      case 'in':
        return contains(right, left, this.meter)
      case 'not in':
        return !contains(right, left, this.meter)
      case '<':
        return order(left, right, this.meter, operator) < 0
      case '<=':
        return order(left, right, this.meter, operator) <= 0
      case '>':
        return order(left, right, this.meter, operator) > 0
      case '>=':
        return order(left, right, this.meter, operator) >= 0
    }
  }

  text(blocks: readonly Block[]): string {
    const pieces: string[] = []
    this.#nested(() => this.#write(blocks, pieces))
    return pieces.join('')
  }

  #write(blocks: readonly Block[], pieces: string[]): void {
    for (const block of blocks) {
      this.meter.step()
      switch (block.kind) {
        case 'text':
          this.meter.produce(block.bytes)
          pieces.push(block.text)
          break
        case 'output':
          pieces.push(this.#print(block.value))
          break
        case 'if': {
          const taken = block.branches.find(({ condition }) => isTruthy(this.placed(condition), this.meter))
          this.#write(taken?.body ?? block.otherwise, pieces)
          break
        }
        case 'for':
          this.#loop(block, pieces)
          break
        case 'set':
          this.#assign(block.targets, this.placed(block.value), block.value)
          break
        case 'capture':
          this.#bindLocal(block.target, this.text(block.body))
          break
      }
    }
  }

  #print(value: Placed): string {
    try {
      return this.meter.text(str(this.value(value.node), this.meter))
    } catch (error) {
      throw error instanceof ExprError ? error.at(value.place) : error
    }
  }

  #loop(block: ForBlock, pieces: string[]): void {
    const items = this.#itemsFor(block)
    items.forEach((entry, index0) => {
      this.#guarded(block.iterable, () => this.meter.step())
      const loop = {
        index: index0 + 1,
        index0,
        first: index0 === 0,
        last: index0 === items.length - 1,
        length: items.length,
      }
      this.#nested(() => {
        this.#bindLocal('loop', loop)
        this.#assign(block.targets, entry, block.iterable)
        this.#write(block.body, pieces)
      })
    })
    if (items.length === 0) this.#nested(() => this.#write(block.otherwise, pieces))
  }

  #itemsFor({ iterable, condition, targets }: ForBlock): readonly Value[] {
    const items = this.#guarded(iterable, () => iterate(this.value(iterable.node), this.meter))
    if (condition === null) return items
    return items.filter((entry) =>
      this.#nested(() => {
        this.#assign(targets, entry, iterable)
        return isTruthy(this.placed(condition), this.meter)
      }),
    )
  }

  #guarded<T>({ place }: Placed, act: () => T): T {
    try {
      return act()
    } catch (error) {
      throw error instanceof ExprError ? error.at(place) : error
    }
  }

  #nested<T>(act: () => T): T {
    const outer = this.#locals
    this.#locals = { values: new Map(), outer }
    try {
      return act()
    } finally {
      this.#locals = outer
    }
  }

  #assign(targets: readonly string[], value: Value, { place }: Placed): void {
    const [only, ...more] = targets
    if (only !== undefined && more.length === 0) return this.#bindLocal(only, value)
    const items = itemsOf(value)
    if (items?.length !== targets.length) {
      const got = items === null ? typeName(value) : `${items.length} items`
      throw new ExprError(
        'expr_type',
        `${targets.join(', ')} need ${targets.length} items to unpack, got ${got}`,
        place,
      )
    }
    targets.forEach((target, at) => {
      this.#bindLocal(target, items[at])
    })
  }

  #bindLocal(name: string, value: Value): void {
    this.#locals?.values.set(name, value)
  }
}

interface Locals {
  readonly values: Map<string, Value>
  readonly outer: Locals | null
}

function same(value: Value): Value {
  return value
}
