import type { Meter } from '../budget.ts'
import { ExprError } from '../errors.ts'
import { Alias, type Face, plainOf } from './alias.ts'
import { characters, split, textLength } from './text.ts'
import {
  Group,
  isDict,
  isInt,
  isList,
  itemsOf,
  keysOf,
  List,
  sizeOf,
  Tuple,
  typeName,
  type Value,
  valueAt,
} from './value.ts'

/** `value.name`: only a key of a dict; a missing one is undefined, as is any key of undefined. */
export function attribute(value: Face, name: string): Face {
  if (value instanceof Alias) return value.key(name)
  if (isDict(value)) return valueAt(value, name)
  return value instanceof Group ? value.named(name) : undefined
}

/** `value[key]`: a dict's key, or a position counted from the end when negative. */
export function item(value: Face, key: Value, meter: Meter): Face {
  if (value instanceof Alias) return typeof key === 'string' ? value.key(key) : item(value.plain, key, meter)
  if (isDict(value)) return isList(key) || isDict(key) || key === undefined ? undefined : valueAt(value, key)
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

/** Follows a dotted path such as `user.name` or `rows.0.id`, as in the attribute arguments of filters. */
export function pathReader(dotted: Value, meter: Meter): (value: Value) => Value {
  if (isInt(dotted)) return (value) => plainOf(item(value, dotted, meter))
  if (typeof dotted !== 'string') {
    throw new ExprError('expr_type', `attribute needs a str such as 'user.name', not ${typeName(dotted)}`)
  }
  const parts = split(dotted, '.', -1, meter).map((part) => ({ part, position: /^\d+$/.test(part) }))
  return (value) => {
    meter.touch(parts.length - 1)
    let found: Face = value
    for (const { part, position } of parts) {
      found = position && !isDict(plainOf(found)) ? item(found, Number(part), meter) : attribute(found, part)
    }
    return plainOf(found)
  }
}

/** The same where the path is optional: null reads the value itself. */
export function keyReader(dotted: Value, meter: Meter): (value: Value) => Value {
  return dotted === null ? (value) => value : pathReader(dotted, meter)
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

/**
 * The elements a loop or a filter iterates over: items, keys of a dict, characters of a text, nothing when undefined.
 */
export function iterate(value: Value, meter: Meter): readonly Value[] {
  const items = itemsOf(value)
  if (items !== null) return items
  if (value === undefined) return []
  if (typeof value === 'string') return characters(value, meter)
  if (isDict(value)) {
    meter.slots(sizeOf(value, meter))
    return keysOf(value, meter)
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
  if (isInt(value)) return value
  if (typeof value === 'boolean') return Number(value)
  throw new ExprError('expr_type', `${what} needs an int, not ${typeName(value)}: use \`| int\``)
}

export function textArgument(value: Value, what: string): string {
  if (typeof value === 'string') return value
  throw new ExprError('expr_type', `${what} needs a str, not ${typeName(value)}: use \`| string\``)
}
