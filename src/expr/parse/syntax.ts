import type { Place } from '../errors.ts'
import type { ArithmeticOperator } from '../evaluate/arithmetic.ts'
import type { Filter, Func, Method, Test } from '../evaluate/callable.ts'
import type { Value } from '../evaluate/value.ts'

/** A compiled expression: filters, tests, functions and methods are resolved, arguments are matched with parameters. */
export type Node =
  | { readonly kind: 'constant'; readonly value: Value }
  | { readonly kind: 'name'; readonly name: string }
  | { readonly kind: 'attribute'; readonly object: Node; readonly name: string }
  | { readonly kind: 'item'; readonly object: Node; readonly key: Node }
  | { readonly kind: 'slice'; readonly object: Node; readonly start: Node; readonly stop: Node; readonly step: Node }
  | { readonly kind: 'list' | 'tuple'; readonly items: readonly Node[] }
  | { readonly kind: 'dict'; readonly entries: readonly (readonly [Node, Node])[] }
  | { readonly kind: 'chain'; readonly first: Node; readonly links: readonly Link[] }
  | { readonly kind: 'not' | 'minus' | 'plus'; readonly operand: Node }
  | { readonly kind: 'choice'; readonly condition: Node; readonly yes: Node; readonly no: Node }
  | { readonly kind: 'filter'; readonly filter: Filter; readonly operand: Node; readonly args: readonly Node[] }
  | TestNode
  | FunctionNode
  | { readonly kind: 'method'; readonly method: Method; readonly object: Node; readonly args: readonly Node[] }

interface TestNode {
  readonly kind: 'test'
  readonly test: Test
  readonly operand: Node
  readonly args: readonly Node[]
  readonly negated: boolean
}

interface FunctionNode {
  readonly kind: 'function'
  readonly func: Func
  readonly args: readonly Node[]
  readonly named: readonly (readonly [string, Node])[]
}

/** An operation on the value so far. A chain instead of a tree: `a + b + … + z` must not cost a stack frame each. */
export type Link =
  | { readonly kind: 'arithmetic'; readonly operator: ArithmeticOperator; readonly right: Node }
  | { readonly kind: 'and' | 'or'; readonly right: Node }
  | { readonly kind: 'compare'; readonly comparisons: readonly Comparison[] }

/** `a < b < c` is two comparisons that share b. */
export interface Comparison {
  readonly operator: ComparisonOperator
  readonly right: Node
}

export type ComparisonOperator = '==' | '!=' | '<' | '<=' | '>' | '>=' | 'in' | 'not in'

/** An expression with the place of its tag, for errors that only occur when it is evaluated. */
export interface Placed {
  readonly node: Node
  readonly place: Place
}

export type Block =
  | { readonly kind: 'text'; readonly text: string; readonly bytes: number }
  | { readonly kind: 'output'; readonly value: Placed }
  | { readonly kind: 'if'; readonly branches: readonly Branch[]; readonly otherwise: readonly Block[] }
  | ForBlock
  | { readonly kind: 'set'; readonly targets: readonly string[]; readonly value: Placed }
  /** {% set ns.name = … %} of a namespace. */
  | { readonly kind: 'keep'; readonly target: string; readonly name: string; readonly value: Placed }
  | { readonly kind: 'capture'; readonly target: string; readonly body: readonly Block[] }

export interface Branch {
  readonly condition: Placed
  readonly body: readonly Block[]
}

export interface ForBlock {
  readonly kind: 'for'
  /** One name receives the whole item; several unpack it. */
  readonly targets: readonly string[]
  readonly iterable: Placed
  /** `for x in xs if …`: items that fail it do not count in loop.length. null: all items. */
  readonly condition: Placed | null
  readonly body: readonly Block[]
  readonly otherwise: readonly Block[]
}
