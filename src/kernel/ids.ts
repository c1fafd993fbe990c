/**
 * UUIDv7 in the order they are made: ids break ties between runs due at the same moment. The library's v7 asks the
 * system for random bytes every 16 ids, which took 4 % of a settle; here a pool of 4,096 bytes lasts for 512.
 */

import { randomFillSync } from 'node:crypto'
import { sha256 } from './hash.ts'

const pool = Buffer.alloc(4096)
/** The same bytes in hex, 16 digits an id: a piece of a text is cheaper than a piece of a buffer. */
let hex = ''
let used = 0
let lastMs = 0
/** `lastMs` in the form in which an id begins with it. */
let time = ''
/** 12 bits after the time: a counter within one millisecond. */
let sequence = 0

export function newId(): string {
  const ms = Date.now()
  if (ms > lastMs) begin(ms)
  // More than 4,096 in a millisecond: borrow from the next one.
  else if (++sequence > 0xfff) begin(lastMs + 1)
  if (used === hex.length) refill()
  const at = used
  used += 16
  const counter = sequence === 0 ? '000' : sequence.toString(16).padStart(3, '0')
  return `${time}-7${counter}-${hex.slice(at, at + 4)}-${hex.slice(at + 4, at + 16)}`
}

function refill(): void {
  randomFillSync(pool)
  // The variant: two fixed bits in front of the random ones.
  for (let at = 0; at < pool.length; at += 8) pool[at] = ((pool[at] as number) & 0x3f) | 0x80
  hex = pool.toString('hex')
  used = 0
}

function begin(ms: number): void {
  lastMs = ms
  sequence = 0
  const text = ms.toString(16).padStart(12, '0')
  time = `${text.slice(0, 8)}-${text.slice(8)}`
}

const SHAPE = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/** Whether a text may be the id of a run or an instance. */
export function isId(text: string): boolean {
  return SHAPE.test(text)
}

/** The id for a name chosen by a caller: a UUIDv8 made of its hash, the same every time. */
export function idOfName(name: string): string {
  const hex = sha256(name)
  const variant = ((Number.parseInt(hex.slice(16, 18), 16) & 0x3f) | 0x80).toString(16)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(18, 20)}-${hex.slice(20, 32)}`
}

/** An id as it is stored, whatever case it was written in; null: the text is not an id. */
export function readId(text: string): string | null {
  const id = text.toLowerCase()
  return SHAPE.test(id) ? id : null
}
