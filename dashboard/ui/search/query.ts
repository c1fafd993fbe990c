/**
 * Queries as the user edits them: cut into filters without judging them, which is the server's task, so that a filter can
 * be found, replaced and completed. docs/operate/search.md has the language.
 */

export interface QueryValue {
  readonly text: string
  readonly from: number
  readonly to: number
  readonly quoted: boolean
  /** false: a quote is missing at its end. */
  readonly closed: boolean
}

export interface QueryFilter {
  readonly not: boolean
  readonly field: string
  /** Of the field, after a `-`. */
  readonly fieldFrom: number
  readonly from: number
  readonly to: number
  /** Empty where no colon follows. */
  readonly values: readonly QueryValue[]
}

export function filtersOf(text: string): readonly QueryFilter[] {
  const found: QueryFilter[] = []
  let at = 0
  while (at < text.length) {
    if (/\s/.test(text[at] as string)) {
      at++
      continue
    }
    const filter = filterAt(text, at)
    found.push(filter)
    at = Math.max(filter.to, at + 1)
  }
  return found
}

function filterAt(text: string, from: number): QueryFilter {
  const not = text[from] === '-'
  const fieldFrom = not ? from + 1 : from
  const field = /^[^\s:"]*/.exec(text.slice(fieldFrom))?.[0] ?? ''
  let at = fieldFrom + field.length
  const values: QueryValue[] = []
  if (text[at] === ':') {
    do {
      const value = valueAt(text, at + 1)
      values.push(value)
      at = value.to
    } while (text[at] === ',')
  } else if (text[at] === '"') {
    at = valueAt(text, at).to
  }
  return { not, field, fieldFrom, from, to: at, values }
}

function valueAt(text: string, from: number): QueryValue {
  if (text[from] !== '"') {
    const plain = /^[^\s,]*/.exec(text.slice(from))?.[0] ?? ''
    return { text: plain, from, to: from + plain.length, quoted: false, closed: true }
  }
  const [whole = '', inner = '', end] = /^"((?:\\["\\]|[^"])*)("?)/.exec(text.slice(from)) ?? []
  return {
    text: inner.replace(/\\(["\\])/g, '$1'),
    from,
    to: from + whole.length,
    quoted: true,
    closed: end === '"',
  }
}

/** Whether every filter has its values: what the user still writes is not sent. */
export function isFinished(text: string): boolean {
  return filtersOf(text).every(
    ({ field, values }) =>
      field !== '' &&
      values.length > 0 &&
      values.every(({ text: value, quoted, closed }) => closed && (quoted || !/^[<>=]*$/.test(value))),
  )
}

/** With quotes where they are needed. */
export function written(value: string): string {
  return /^[^\s,"*\\]+$/.test(value) ? value : `"${value.replace(/["\\]/g, '\\$&')}"`
}

/** `filter('error', 'card declined')`: `error:"card declined"` */
export function filter(field: string, value: string): string {
  return `${field}:${written(value)}`
}

/** What a filter of this field accepts; empty: there is none. */
export function acceptedBy(text: string, field: string): readonly string[] {
  const found = filtersOf(text).find((one) => one.field === field && !one.not)
  return found?.values.map((value) => value.text) ?? []
}

/** The query without the filters of these fields. */
export function without(text: string, fields: readonly string[]): string {
  const kept = filtersOf(text).filter(({ field }) => !fields.includes(field))
  return kept.map(({ from, to }) => text.slice(from, to)).join(' ')
}

/** The query with this filter in place of those of its field; without values it has none. */
export function accepting(text: string, field: string, values: readonly string[]): string {
  const rest = without(text, [field])
  return values.length === 0 ? rest : joined(rest, `${field}:${values.map(written).join(',')}`)
}

export function joined(...parts: readonly string[]): string {
  return parts.filter((part) => part !== '').join(' ')
}

/** Adds a value to the filter of a field, or removes it. */
export function toggled(text: string, field: string, value: string): string {
  const values = acceptedBy(text, field)
  return accepting(text, field, values.includes(value) ? values.filter((one) => one !== value) : [...values, value])
}

/** What the caret is in, for the completion. */
export interface AtCaret {
  readonly kind: 'field' | 'value'
  /** Of the value. */
  readonly field: string
  /** What has been written of it, up to the caret. */
  readonly word: string
  /** The part that a completion replaces. */
  readonly from: number
  readonly to: number
}

export function atCaret(text: string, caret: number): AtCaret {
  const found = filtersOf(text).find(({ from, to }) => from <= caret && caret <= to)
  if (found === undefined) return { kind: 'field', field: '', word: '', from: caret, to: caret }
  const value = found.values.find(({ from, to }) => from <= caret && caret <= to)
  if (value !== undefined) {
    const word = text.slice(value.from, caret).replace(/^"/, '')
    return { kind: 'value', field: found.field, word, from: value.from, to: value.to }
  }
  const { fieldFrom, field } = found
  const from = Math.min(fieldFrom, caret)
  const end = fieldFrom + field.length
  // A colon that is there already is replaced with the field.
  return { kind: 'field', field: '', word: text.slice(from, caret), from, to: found.values.length > 0 ? end + 1 : end }
}
