/** Petrel's answers, in the same form as Jinja2's. */
import { Meter } from '../../src/expr/budget.ts'
import { floatText } from '../../src/expr/evaluate/print.ts'
import { Dict, entriesOf, Float, isDict, isList, itemsOf, Tuple, type Value } from '../../src/expr/evaluate/value.ts'
import { Walk } from '../../src/expr/evaluate/walk.ts'
import { compileExpression, compileTemplate, ExprError, render } from '../../src/expr/index.ts'
import type { Json } from '../../src/net/net.ts'
import type { Answer, Source, Tagged } from './jinja2.ts'

export function answerOf({ kind, source }: Source, scope: { readonly [name: string]: Json }): Answer {
  try {
    switch (kind) {
      case 'text':
        // Mixed with text, so that the value is printed.
        return { text: String(render(compileTemplate(`|${source}`), scope)).slice(1) }
      case 'native':
        return { json: render(compileTemplate(source), scope) }
      case 'value':
        return { value: tagged(new Walk(scope, new Meter()).value(compileExpression(source).value.node)) }
    }
  } catch (error) {
    if (!(error instanceof ExprError)) throw error
    return { error: error.code, message: error.message }
  }
}

function tagged(value: Value): Tagged {
  if (value === undefined) return ['undefined']
  if (value === null) return ['none']
  if (typeof value === 'boolean') return ['bool', value]
  if (typeof value === 'string') return ['str', value]
  if (value instanceof Float) return ['float', floatText(value.value)]
  if (typeof value === 'number') {
    return Number.isSafeInteger(value) ? ['int', String(value)] : ['float', floatText(value)]
  }
  if (value instanceof Tuple) return ['tuple', ...value.items.map(tagged)]
  if (isList(value)) return ['list', ...(itemsOf(value) ?? []).map(tagged)]
  if (value instanceof Dict || isDict(value)) {
    return ['dict', ...entriesOf(value, new Meter()).map(([key, item]) => [tagged(key), tagged(item)])]
  }
  throw new Error(`no tag for ${String(value)}`)
}
