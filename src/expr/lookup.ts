import type { Meter } from './budget.ts'
import { ExprError } from './errors.ts'
import { characters, textLength } from './text.ts'
import {
  entriesOf,
  isDict,
  isInt,
  isList,
  itemsOf,
  List,
  numberOf,
  sizeOf,
  Tuple,
  typeName,
  type Value,
  valueAt,
} from './value.ts'

/** `value.name`: the key of a dict and nothing else; what is not there is undefined, on undefined too. */
export function attribute(value: Value, name: string): Value {
  return isDict(value) ? valueAt(value, name) : undefined
}

/** `value[key]`: a dict's key, or a position counted from the end when negative. */
export function item(value: Value, key: Value, meter: Meter): Value {
  if (isDict(value)) return itemsOf(key) === null && !isDict(key) && key !== undefined ? valueAt(value, key) : undefined
  const position = typeof key === 'boolean' ? Number(key) : key
  if (!isInt(position)) return undefined
  if (typeof value === 'string') {
    const char = characterAt(value, position, meter)
    return char === undefined ? undefined : meter.text(char)
  }
  return itemsOf(value)?.at(position)
}

function characterAt(text: string, position: number, meter: Meter): string | undefined {
  return textLength(text, meter) === text.length ? text.at(position) : characters(text, meter).at(position)
}

/** A dotted path such as `user.name` or `rows.0.id`, as the attribute arguments of filters take it. */
export function path(value: Value, dotted: Value, meter: Meter): Value {
  if (isInt(dotted)) return item(value, dotted, meter)
  if (typeof dotted !== 'string') {
    throw new ExprError('expr_type', `attribute needs a str such as 'user.name', not ${typeName(dotted)}`)
  }
  let found = value
  for (const part of dotted.split('.')) {
    found = /^\d+$/.test(part) && !isDict(found) ? item(found, Number(part), meter) : attribute(found, part)
  }
  return found
}

/** `value[start:stop:step]` */
export function slice(value: Value, start: Value, stop: Value, step: Value, meter: Meter): Value {
  if (value === undefined) return undefined
  const items = typeof value === 'string' ? characters(value, meter) : itemsOf(value)
  if (items === null) throw new ExprError('expr_type', `a slice needs a list, tuple or str, not ${typeName(value)}`)
  const picked = pick(items, bound(start), bound(stop), bound(step) ?? 1)
  meter.slots(picked.length)
  if (typeof value === 'string') return meter.text(picked.join(''))
  return isList(value) ? new List(picked) : new Tuple(picked)
}

function bound(value: Value): number | null {
  if (value === undefined || value === null) return null
  const position = typeof value === 'boolean' ? Number(value) : value
  if (isInt(position)) return position
  throw new ExprError('expr_type', `the bounds of a slice are ints or left out, not ${typeName(value)}`)
}

function pick(items: readonly Value[], start: number | null, stop: number | null, step: number): readonly Value[] {
  if (step === 0) throw new ExprError('expr_value', 'the step of a slice cannot be 0')
  const length = items.length
  const clamp = (position: number, low: number, high: number) =>
    Math.min(Math.max(position < 0 ? position + length : position, low), high)
  if (step > 0) {
    const from = start === null ? 0 : clamp(start, 0, length)
    const to = stop === null ? length : clamp(stop, 0, length)
    if (step === 1) return items.slice(from, to)
    return every(items, from, to, step)
  }
  const from = start === null ? length - 1 : clamp(start, -1, length - 1)
  const to = stop === null ? -1 : clamp(stop, -1, length - 1)
  return every(items, from, to, step)
}

function every(items: readonly Value[], from: number, to: number, step: number): readonly Value[] {
  const picked: Value[] = []
  for (let at = from; step > 0 ? at < to : at > to; at += step) picked.push(items[at])
  return picked
}

/** What a loop or a filter goes over: items, keys of a dict, characters of a text, nothing when undefined. */
export function iterate(value: Value, meter: Meter): readonly Value[] {
  const items = itemsOf(value)
  if (items !== null) return items
  if (value === undefined) return []
  if (typeof value === 'string') return characters(value, meter)
  if (isDict(value)) {
    meter.slots(sizeOf(value, meter))
    return entriesOf(value).map(([key]) => key)
  }
  throw new ExprError('expr_type', `${typeName(value)} cannot be iterated: a list, tuple, dict or str can`)
}

export function length(value: Value, meter: Meter): number {
  if (value === undefined) return 0
  if (typeof value === 'string') return textLength(value, meter)
  if (isDict(value)) return sizeOf(value, meter)
  const items = itemsOf(value)
  if (items === null)
    throw new ExprError('expr_type', `${typeName(value)} has no length: a list, tuple, dict or str has`)
  return items.length
}

/** An int argument of a filter, function or method. */
export function intArgument(value: Value, what: string): number {
  const number = numberOf(value)
  if (number !== null && Number.isSafeInteger(number)) return number
  throw new ExprError('expr_type', `${what} needs an int, not ${typeName(value)}: use \`| int\``)
}

export function textArgument(value: Value, what: string): string {
  if (typeof value === 'string') return value
  throw new ExprError('expr_type', `${what} needs a str, not ${typeName(value)}: use \`| string\``)
}
