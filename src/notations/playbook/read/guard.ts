/** Conditions: `when` of arcs, rules and admission. */
import { kindOf, type Part } from '../../../kernel/reading/part.ts'
import type { Reading } from './reading.ts'

/** null: it always holds. A constant is kept as an expression, so that a guard that never holds is never taken. */
export function readWhen(part: Part, reading: Reading): string | null {
  const { value } = part
  if (value === undefined) return null
  if (value === null) {
    reading.lenient(part.path, "'when' is empty: it always holds", 'leave it out')
    return null
  }
  if (typeof value === 'boolean') {
    reading.lenient(part.path, `'when' must be a template, not ${value}`, `write "{{ ${value} }}"`)
    return value ? null : 'false'
  }
  if (typeof value !== 'string' || value.trim() === '') {
    part.wrong(`'when' must be a template, not ${kindOf(value)}`, 'write "{{ ctx.ready }}"')
    return null
  }
  if (!value.includes('{{') && !value.includes('{%')) {
    reading.lenient(part.path, "'when' is a template and has no braces", `write "{{ ${value.trim()} }}"`)
  }
  return value
}
