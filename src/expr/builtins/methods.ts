/** The methods that may be called on a value. The call decides: `d.items` is a key, `d.items()` the method. */

import type { Meter } from '../budget.ts'
import { ExprError } from '../errors.ts'
import { Alias, plainOf } from '../evaluate/alias.ts'
import { type Method, REQUIRED, type Table } from '../evaluate/callable.ts'
import { equals } from '../evaluate/compare.ts'
import { iterate, textArgument } from '../evaluate/lookup.ts'
import { indexIn } from '../evaluate/search.ts'
import { occurrences, textLength } from '../evaluate/text.ts'
import {
  type AnyDict,
  entriesOf,
  hasKey,
  isDict,
  itemsOf,
  keysOf,
  List,
  sizeOf,
  Tuple,
  typeName,
  type Value,
  valueAt,
} from '../evaluate/value.ts'
import { textMethods } from './methods-text.ts'

export const methods: Table<Method> = {
  get: {
    params: { key: REQUIRED, default: null },
    apply: (object, [key, fallback]) => {
      const dict = dictOf(object, 'get')
      return hasKey(dict, key) ? valueAt(dict, key) : fallback
    },
    faced: (object, [key, fallback], run) => {
      const name = plainOf(key)
      if (!(object instanceof Alias) || typeof name !== 'string') {
        return methods['get']?.apply(plainOf(object), [name, plainOf(fallback)], run)
      }
      const found = object.key(name)
      return found === undefined ? fallback : found
    },
  },
  keys: { params: {}, apply: (object, _args, { meter }) => new List(iterate(dictOf(object, 'keys'), meter)) },
  values: {
    params: {},
    apply: (object, _args, { meter }) => {
      const dict = dictOf(object, 'values')
      meter.slots(sizeOf(dict, meter))
      return new List(keysOf(dict, meter).map((key) => valueAt(dict, key)))
    },
  },
  items: {
    params: {},
    apply: (object, _args, { meter }) => {
      const dict = dictOf(object, 'items')
      meter.slots(sizeOf(dict, meter) * 3)
      return new List(entriesOf(dict, meter).map((entry) => new Tuple(entry)))
    },
  },

  ...textMethods,

  count: {
    params: { value: REQUIRED },
    apply: (object, [value], { meter }) => {
      if (typeof object === 'string') return occurrences(object, textArgument(value, '.count()'), meter)
      return sequence(object, 'count').filter((item) => equals(item, value, meter)).length
    },
  },
  index: {
    params: { value: REQUIRED },
    apply: (object, [value], { meter }) => {
      const at = positionOf(object, value, meter)
      if (at >= 0) return at
      throw new ExprError('expr_value', '.index(): it is not there; ask with `in` first')
    },
  },
}

function positionOf(object: Value, value: Value, meter: Meter): number {
  if (typeof object !== 'string') return sequence(object, 'index').findIndex((item) => equals(item, value, meter))
  const part = textArgument(value, '.index()')
  meter.read(object.length)
  meter.read(part.length)
  const at = indexIn(object, part)
  return at < 0 ? at : textLength(object.slice(0, at), meter)
}

function sequence(value: Value, method: string): readonly Value[] {
  const items = itemsOf(value)
  if (items !== null) return items
  throw new ExprError('expr_type', `.${method}() needs a str, a list or a tuple, not ${typeName(value)}`)
}

function dictOf(value: Value, method: string): AnyDict {
  if (isDict(value)) return value
  throw new ExprError('expr_type', `.${method}() needs a dict, not ${typeName(value)}${advice(value, '{}')}`)
}

function advice(value: Value, fallback: string): string {
  return value === undefined ? `: give it a value with \`| default(${fallback})\`` : ''
}
