import type { Json } from './net.ts'

export function isMap(json: Json | null | undefined): json is { readonly [key: string]: Json } {
  return typeof json === 'object' && json !== null && !Array.isArray(json)
}

/**
 * The same value with the keys of every map in one order, that of Postgres' jsonb: short before long, then by bytes. A
 * value that comes back from a store has its keys in that order or in the one it was written in; an expression that
 * iterates over them must give the same answer. A map that is already in order is returned unchanged.
 */
export function inOrder(value: Json): Json {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) {
    const items = value.map((item) => inOrder(item as Json))
    return items.every((item, i) => item === value[i]) ? value : items
  }
  const map = value as { readonly [key: string]: Json }
  const keys = Object.keys(map)
  const sorted = keys.every((key, i) => i === 0 || compareKeys(keys[i - 1] as string, key) < 0)
  let same = sorted
  const entries = (sorted ? keys : [...keys].sort(compareKeys)).map((key) => {
    const before = map[key] as Json
    const after = inOrder(before)
    if (after !== before) same = false
    return [key, after] as const
  })
  return same ? value : Object.fromEntries(entries)
}

const NOT_ASCII = /[^\0-\x7f]/

function compareKeys(a: string, b: string): number {
  if (!NOT_ASCII.test(a) && !NOT_ASCII.test(b)) return a.length - b.length || (a < b ? -1 : a > b ? 1 : 0)
  const [left, right] = [encoder.encode(a), encoder.encode(b)]
  if (left.length !== right.length) return left.length - right.length
  const at = left.findIndex((byte, i) => byte !== right[i])
  return at < 0 ? 0 : (left[at] as number) - (right[at] as number)
}

const encoder = new TextEncoder()
