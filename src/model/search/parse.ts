/** Reads queries. A mistake is an error that names its position and what would be right (scan.ts). */
import { parseDuration } from '../../kernel/duration.ts'
import { readId } from '../../kernel/ids.ts'
import { MAX_TERM_LENGTH } from '../../kernel/limits.ts'
import { parseMoment } from '../../kernel/moments.ts'
import { closest } from '../../kernel/reading/part.ts'
import { type FieldRule, type Fields, INSTANCE_FIELDS, RUN_FIELDS } from './fields.ts'
import { mistaken, type ScannedFilter, type ScannedValue, scan } from './scan.ts'
import type { Comparison, Condition, InstanceSearch, Match, RunSearch } from './search.ts'

export function parseInstanceSearch(text: string): InstanceSearch {
  return { of: 'instances', conditions: parse(text, INSTANCE_FIELDS) as InstanceSearch['conditions'] }
}

export function parseRunSearch(text: string): RunSearch {
  return { of: 'runs', conditions: parse(text, RUN_FIELDS) as RunSearch['conditions'] }
}

function parse(text: string, fields: Fields): readonly Condition[] {
  return scan(text).map((filter) => conditionOf(filter, fields))
}

function conditionOf(filter: ScannedFilter, fields: Fields): Condition {
  const rule = ruleOf(filter, fields)
  const { field, not } = filter
  switch (rule.kind) {
    case 'text':
      return {
        kind: 'text',
        field,
        not,
        values: filter.values.map((value) => matchOf(value, filter, rule)),
      } as Condition
    case 'term':
      return { kind: 'term', field, not, values: filter.values.map(termText) }
    case 'moment':
      return { kind: 'moment', field, not, ...momentOf(only(filter), field) } as Condition
    case 'span':
      return { kind: 'span', field, not, ...spanOf(only(filter), field) } as Condition
    case 'number':
      return { kind: 'number', field, not, ...numberOf(only(filter), field) } as Condition
    case 'flag':
      return { kind: 'flag', field, value: flagOf(only(filter), field) !== not } as Condition
  }
}

function ruleOf({ field, offset }: ScannedFilter, { of, rules, members }: Fields): FieldRule {
  const rule = Object.hasOwn(rules, field) ? rules[field] : undefined
  if (rule !== undefined) return rule
  const [parent = '', ...rest] = field.split('.')
  if (members.includes(parent) && rest.join('.') !== '') return { kind: 'term' }
  if (members.includes(parent)) {
    const hint = `Write the name of a member: ${parent}.region:eu`
    throw mistaken({ offset, word: field, problem: `'${parent}' needs the name of a member`, hint })
  }
  const known = Object.keys(rules)
  const others = otherFields(of, field)
  throw mistaken({
    offset,
    word: field,
    problem: others ?? `there is no filter '${field}' for ${of}`,
    meant: others === null ? closest(field, known) : null,
    hint: `There are: ${[...known, ...members.map((member) => `${member}.NAME`)].join(', ')}.`,
  })
}

/** A field of the other kind of query. */
function otherFields(of: Fields['of'], field: string): string | null {
  const other = of === 'instances' ? RUN_FIELDS : INSTANCE_FIELDS
  const known = Object.hasOwn(other.rules, field) || other.members.includes(field.split('.')[0] as string)
  return known ? `'${field}' is a filter for ${other.of}, not for ${of}` : null
}

