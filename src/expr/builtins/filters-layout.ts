/** Filters that lay text out: width, lines, length, escapes. */

import { ExprError } from '../errors.ts'
import type { Filter, Run, Table } from '../evaluate/callable.ts'
import { isTruthy } from '../evaluate/compare.ts'
import { fixed } from '../evaluate/decimal.ts'
import { intArgument, iterate, length, textArgument } from '../evaluate/lookup.ts'
import { str } from '../evaluate/print.ts'
import { printf } from '../evaluate/printf.ts'
import { center, characters, lines, textLength } from '../evaluate/text.ts'
import { Dict, entriesOf, isDict, isList, numberOf, Tuple, typeName, type Value } from '../evaluate/value.ts'

const escaped: Filter = {
  params: {},
  apply: (value, _args, { meter }) =>
    meter.text(meter.text(str(value, meter)).replace(/[&<>'"]/g, (char) => ENTITIES.get(char) ?? '')),
}

const ENTITIES: ReadonlyMap<string, string> = new Map([
  ['&', '&amp;'],
  ['<', '&lt;'],
  ['>', '&gt;'],
  ["'", '&#39;'],
  ['"', '&#34;'],
])

export const layoutFilters: Table<Filter> = {
  center: {
    params: { width: 80 },
    apply: (value, [width], { meter }) => center(str(value, meter), intArgument(width, 'center'), ' ', meter),
  },
  escape: escaped,
  e: escaped,
  filesizeformat: {
    params: { binary: false },
    apply: (value, [binary], run) => fileSize(run.filter('float', value, [null]), isTruthy(binary, run.meter)),
  },
  format: { params: {}, rest: true, named: true, apply: format },
  indent: { params: { width: 4, first: false, blank: false }, apply: indent },
  truncate: { params: { length: 255, killwords: false, end: '...', leeway: 5 }, apply: truncate },
  urlencode: { params: {}, apply: urlEncode },
  wordcount: {
    params: {},
    apply: (value, _args, { meter }) => {
      const text = str(value, meter)
      meter.text(text)
      return text.match(/[\p{L}\p{N}_]+/gu)?.length ?? 0
    },
  },
}

function format(value: Value, [named, ...args]: readonly Value[], { meter }: Run): string {
  const byName = named instanceof Dict && named.size > 0
  if (byName && args.length > 0) {
    throw new ExprError('expr_arguments', 'format takes values by place or by name, not both')
  }
  return printf(str(value, meter), byName ? named : new Tuple(args), meter)
}

function indent(value: Value, [width, first, blank]: readonly Value[], { meter }: Run): string {
  const text = textArgument(value, 'indent')
  if (typeof width !== 'string') meter.produce(Math.max(0, intArgument(width, 'indent')))
  const margin = typeof width === 'string' ? width : ' '.repeat(Math.max(0, intArgument(width, 'indent')))
  const [head = '', ...rest] = lines(`${text}\n`, meter)
  const blanks = isTruthy(blank, meter)
  meter.produce(Buffer.byteLength(margin) * (rest.length + 1))
  const indented = [head, ...rest.map((line) => (line === '' && !blanks ? line : margin + line))].join('\n')
  return isTruthy(first, meter) ? margin + indented : indented
}

/** A text a little too long (`leeway`) is left as it is; the length includes the end. */
function truncate(value: Value, [limit, killwords, end, leeway]: readonly Value[], { meter }: Run): Value {
  const most = intArgument(limit, 'truncate')
  const tail = textArgument(end, 'truncate')
  const tailLength = textLength(tail, meter)
  const spare = leeway === null ? 5 : intArgument(leeway, 'truncate')
  if (most < tailLength) throw new ExprError('expr_value', `truncate: the end is longer than ${most}`)
  if (spare < 0) throw new ExprError('expr_value', 'truncate: leeway cannot be negative')
  if (length(value, meter) <= most + spare) return value
  const kept = characters(textArgument(value, 'truncate'), meter)
    .slice(0, most - tailLength)
    .join('')
  const space = kept.lastIndexOf(' ')
  return meter.text((isTruthy(killwords, meter) || space < 0 ? kept : kept.slice(0, space)) + tail)
}

const UNITS = ['k', 'M', 'G', 'T', 'P', 'E', 'Z', 'Y'] as const

function fileSize(value: Value, binary: boolean): string {
  const bytes = numberOf(value)
  if (bytes === null) throw new ExprError('expr_type', 'filesizeformat needs a number of bytes')
  const base = binary ? 1024 : 1000
  if (bytes === 1) return '1 Byte'
  if (bytes < base) return `${Math.trunc(bytes)} Bytes`
  const found = UNITS.findIndex((_unit, at) => bytes < base ** (at + 2))
  const at = found < 0 ? UNITS.length - 1 : found
  const unit = binary ? `${(UNITS[at] as string).toUpperCase()}iB` : `${UNITS[at]}B`
  return `${fixed((base * bytes) / base ** (at + 2), 1)} ${unit}`
}

/** A text as part of a path; a dict or pairs as a query. */
function urlEncode(value: Value, _args: readonly Value[], { meter }: Run): string {
  if (value === undefined) return ''
  if (!isDict(value) && !isList(value) && !(value instanceof Tuple)) return quote(str(value, meter), '/', meter)
  meter.touch(length(value, meter))
  const pairs = isDict(value) ? entriesOf(value, meter) : iterate(value, meter).map((item) => pairOf(item, meter))
  return pairs
    .map(([key, item]) =>
      [key, item].map((part) => quote(str(part, meter), '', meter).replaceAll('%20', '+')).join('='),
    )
    .join('&')
}

function pairOf(item: Value, meter: Run['meter']): readonly [Value, Value] {
  const parts = iterate(item, meter)
  if (parts.length === 2) return [parts[0], parts[1]]
  throw new ExprError('expr_type', `urlencode needs a text, a dict or pairs, not a list of ${typeName(item)}`)
}

function quote(text: string, safe: string, meter: Run['meter']): string {
  meter.text(text)
  const encoded = encodeURIComponent(text.toWellFormed()).replace(
    /[!'()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return meter.text(safe === '/' ? encoded.replaceAll('%2F', '/') : encoded)
}
