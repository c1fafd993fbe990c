/** What makes two failures the same: type of work, code, node, and the message without what differs each time. */
import { sha256 } from '../../kernel/hash.ts'

/** Characters of a message that are stored. */
export const MAX_MESSAGE = 1_000
/** Characters of a message that distinguish groups. */
const MAX_COMPARED = 500

export interface Cause {
  readonly tenant: string | null
  readonly type: string
  readonly code: string
  readonly node: string | null
  /** As reported. */
  readonly message: string
}

/** Tenants have groups of their own. */
export function fingerprintOf({ tenant, type, code, node, message }: Cause): string {
  return sha256(JSON.stringify([tenant, type, code, node, withoutIds(message)])).slice(0, 16)
}

const UUID = /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi
/** A word of at least eight hexadecimal digits of which one is a number: a hash, a trace id. */
const HEX = /\b(?=[0-9a-f]*\d)[0-9a-f]{8,}\b/gi
const NUMBER = /\d+(?:[.,:]\d+)*/g

/** `order 17 of 2026-01-31` and `order 18 of 2026-02-01` are both `order # of #-#-#`. */
export function withoutIds(message: string): string {
  const start = message.slice(0, 2 * MAX_COMPARED)
  const plain = start.replace(UUID, '#').replace(HEX, '#').replace(NUMBER, '#').replace(/\s+/g, ' ').trim()
  return plain.slice(0, MAX_COMPARED)
}

const LONE = /\p{Surrogate}/gu

/** The beginning of a message, as a text that every store accepts. */
export function storedMessage(message: string): string {
  return message.slice(0, MAX_MESSAGE).replace(LONE, '\ufffd').replaceAll('\0', '')
}
