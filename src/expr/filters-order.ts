/** Filters that put items in order or pick by order. Texts compare without case unless asked, as in Jinja2. */
import type { Filter, Run, Table } from './callable.ts'
import { isTruthy, order } from './compare.ts'
import { iterate, path } from './lookup.ts'
import { hashOf, List, Tuple, type Value } from './value.ts'

export const orderFilters: Table<Filter> = {
  sort: {
    params: { reverse: false, case_sensitive: false, attribute: null },
    apply: (value, [reverse, caseSensitive, attribute], run) => {
      const keyed = keyedBy(value, attribute, isTruthy(caseSensitive, run.meter), run)
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
      const seen = new Set<string>()
      const fresh = keyedBy(value, attribute, isTruthy(caseSensitive, run.meter), run).filter(({ keys }) => {
        const hash = hashOf(new Tuple(keys))
        return !seen.has(hash) && seen.add(hash)
      })
      return new List(fresh.map(({ item }) => item))
    },
  },
}

function extreme(direction: 1 | -1): Filter {
  return {
    params: { case_sensitive: false, attribute: null },
    apply: (value, [caseSensitive, attribute], run) => {
      const [first, ...others] = keyedBy(value, attribute, isTruthy(caseSensitive, run.meter), run)
      let best = first
      for (const other of others) {
        if (best !== undefined && compareKeys(other.keys, best.keys, run) * direction > 0) best = other
      }
      return best?.item
    },
  }
}

interface Keyed {
  readonly item: Value
  readonly keys: readonly Value[]
}

/** attribute: a dotted path, or several separated by commas. */
function keyedBy(value: Value, attribute: Value, caseSensitive: boolean, { meter }: Run): Keyed[] {
  const items = iterate(value, meter)
  meter.slots(items.length * 2)
  meter.touch(items.length)
  const paths: readonly Value[] = typeof attribute === 'string' ? attribute.split(',') : [attribute]
  const fold = (key: Value) => (typeof key === 'string' && !caseSensitive ? key.toLowerCase() : key)
  return items.map((item) => ({
    item,
    keys: paths.map((dotted) => fold(dotted === null ? item : path(item, dotted, meter))),
  }))
}

function compareKeys(left: readonly Value[], right: readonly Value[], { meter }: Run): number {
  for (let at = 0; at < left.length; at++) {
    const difference = order(left[at], right[at], meter, '<')
    if (difference !== 0) return difference
  }
  return 0
}
