/** Filters that split lists or group them. */

import { ExprError } from '../errors.ts'
import { type Filter, REQUIRED, type Run, type Table } from '../evaluate/callable.ts'
import { equals, foldCase, isTruthy, order } from '../evaluate/compare.ts'
import { intArgument, iterate, pathReader } from '../evaluate/lookup.ts'
import { entriesOf, Group, isDict, List, sizeOf, Tuple, typeName, type Value } from '../evaluate/value.ts'

export const groupFilters: Table<Filter> = {
  batch: { params: { linecount: REQUIRED, fill_with: null }, apply: batch },
  slice: { params: { slices: REQUIRED, fill_with: null }, apply: slices },
  groupby: { params: { attribute: REQUIRED, default: null, case_sensitive: false }, apply: groupBy },
  dictsort: { params: { case_sensitive: false, by: 'key', reverse: false }, apply: dictSort },
}

function copied(value: Value, { meter }: Run): readonly Value[] {
  const items = iterate(value, meter)
  meter.touch(items.length)
  meter.slots(items.length * 2)
  return items
}

/** Rows of `linecount`; the last one is filled up if there is a fill value. */
function batch(value: Value, [linecount, fill]: readonly Value[], run: Run): Value {
  const items = copied(value, run)
  const width = intArgument(linecount, 'batch')
  if (width < 1) throw new ExprError('expr_value', 'batch needs a number above 0')
  const rows: Value[][] = []
  for (let at = 0; at < items.length; at += width) rows.push(items.slice(at, at + width))
  const last = rows.at(-1)
  if (fill !== null && last !== undefined) {
    run.meter.slots(width - last.length)
    while (last.length < width) last.push(fill)
  }
  return new List(rows.map((row) => new List(row)))
}

/** `slices` columns of nearly equal length; shorter ones are filled up if there is a fill value. */
function slices(value: Value, [count, fill]: readonly Value[], run: Run): Value {
  const items = copied(value, run)
  const columns = intArgument(count, 'slice')
  if (columns === 0) throw new ExprError('expr_value', 'slice needs a number above 0')
  run.meter.slots(Math.max(0, columns) * 2)
  const least = Math.floor(items.length / columns)
  const longer = items.length - least * columns
  const cut: Value[] = []
  let from = 0
  for (let at = 0; at < columns; at++) {
    const to = from + least + (at < longer ? 1 : 0)
    cut.push(new List(fill !== null && at >= longer ? [...items.slice(from, to), fill] : items.slice(from, to)))
    from = to
  }
  return new List(cut)
}

function groupBy(value: Value, [attribute, fallback, sensitive]: readonly Value[], run: Run): Value {
  const { meter } = run
  const caseSensitive = isTruthy(sensitive, meter)
  const read = pathReader(attribute, meter)
  const keyed = copied(value, run).map((item) => {
    const found = read(item)
    const key = found === undefined && fallback !== null ? fallback : found
    return { item, key, fold: foldCase(key, caseSensitive, meter) }
  })
  keyed.sort((left, right) => order(left.fold, right.fold, meter, '<'))
  const groups: { readonly key: Value; readonly fold: Value; readonly items: Value[] }[] = []
  for (const { item, key, fold } of keyed) {
    const last = groups.at(-1)
    if (last !== undefined && equals(last.fold, fold, meter)) last.items.push(item)
    else groups.push({ key, fold, items: [item] })
  }
  return new List(groups.map(({ key, items }) => new Group(key, new List(items))))
}

function dictSort(value: Value, [sensitive, by, reverse]: readonly Value[], run: Run): Value {
  const { meter } = run
  if (by !== 'key' && by !== 'value') throw new ExprError('expr_value', "dictsort's `by` is 'key' or 'value'")
  if (!isDict(value)) throw new ExprError('expr_type', `dictsort needs a dict, not ${typeName(value)}`)
  const caseSensitive = isTruthy(sensitive, meter)
  const direction = isTruthy(reverse, meter) ? -1 : 1
  meter.slots(sizeOf(value, meter) * 5)
  const at = by === 'key' ? 0 : 1
  const keyed = entriesOf(value, meter).map((entry) => ({ entry, key: foldCase(entry[at], caseSensitive, meter) }))
  keyed.sort((left, right) => direction * order(left.key, right.key, meter, '<'))
  return new List(keyed.map(({ entry }) => new Tuple(entry)))
}
