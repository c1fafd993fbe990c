import { ExprError } from '../errors.ts'
import { type Func, REQUIRED, type Table } from '../evaluate/callable.ts'
import { intArgument, iterate, length, textArgument } from '../evaluate/lookup.ts'
import { Namespace } from '../evaluate/namespace.ts'
import { Dict, entriesOf, isDict, itemsOf, List, typeName, type Value, valueAt } from '../evaluate/value.ts'

/** Where a scope holds the time of the evaluation. No author can write this name. */
export const NOW = '$now'

const dict: Func = {
  params: { mapping: undefined },
  named: true,
  apply: ([mapping], { meter }, named) => {
    meter.slots(4 * (length(mapping, meter) + named.length))
    const pairs = isDict(mapping) ? entriesOf(mapping, meter) : iterate(mapping, meter).map(pairOf)
    return new Dict([...pairs, ...named])
  },
}

/** A dict of the given values: arguments and entries that are undefined are left out. */
const given: Func = {
  params: { mapping: undefined },
  named: true,
  apply: (args, run, named) => {
    const whole = dict.apply(args, run, named)
    return new Dict((whole as Dict).entries().filter(([, value]) => value !== undefined))
  },
}

const TOKEN_KEYS = ['token', 'access_token', 'value']

export const functions: Table<Func> = {
  range: {
    params: { start: REQUIRED, stop: null, step: 1 },
    apply: ([first, second, third], { meter }) => {
      const start = second === null ? 0 : intArgument(first, 'range()')
      const stop = intArgument(second === null ? first : second, 'range()')
      const step = intArgument(third, 'range()')
      if (step === 0) throw new ExprError('expr_value', 'the step of range() cannot be 0')
      const size = Math.max(0, Math.ceil((stop - start) / step))
      meter.slots(size)
      return new List(Array.from({ length: size }, (_empty, at) => start + at * step))
    },
  },

  /** The time of the evaluation is data: the caller puts it in the scope, so that a replay uses the same one. */
  now: {
    params: {},
    reads: NOW,
    apply: (_args, run) => {
      const now = run.scopeValue(NOW)
      if (now !== undefined) return now
      throw new ExprError('expr_unknown_name', 'now() is not available here: no time was given')
    },
  },

  dict,
  given,

  namespace: {
    params: { mapping: undefined },
    named: true,
    apply: (args, run, named) => {
      const entries = (dict.apply(args, run, named) as Dict).entries()
      return new Namespace(entries.map(([name, value]) => [textArgument(name, 'namespace()'), value] as const))
    },
  },

  /** The secret of a keychain entry, or its token. Scopes without a keychain have none. */
  token: {
    params: { entry: REQUIRED },
    reads: 'keychain',
    byKey: true,
    apply: ([entry], run) => {
      const name = textArgument(entry, 'token()')
      const keychain = run.scopeValue('keychain')
      const secret = isDict(keychain) ? valueAt(keychain, name) : undefined
      if (typeof secret === 'string') return secret
      const keys = isDict(secret) ? TOKEN_KEYS.map((key) => valueAt(secret, key)) : []
      const found = keys.find((value) => typeof value === 'string')
      if (found !== undefined) return found
      throw new ExprError(
        'expr_unknown_name',
        `token('${name}') needs a keychain entry of that name that is a text or has one of ${TOKEN_KEYS.join(', ')}`,
      )
    },
  },
}

function pairOf(item: Value): readonly [Value, Value] {
  const pair = itemsOf(item)
  if (pair?.length === 2) return [pair[0], pair[1]]
  throw new ExprError('expr_type', `dict() needs a dict or pairs such as ('a', 1), not ${typeName(item)}`)
}