function matchOf(value: ScannedValue, { field }: ScannedFilter, rule: FieldRule & { readonly kind: 'text' }): Match {
  const { text, offset, quoted } = value
  if (rule.words !== undefined) {
    if (rule.words.includes(text)) return { text, prefix: false }
    throw mistaken({
      offset,
      word: text,
      problem: `${field} cannot be '${text}'`,
      meant: closest(text, rule.words),
      hint: `${field} is one of ${rule.words.join(', ')}.`,
    })
  }
  if (rule.id === true) {
    const id = readId(text)
    if (id !== null) return { text: id, prefix: false }
    throw mistaken({ offset, word: text, problem: `${field} must be an id`, hint: 'An id is a UUID.' })
  }
  if (quoted || !text.includes('*')) return { text, prefix: false }
  const begin = text.slice(0, -1)
  if (text.endsWith('*') && !begin.includes('*') && begin !== '' && rule.prefix === true) {
    return { text: begin, prefix: true }
  }
  throw mistaken({
    offset,
    word: text,
    problem: rule.prefix === true ? 'a * stands only at the end of a value' : `${field} has no prefixes`,
    hint: rule.prefix === true ? `Write ${field}:order* for all that begin so.` : `Write the whole ${field}.`,
  })
}

function termText({ text, offset }: ScannedValue): string {
  if ([...text].length <= MAX_TERM_LENGTH) return text
  throw mistaken({
    offset,
    word: text,
    problem: `the value has ${[...text].length} characters`,
    hint: `Values longer than ${MAX_TERM_LENGTH} characters are not indexed.`,
  })
}

function only({ field, offset, values }: ScannedFilter): ScannedValue {
  if (values.length === 1) return values[0] as ScannedValue
  throw mistaken({ offset, word: field, problem: `${field} takes one value`, hint: 'Write the filter once for each.' })
}

const COMPARED = /^(>=|<=|>|<|=)?(.*)$/s

function momentOf(
  { text, offset }: ScannedValue,
  field: string,
): { readonly comparison: Comparison; readonly at: number } {
  const [, sign, rest = ''] = COMPARED.exec(text) as unknown as readonly [string, string?, string?]
  const at = rest.startsWith('+') ? null : (parseMoment(rest, 0)?.at ?? null)
  const hint = `Write ${field}:>=2030-01-31T09:00:00Z or ${field}:<2030-01-31T09:00:00Z.`
  if (at === null) {
    throw mistaken({ offset, word: text, problem: `${field} must be compared with a time and its zone`, hint })
  }
  if (sign !== undefined && sign !== '=') return { comparison: sign as Comparison, at }
  throw mistaken({ offset, word: text, problem: 'a comparison is missing', meant: `>=${rest}`, hint })
}

function spanOf(
  { text, offset }: ScannedValue,
  field: string,
): { readonly comparison: Comparison; readonly ms: number } {
  const [, sign, rest = ''] = COMPARED.exec(text) as unknown as readonly [
    string,
    string | undefined,
    string | undefined,
  ]
  const ms = /^\d+$/.test(rest) ? null : parseDuration(rest)
  const hint = `Write ${field}:>1h or ${field}:<=30m; the units are ms, s, m, h and d.`
  if (ms === null) throw mistaken({ offset, word: text, problem: `${field} must be compared with a duration`, hint })
  if (sign === undefined || sign === '=') {
    throw mistaken({ offset, word: text, problem: 'a comparison is missing', meant: `>${rest}`, hint })
  }
  return { comparison: sign as Comparison, ms }
}

function numberOf(
  { text, offset }: ScannedValue,
  field: string,
): { readonly comparison: Comparison | '='; readonly number: number } {
  const [, sign = '=', rest = ''] = COMPARED.exec(text) as unknown as readonly [string, string?, string?]
  const number = Number(rest)
  if (/^\d{1,9}$/.test(rest)) return { comparison: sign as Comparison | '=', number }
  const hint = `Write ${field}:3, ${field}:>3 or ${field}:<=3.`
  throw mistaken({ offset, word: text, problem: `${field} must be a whole number`, hint })
}

function flagOf({ text, offset }: ScannedValue, field: string): boolean {
  if (text === 'true' || text === 'false') return text === 'true'
  const meant = closest(text, ['true', 'false'])
  const hint = `Write ${field}:true or ${field}:false.`
  throw mistaken({ offset, word: text, problem: `${field} is true or false`, meant, hint })
}
