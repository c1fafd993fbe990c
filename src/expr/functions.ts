import { type Func, REQUIRED, type Table } from './callable.ts'
import { ExprError } from './errors.ts'
import { intArgument, iterate } from './lookup.ts'
import { Dict, entriesOf, isDict, itemsOf, List, typeName, type Value } from './value.ts'

export const functions: Table<Func> = {
  range: {
    params: { start: REQUIRED, stop: null, step: 1 },
    apply: ([first, second, third], { meter }) => {
      const start = second === null ? 0 : intArgument(first, 'range()')
      const stop = intArgument(second === null ? first : second, 'range()')
      const step = intArgument(third, 'range()')
      if (step === 0) throw new ExprError('expr_value', 'the step of range() cannot be 0')
      const length = Math.max(0, Math.ceil((stop - start) / step))
      meter.slots(length)
      return new List(Array.from({ length }, (_empty, at) => start + at * step))
    },
  },

  /** The time of the evaluation is data: the caller puts it in the scope, so that a replay sees the same one. */
  now: {
    params: {},
    reads: 'now',
    apply: (_args, run) => {
      const now = run.scopeValue('now')
      if (now !== undefined) return now
      throw new ExprError('expr_unknown_name', 'now() is not available here: the scope has no `now`')
    },
  },

  dict: {
    params: { mapping: null },
    named: true,
    apply: ([mapping], { meter }, named) => {
      const pairs = mapping === null || mapping === undefined ? [] : pairsOf(mapping, iterate(mapping, meter))
      meter.slots(2 * (pairs.length + named.length))
      return new Dict([...pairs, ...named])
    },
  },
}

function pairsOf(mapping: Value, items: readonly Value[]): readonly (readonly [Value, Value])[] {
  if (isDict(mapping)) return entriesOf(mapping)
  return items.map((item) => {
    const pair = itemsOf(item)
    if (pair?.length === 2) return [pair[0], pair[1]]
    throw new ExprError('expr_type', `dict() needs a dict or pairs such as ('a', 1), not ${typeName(item)}`)
  })
}
