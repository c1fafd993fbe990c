import type { Json } from '../net/net.ts'
import { type Budget, Meter } from './budget.ts'
import { ExprError, placeAt } from './errors.ts'
import { isTruthy } from './evaluate/compare.ts'
import { toJson, type Value } from './evaluate/value.ts'
import { type Scope, Walk } from './evaluate/walk.ts'
import { type Name, namesInNode } from './names.ts'
import { expressionIn } from './parse/blocks.ts'
import { type Code, guardSource, scanExpression, scanTemplate } from './parse/scan.ts'
import type { Placed } from './parse/syntax.ts'

export interface Expression {
  readonly source: string
  readonly names: readonly Name[]
  readonly value: Placed
}

/** A bare Jinja expression, or the same in one pair of braces. */
export function compileExpression(source: string): Expression {
  guardSource(source)
  const trimmed = source.trim()
  const code = trimmed.startsWith('{{') ? codeInBraces(trimmed) : scanExpression(trimmed)
  const node = expressionIn(code)
  return { source, names: namesInNode(node), value: { node, place: code.place } }
}

function codeInBraces(source: string): Code {
  const [segment, ...others] = scanTemplate(source)
  if (segment?.kind === 'output' && others.length === 0) return segment.code
  throw new ExprError(
    'expr_syntax',
    'an expression is one `{{ … }}` or has no braces at all: join the parts inside one pair, as in `{{ a and b }}`',
    placeAt(source, 0, source.length),
  )
}

export function evaluate(expression: Expression, scope: Scope, budget: Budget = {}): Json {
  return run(expression, scope, budget, toJson)
}

export function truthy(expression: Expression, scope: Scope, budget: Budget = {}): boolean {
  return run(expression, scope, budget, isTruthy)
}

function run<T>({ value }: Expression, scope: Scope, budget: Budget, finish: (value: Value, meter: Meter) => T): T {
  const meter = new Meter(budget)
  try {
    return finish(new Walk(scope, meter).value(value.node), meter)
  } catch (error) {
    throw error instanceof ExprError ? error.at(value.place) : error
  }
}
