/** Methods of texts, as in Python's str. */
import type { Meter } from '../budget.ts'
import { ExprError } from '../errors.ts'
import { type Method, REQUIRED, type Table } from '../evaluate/callable.ts'
import { intArgument, iterate, textArgument } from '../evaluate/lookup.ts'
import { indexIn, lastIndexIn } from '../evaluate/search.ts'
import {
  capitalize,
  center,
  isLower,
  isUpper,
  lines,
  padEnd,
  padStart,
  replace,
  type Side,
  split,
  splitFromEnd,
  strip,
  swapCase,
  textLength,
  titleCase,
} from '../evaluate/text.ts'
import { List, Tuple, typeName, type Value } from '../evaluate/value.ts'

export const textMethods: Table<Method> = {
  upper: changed('upper', (text) => text.toUpperCase()),
  lower: changed('lower', (text) => text.toLowerCase()),
  capitalize: changed('capitalize', capitalize),
  title: changed('title', titleCase),
  swapcase: changed('swapcase', swapCase),
  strip: stripped('strip', 'both'),
  lstrip: stripped('lstrip', 'start'),
  rstrip: stripped('rstrip', 'end'),
  removeprefix: {
    params: { prefix: REQUIRED },
    apply: (object, [prefix], { meter }) => {
      const text = textOf(object, 'removeprefix')
      const start = textArgument(prefix, '.removeprefix()')
      return meter.text(text.startsWith(start) ? text.slice(start.length) : text)
    },
  },
  removesuffix: {
    params: { suffix: REQUIRED },
    apply: (object, [suffix], { meter }) => {
      const text = textOf(object, 'removesuffix')
      const end = textArgument(suffix, '.removesuffix()')
      return meter.text(text.endsWith(end) ? text.slice(0, text.length - end.length) : text)
    },
  },
  split: {
    params: { sep: null, maxsplit: -1 },
    apply: (object, [separator, limit], { meter }) => {
      const at = separator === null ? null : textArgument(separator, '.split()')
      return new List(split(textOf(object, 'split'), at, intArgument(limit, '.split()'), meter))
    },
  },
  rsplit: {
    params: { sep: null, maxsplit: -1 },
    apply: (object, [separator, limit], { meter }) => {
      const at = separator === null ? null : textArgument(separator, '.rsplit()')
      return new List(splitFromEnd(textOf(object, 'rsplit'), at, intArgument(limit, '.rsplit()'), meter))
    },
  },
  splitlines: {
    params: {},
    apply: (object, _args, { meter }) => new List(lines(textOf(object, 'splitlines'), meter)),
  },
  partition: parted('partition', indexIn),
  rpartition: parted('rpartition', lastIndexIn),
  replace: {
    params: { old: REQUIRED, new: REQUIRED, count: -1 },
    apply: (object, [old, fresh, limit], { meter }) => {
      const what = '.replace()'
      const text = textOf(object, 'replace')
      return replace(text, textArgument(old, what), textArgument(fresh, what), intArgument(limit, what), meter)
    },
  },
  startswith: edged('startswith', 'prefix', (text, prefix) => text.startsWith(prefix)),
  endswith: edged('endswith', 'suffix', (text, suffix) => text.endsWith(suffix)),
  find: searched('find', indexIn),
  rfind: searched('rfind', lastIndexIn),
  isdigit: checked('isdigit', (text) => DIGITS.test(text)),
  isalpha: checked('isalpha', (text) => /^\p{L}+$/u.test(text)),
  isalnum: checked('isalnum', (text) => /^[\p{L}\p{N}]+$/u.test(text)),
  isspace: checked('isspace', (text, meter) => text !== '' && strip(text, null, 'both', meter) === ''),
  islower: checked('islower', isLower),
  isupper: checked('isupper', isUpper),
  zfill: {
    params: { width: REQUIRED },
    apply: (object, [width], { meter }) => {
      const text = textOf(object, 'zfill')
      const size = intArgument(width, '.zfill()')
      meter.produce(Buffer.byteLength(text) + Math.max(0, size))
      const sign = /^[+-]/.exec(text)?.[0] ?? ''
      return sign + padStart(text.slice(sign.length), size - sign.length, '0', meter)
    },
  },
  ljust: aligned('ljust', padEnd),
  rjust: aligned('rjust', padStart),
  center: aligned('center', center),
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

const DIGITS = /^[\p{Nd}\u00b2\u00b3\u00b9\u2070\u2074-\u2079\u2080-\u2089]+$/u

function changed(name: string, change: (text: string) => string): Method {
  return { params: {}, apply: (object, _args, { meter }) => meter.text(change(meter.text(textOf(object, name)))) }
}

function checked(name: string, check: (text: string, meter: Meter) => boolean): Method {
  return {
    params: {},
    apply: (object, _args, { meter }) => {
      const text = textOf(object, name)
      meter.read(text.length)
      return check(text, meter)
    },
  }
}

function stripped(name: string, side: Side): Method {
  return {
    params: { chars: null },
    apply: (object, [chars], { meter }) => {
      const drop = chars === null ? null : textArgument(chars, `.${name}()`)
      return meter.text(strip(textOf(object, name), drop, side, meter))
    },
  }
}

/** Whether one of the choices is at that edge of the text. */
function edged(name: string, param: string, check: (text: string, edge: string) => boolean): Method {
  return {
    params: { [param]: REQUIRED },
    apply: (object, [wanted], { meter }) => {
      const text = textOf(object, name)
      return choices(wanted).some((choice) => {
        const edge = textArgument(choice, `.${name}()`)
        meter.read(edge.length)
        return check(text, edge)
      })
    },
  }
}

/** Positions count code points. */
function searched(name: string, search: (text: string, wanted: string) => number): Method {
  return {
    params: { sub: REQUIRED },
    apply: (object, [wanted], { meter }) => {
      const text = textOf(object, name)
      const part = textArgument(wanted, `.${name}()`)
      meter.read(text.length)
      meter.read(part.length)
      const at = search(text, part)
      return at < 0 ? -1 : textLength(text.slice(0, at), meter)
    },
  }
}

function parted(name: string, search: (text: string, separator: string) => number): Method {
  return {
    params: { sep: REQUIRED },
    apply: (object, [sep], { meter }) => {
      const text = meter.text(textOf(object, name))
      const separator = textArgument(sep, `.${name}()`)
      meter.read(separator.length)
      if (separator === '') throw new ExprError('expr_value', `.${name}() needs a separator that is not empty`)
      const at = search(text, separator)
      if (at < 0) return new Tuple(name === 'partition' ? [text, '', ''] : ['', '', text])
      return new Tuple([text.slice(0, at), separator, text.slice(at + separator.length)])
    },
  }
}

function aligned(name: string, align: (text: string, width: number, fill: string, meter: Meter) => string): Method {
  return {
    params: { width: REQUIRED, fillchar: ' ' },
    apply: (object, [width, fillchar], { meter }) => {
      const text = textOf(object, name)
      const size = intArgument(width, `.${name}()`)
      const fill = textArgument(fillchar, `.${name}()`)
      if (Array.from(fill.slice(0, 4)).length !== 1)
        throw new ExprError('expr_type', `.${name}() fills with one character`)
      meter.produce(Buffer.byteLength(text) + Math.max(0, size) * Buffer.byteLength(fill))
      return align(text, size, fill, meter)
    },
  }
}

function choices(value: Value): readonly Value[] {
  return value instanceof Tuple ? value.items : [value]
}

function textOf(value: Value, method: string): string {
  if (typeof value === 'string') return value
  const advice = value === undefined ? ": give it a value with `| default('')`" : ''
  throw new ExprError('expr_type', `.${method}() needs a str, not ${typeName(value)}${advice}`)
}
