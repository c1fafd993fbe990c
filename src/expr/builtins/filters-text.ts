import { ExprError } from '../errors.ts'
import { type Filter, REQUIRED, type Run, type Table } from '../evaluate/callable.ts'
import { intArgument, iterate, keyReader, textArgument } from '../evaluate/lookup.ts'
import { str } from '../evaluate/print.ts'
import { capitalize, replace, split, strip, title } from '../evaluate/text.ts'
import { List, type Value } from '../evaluate/value.ts'

export const textFilters: Table<Filter> = {
  ...onText({
    lower: (text) => text.toLowerCase(),
    upper: (text) => text.toUpperCase(),
    capitalize,
    title,
    b64encode: (text) => Buffer.from(text, 'utf8').toString('base64'),
    b64decode: decodeBase64,
  }),
  safe: { params: {}, apply: (value, _args, { meter }) => str(value, meter) },
  string: { params: {}, apply: (value, _args, { meter }) => str(value, meter) },
  trim: {
    params: { chars: null },
    apply: (value, [chars], { meter }) => {
      const drop = chars === null ? null : textArgument(chars, 'trim')
      return meter.text(strip(str(value, meter), drop, 'both', meter))
    },
  },
  split: {
    params: { sep: null, maxsplit: -1 },
    apply: (value, [separator, limit], { meter }) => {
      const at = separator === null ? null : textArgument(separator, 'split')
      return new List(split(str(value, meter), at, intArgument(limit, 'split'), meter))
    },
  },
  replace: {
    params: { old: REQUIRED, new: REQUIRED, count: null },
    apply: (value, [old, fresh, count], { meter }) => {
      const limit = count === null ? -1 : intArgument(count, 'replace')
      return replace(str(value, meter), str(old, meter), str(fresh, meter), limit, meter)
    },
  },
  join: { params: { d: '', attribute: null }, apply: join },
}

function onText(changes: { readonly [name: string]: (text: string) => string }): Table<Filter> {
  return Object.fromEntries(
    Object.entries(changes).map(([name, change]): [string, Filter] => [
      name,
      {
        params: {},
        apply: (value, _args, { meter }) => {
          const text = str(value, meter)
          meter.produce(Buffer.byteLength(text))
          return change(text)
        },
      },
    ]),
  )
}

function join(value: Value, [glue, attribute]: readonly Value[], { meter }: Run): string {
  const items = iterate(value, meter)
  const between = str(glue, meter)
  const read = keyReader(attribute, meter)
  meter.touch(items.length)
  meter.produce(Buffer.byteLength(between) * Math.max(0, items.length - 1))
  return items.map((item) => meter.text(str(read(item), meter))).join(between)
}

const BASE64 = /^[A-Za-z0-9+/\-_\s]*={0,2}$/

function decodeBase64(text: string): string {
  if (!BASE64.test(text.trim())) throw new ExprError('expr_value', 'b64decode needs base64 text')
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.from(text, 'base64'))
  } catch {
    throw new ExprError('expr_value', 'b64decode gives bytes that are not UTF-8 text: decode binary data in a step')
  }
}
