/** Writes a query in its canonical text: parsing it gives the same query. Stored operations contain this text. */
import type { Condition, Search } from './search.ts'

export function printSearch({ conditions }: Search): string {
  return conditions.map(printed).join(' ')
}

function printed(condition: Condition): string {
  if (condition.kind === 'flag') return `${condition.field}:${condition.value}`
  return `${condition.not ? '-' : ''}${condition.field}:${valuesOf(condition)}`
}

function valuesOf(condition: Exclude<Condition, { readonly kind: 'flag' }>): string {
  switch (condition.kind) {
    case 'text':
      return condition.values.map(({ text, prefix }) => (prefix ? `${text}*` : quoted(text))).join(',')
    case 'term':
      return condition.values.map(quoted).join(',')
    case 'moment':
      return `${condition.comparison}${new Date(condition.at).toISOString()}`
    case 'span':
      return `${condition.comparison}${span(condition.ms)}`
    case 'number':
      return `${condition.comparison === '=' ? '' : condition.comparison}${condition.number}`
  }
}

function quoted(text: string): string {
  return /^[^\s,"*\\]+$/.test(text) ? text : `"${text.replace(/["\\]/g, '\\$&')}"`
}

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1000],
] as const

/** In the largest unit that divides it. */
function span(ms: number): string {
  const [unit, size] = UNITS.find(([, size]) => ms >= size && ms % size === 0) ?? (['ms', 1] as const)
  return `${ms / size}${unit}`
}
