import { ExprError } from '../errors.ts'
import { plainOf } from '../evaluate/alias.ts'
import { type Args, type Filter, REQUIRED, type Run, type Table } from '../evaluate/callable.ts'
import { isTruthy } from '../evaluate/compare.ts'
import { item, iterate, length, pathReader } from '../evaluate/lookup.ts'
import { type Dict, isDict, isList, itemsOf, List, typeName, type Value } from '../evaluate/value.ts'
import { methods } from './methods.ts'

const count: Filter = { params: {}, apply: (value, _args, { meter }) => length(value, meter) }

export const collectionFilters: Table<Filter> = {
  length: count,
  count,
  first: { params: {}, apply: (value, _args, run) => end(value, 0, run) },
  last: { params: {}, apply: (value, _args, run) => end(value, -1, run) },
  list: {
    params: {},
    apply: (value, _args, { meter }) => (isList(value) ? value : new List(iterate(value, meter))),
  },
  reverse: {
    params: {},
    apply: (value, _args, { meter }) => {
      const items = iterate(value, meter)
      meter.slots(items.length)
      const reversed = items.toReversed()
      return typeof value === 'string' ? meter.text(reversed.join('')) : new List(reversed)
    },
  },
  keys: dictView('keys'),
  values: dictView('values'),
  items: dictView('items'),

  get: {
    params: { key: REQUIRED, default: null },
    apply: (value, args, run) => methods['get']?.apply(value, args, run),
    faced: (face, args, run) => methods['get']?.faced?.(face, args, run),
  },

  map: {
    params: { filter: null },
    rest: true,
    named: true,
    names: { table: 'filter', argument: 0 },
    apply: (value, [named, filter, ...args], run) => {
      const given = named as Dict
      const items = each(value, run)
      if (filter !== null) return new List(items.map((entry) => run.filter(filter, entry, args, given)))
      if (!given.has('attribute')) {
        throw new ExprError('expr_arguments', "map needs attribute='name' or the name of a filter")
      }
      const read = pathReader(given.get('attribute'), run.meter)
      const fallback = given.get('default')
      return new List(items.map((entry) => orElse(read(entry), fallback)))
    },
  },
  select: choose(true),
  reject: choose(false),
  selectattr: chooseByAttribute(true),
  rejectattr: chooseByAttribute(false),
}

function orElse(value: Value, fallback: Value): Value {
  return value === undefined ? fallback : value
}

/** Falsy values count as empty here, None included, as in Jinja2's map and select. */
function each(value: Value, { meter }: Run): readonly Value[] {
  if (!isTruthy(value, meter)) return []
  const items = iterate(value, meter)
  meter.touch(items.length)
  meter.slots(items.length)
  return items
}

function end(value: Value, position: 0 | -1, { meter }: Run): Value {
  if (typeof value === 'string' || itemsOf(value) !== null) return plainOf(item(value, position, meter))
  return iterate(value, meter).at(position)
}

/** undefined has no entries; anything else that is not a dict is a mistake worth reporting. */
function dictView(name: 'keys' | 'values' | 'items'): Filter {
  return {
    params: {},
    apply: (value, args, run) => {
      if (value === undefined) return new List([])
      if (isDict(value)) return methods[name]?.apply(value, args, run)
      throw new ExprError('expr_type', `${name} needs a dict, not ${typeName(value)}`)
    },
  }
}

function choose(keep: boolean): Filter {
  return {
    params: { test: null },
    rest: true,
    names: { table: 'test', argument: 0 },
    apply: (value, [test, ...args], run) =>
      new List(each(value, run).filter((entry) => passes(entry, test, args, run) === keep)),
  }
}

function chooseByAttribute(keep: boolean): Filter {
  return {
    params: { attribute: REQUIRED, test: null },
    rest: true,
    names: { table: 'test', argument: 1 },
    apply: (value, [attribute, test, ...args], run) => {
      const read = pathReader(attribute, run.meter)
      return new List(each(value, run).filter((entry) => passes(read(entry), test, args, run) === keep))
    },
  }
}

function passes(value: Value, test: Value, args: Args, run: Run): boolean {
  return test === null ? isTruthy(value, run.meter) : run.test(test, value, args)
}
