/**
 * Expressions and templates in Jinja's language with Python's semantics: compiled once, evaluated within a budget
 * against a scope of JSON. Synchronous, no I/O, no clock, no host objects.
 */
import type { Expression } from './expression.ts'
import type { Name } from './names.ts'
import type { Template } from './template.ts'

export { NOW } from './builtins/functions.ts'
export { ExprError } from './errors.ts'
export { Alias, type Face, ownKey, plainOf } from './evaluate/alias.ts'
export { type Evaluator, newEvaluator } from './evaluator.ts'
export { compileExpression, type Expression, evaluate, truthy } from './expression.ts'
export type { Name } from './names.ts'
export { compileTemplate, render, type Template } from './template.ts'
export type { Vocabulary } from './vocabulary.ts'

/** The free root names an expression or template reads, with the path below each as far as it is constant. */
export function namesIn(compiled: Expression | Template): readonly Name[] {
  return compiled.names
}
