import { createHash } from 'node:crypto'
import type { Json, Net } from '../net/net.ts'

/** SHA-256 of a UTF-8 text, in hex. */
export function sha256(text: string): string {
  return createHash('sha256').update(text, 'utf8').digest('hex')
}

/** Nets are shared by hash: equal shapes are one row, however often they are started. */
export function netHash(net: Net): string {
  return sha256(canonical(net as unknown as Json))
}

/** JSON with sorted keys. */
export function canonical(value: Json): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  const object = value as { readonly [key: string]: Json }
  const keys = Object.keys(object)
    .filter((k) => object[k] !== undefined)
    .sort()
  return `{${keys.map((k) => `${JSON.stringify(k)}:${canonical(object[k] as Json)}`).join(',')}}`
}
