/** The expression language, as fire wants it: compiled once per source, evaluated within a budget. */
import {
  compileExpression,
  compileTemplate,
  type Expression,
  evaluate,
  namesIn,
  render,
  type Template,
  truthy,
} from '../expr/index.ts'
import type { Evaluate } from '../net/facts.ts'
import type { Json } from '../net/net.ts'

const CACHED = 5000

export function newEvaluator(): Evaluate {
  const expressions = new Map<string, Expression>()
  // Templates belong to nets, which are cached by hash: the object is the key.
  const templates = new WeakMap<object, Template>()
  const texts = new Map<string, Template>()

  const expression = (source: string): Expression => remembered(expressions, source, () => compileExpression(source))
  const template = (source: Json): Template => {
    if (typeof source === 'string') return remembered(texts, source, () => compileTemplate(source))
    if (source === null || typeof source !== 'object') return compileTemplate(source)
    let compiled = templates.get(source)
    if (compiled === undefined) {
      compiled = compileTemplate(source)
      templates.set(source, compiled)
    }
    return compiled
  }
  return {
    names: (source) => namesIn(expression(source)),
    templateNames: (source) => namesIn(template(source)),
    truth: (source, scope) => truthy(expression(source), scope),
    value: (source, scope) => evaluate(expression(source), scope),
    render: (source, scope) => render(template(source), scope),
  }
}

function remembered<T>(cache: Map<string, T>, key: string, make: () => T): T {
  let value = cache.get(key)
  if (value === undefined) {
    value = make()
    if (cache.size >= CACHED) cache.clear()
    cache.set(key, value)
  }
  return value
}
