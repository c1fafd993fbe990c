/** What may follow in a query: the fields, and the values of those that have a list. */
import type { FieldRule, Fields } from '../../../src/model/search/fields.ts'
import { type AtCaret, atCaret, written } from './query.ts'

export interface Suggestion {
  /** Replaces the text from `from` to `to`. */
  readonly insert: string
  readonly label: string
  readonly detail: string
  readonly from: number
  readonly to: number
}

/** Values by field that the server has, such as the names of workflows. */
export type KnownValues = Readonly<Record<string, readonly string[]>>

const MOST = 12
const SPANS = ['>1m', '>1h', '>1d', '<5m', '<1h', '<1d']
const NUMBERS = ['1', '>1', '>2']
const FLAGS = ['true', 'false']
/** Fields whose values are known although the server accepts any text. */
const USUAL: KnownValues = { notation: ['dag', 'net', 'ojs', 'playbook', 'saga'] }

export function suggestions(
  text: string,
  caret: number,
  fields: Fields,
  known: KnownValues = {},
): readonly Suggestion[] {
  const at = atCaret(text, caret)
  const found = at.kind === 'field' ? fieldSuggestions(at, fields) : valueSuggestions(at, fields, known)
  return found.slice(0, MOST)
}

function fieldSuggestions({ word, from, to }: AtCaret, { rules, members }: Fields): readonly Suggestion[] {
  const entries = [
    ...Object.entries(rules).map(([name, rule]) => ({ name, insert: `${name}:`, detail: describe(rule) })),
    ...members.map((name) => ({ name, insert: `${name}.`, detail: `a member: ${name}.region:eu` })),
  ]
  return matching(entries, word, ({ name }) => name).map(({ name, insert, detail }) => ({
    insert,
    label: name,
    detail,
    from,
    to,
  }))
}

function valueSuggestions(at: AtCaret, { rules }: Fields, known: KnownValues): readonly Suggestion[] {
  const { field, word, from, to } = at
  const rule = Object.hasOwn(rules, field) ? rules[field] : undefined
  const values = rule === undefined ? [] : valuesOf(field, rule, known)
  const found = matching(values, word, (value) => value)
  // Complete already.
  if (found.length === 1 && found[0] === word) return []
  return found.map((value) => ({
    insert: isCompared(value) ? value : written(value),
    label: value,
    detail: '',
    from,
    to,
  }))
}

function isCompared(value: string): boolean {
  return /^[<>]/.test(value)
}

function valuesOf(field: string, rule: FieldRule, known: KnownValues): readonly string[] {
  switch (rule.kind) {
    case 'text':
      return rule.words ?? known[field] ?? USUAL[field] ?? []
    case 'term':
      return known[field] ?? []
    case 'moment':
      return []
    case 'span':
      return SPANS
    case 'number':
      return NUMBERS
    case 'flag':
      return FLAGS
  }
}

function describe(rule: FieldRule): string {
  switch (rule.kind) {
    case 'text':
      if (rule.words !== undefined) return rule.words.join(', ')
      return rule.prefix === true ? 'a text; order* begins so' : rule.id === true ? 'an id' : 'a text'
    case 'term':
      return 'a text'
    case 'moment':
      return 'compared: >=2030-01-31T09:00:00Z'
    case 'span':
      return 'compared: >1h, <=30m'
    case 'number':
      return 'a number: 3, >3'
    case 'flag':
      return 'true or false'
  }
}

/** Those that begin with the word come first, then those that contain it. */
function matching<T>(entries: readonly T[], word: string, nameOf: (entry: T) => string): readonly T[] {
  const wanted = word.toLowerCase()
  const names = entries.map((entry) => ({ entry, name: nameOf(entry).toLowerCase() }))
  const begin = names.filter(({ name }) => name.startsWith(wanted))
  const contain = names.filter(({ name }) => !name.startsWith(wanted) && name.includes(wanted))
  return [...begin, ...contain].map(({ entry }) => entry)
}
