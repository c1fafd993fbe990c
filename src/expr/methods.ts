/** The few methods that may be called on a value. The call decides: `d.items` is a key, `d.items()` the method. */
import { type Method, REQUIRED, type Table } from './callable.ts'
import { ExprError } from './errors.ts'
import { intArgument, iterate, textArgument } from './lookup.ts'
import { replace, split, strip } from './text.ts'
import { type AnyDict, entriesOf, hasKey, isDict, List, sizeOf, Tuple, typeName, type Value, valueAt } from './value.ts'

export const methods: Table<Method> = {
  get: {
    params: { key: REQUIRED, default: null },
    apply: (object, [key, fallback]) => {
      const dict = dictOf(object, 'get')
      return hasKey(dict, key) ? valueAt(dict, key) : fallback
    },
  },
  keys: { params: {}, apply: (object, _args, { meter }) => new List(iterate(dictOf(object, 'keys'), meter)) },
  values: {
    params: {},
    apply: (object, _args, { meter }) => {
      const dict = dictOf(object, 'values')
      meter.slots(sizeOf(dict, meter))
      return new List(entriesOf(dict).map(([, value]) => value))
    },
  },
  items: {
    params: {},
    apply: (object, _args, { meter }) => {
      const dict = dictOf(object, 'items')
      meter.slots(sizeOf(dict, meter) * 3)
      return new List(entriesOf(dict).map((entry) => new Tuple(entry)))
    },
  },

  upper: { params: {}, apply: (object, _args, { meter }) => meter.text(textOf(object, 'upper').toUpperCase()) },
  lower: { params: {}, apply: (object, _args, { meter }) => meter.text(textOf(object, 'lower').toLowerCase()) },
  strip: {
    params: { chars: null },
    apply: (object, [chars], { meter }) => {
      const drop = chars === null ? null : textArgument(chars, '.strip()')
      return meter.text(strip(textOf(object, 'strip'), drop, meter))
    },
  },
  split: {
    params: { sep: null, maxsplit: -1 },
    apply: (object, [separator, limit], { meter }) => {
      const at = separator === null ? null : textArgument(separator, '.split()')
      return new List(split(textOf(object, 'split'), at, intArgument(limit, '.split()'), meter))
    },
  },
  replace: {
    params: { old: REQUIRED, new: REQUIRED, count: -1 },
    apply: (object, [old, fresh, limit], { meter }) => {
      const what = '.replace()'
      const text = textOf(object, 'replace')
      return replace(text, textArgument(old, what), textArgument(fresh, what), intArgument(limit, what), meter)
    },
  },
  startswith: {
    params: { prefix: REQUIRED },
    apply: (object, [prefix]) => {
      const text = textOf(object, 'startswith')
      return choices(prefix).some((choice) => text.startsWith(textArgument(choice, '.startswith()')))
    },
  },
  endswith: {
    params: { suffix: REQUIRED },
    apply: (object, [suffix]) => {
      const text = textOf(object, 'endswith')
      return choices(suffix).some((choice) => text.endsWith(textArgument(choice, '.endswith()')))
    },
  },
  join: {
    params: { items: REQUIRED },
    apply: (object, [items], { meter }) => {
      const glue = textOf(object, 'join')
      const parts = iterate(items, meter)
      meter.touch(parts.length)
      meter.produce(Buffer.byteLength(glue) * Math.max(0, parts.length - 1))
      return parts.map((part) => meter.text(textArgument(part, '.join()'))).join(glue)
    },
  },
}

function choices(value: Value): readonly Value[] {
  return value instanceof Tuple ? value.items : [value]
}

function dictOf(value: Value, method: string): AnyDict {
  if (isDict(value)) return value
  throw new ExprError('expr_type', `.${method}() needs a dict, not ${typeName(value)}${advice(value, '{}')}`)
}

function textOf(value: Value, method: string): string {
  if (typeof value === 'string') return value
  throw new ExprError('expr_type', `.${method}() needs a str, not ${typeName(value)}${advice(value, "''")}`)
}

function advice(value: Value, fallback: string): string {
  return value === undefined ? `: give it a value with \`| default(${fallback})\`` : ''
}
