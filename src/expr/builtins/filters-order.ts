/** Filters that sort items or pick by order. Texts compare without case unless requested, as in Jinja2. */
import type { Filter, Run, Table } from '../evaluate/callable.ts'
import { equals, foldCase, isTruthy, order } from '../evaluate/compare.ts'
import { iterate, keyReader } from '../evaluate/lookup.ts'
import { split } from '../evaluate/text.ts'
import { hashOf, List, type Value } from '../evaluate/value.ts'

export const orderFilters: Table<Filter> = {
  sort: {
    params: { reverse: false, case_sensitive: false, attribute: null },
    apply: (value, [reverse, caseSensitive, attribute], run) => {
      // Several attributes, separated by commas: later ones decide between items whose earlier ones are equal.
      const paths = typeof attribute === 'string' ? split(attribute, ',', -1, run.meter) : [attribute]
      const keyed = keyedBy(value, paths, isTruthy(caseSensitive, run.meter), run)
      const direction = isTruthy(reverse, run.meter) ? -1 : 1
      keyed.sort((left, right) => direction * compareKeys(left.keys, right.keys, run))
      return new List(keyed.map(({ item }) => item))
    },
  },
  min: extreme(-1),
  max: extreme(1),
  unique: {
    params: { case_sensitive: false, attribute: null },
    apply: (value, [caseSensitive, attribute], run) => {
      const seen = new Set<unknown>()
      const fresh = keyedBy(value, [attribute], isTruthy(caseSensitive, run.meter), run).filter(({ keys: [key] }) => {
        const hash = hashOf(key)
        return !seen.has(hash) && seen.add(hash)
      })
      return new List(fresh.map(({ item }) => item))
    },
  },
}

function extreme(direction: 1 | -1): Filter {
  const operator = direction > 0 ? '>' : '<'
  return {
    params: { case_sensitive: false, attribute: null },
    apply: (value, [caseSensitive, attribute], run) => {
      const [first, ...others] = keyedBy(value, [attribute], isTruthy(caseSensitive, run.meter), run)
      let best = first
      for (const other of others) {
        if (order(other.keys[0], best?.keys[0], run.meter, operator) * direction > 0) best = other
      }
      return best?.item
    },
  }
}

interface Keyed {
  readonly item: Value
  readonly keys: readonly Value[]
}

function keyedBy(value: Value, paths: readonly Value[], caseSensitive: boolean, { meter }: Run): Keyed[] {
  const items = iterate(value, meter)
  const readers = paths.map((dotted) => keyReader(dotted, meter))
  meter.slots(items.length * (1 + readers.length))
  meter.touch(items.length)
  return items.map((item) => ({ item, keys: readers.map((read) => foldCase(read(item), caseSensitive, meter)) }))
}

function compareKeys(left: readonly Value[], right: readonly Value[], { meter }: Run): number {
  for (let at = 0; at < left.length; at++) {
    if (left[at] === right[at] || equals(left[at], right[at], meter)) continue
    return order(left[at], right[at], meter, '<')
  }
  return 0
}
