/** Fields of several request bodies. */

import {
  MAX_FAIR_KEY_LENGTH,
  MAX_IDEMPOTENCY_KEY_LENGTH,
  MAX_INBOX_ATTEMPTS,
  MAX_TYPE_LENGTH,
} from '../../kernel/limits.ts'
import { parseMoment } from '../../kernel/moments.ts'
import { VERSIONED } from '../../model/inbox.ts'
import { HELD_AT } from '../../model/rows.ts'
import { line, type More, type Schema, storable, text, whole } from '../schema.ts'

/** The range of an integer column. */
const INTEGER = { minimum: -(2 ** 31), maximum: 2 ** 31 - 1 }

export const TYPE = text({
  description: 'Dotted, and ends in a version.',
  pattern: VERSIONED.source,
  maxLength: MAX_TYPE_LENGTH,
  is: 'dotted and ends in a version',
  hint: `such as billing.invoice.v1: no spaces, at most ${MAX_TYPE_LENGTH} characters`,
  fits: (value: string) => value.length <= MAX_TYPE_LENGTH && VERSIONED.test(value) && storable(value),
})

/** A name, within the limits of a column for names. */
export function name(more: More | string = {}): Schema<string> {
  return line(MAX_TYPE_LENGTH, more)
}

export function key(more: More | string = {}): Schema<string> {
  return line(MAX_IDEMPOTENCY_KEY_LENGTH, more)
}

export const QUEUE = name({ default: 'default' })

/** The key that a run shares its queue under. */
export const FAIR_KEY = line(
  MAX_FAIR_KEY_LENGTH,
  'Runs of a queue and priority are handed out by turns of their keys, such as those of its customers.',
)

export const PRIORITY = whole({ description: 'Smaller is earlier.', default: 100, ...INTEGER })

export const MAX_ATTEMPTS = whole({
  description: 'Executions in total.',
  minimum: 1,
  maximum: MAX_INBOX_ATTEMPTS,
  default: 3,
})

/** The runtime that a worker states and the registry compares. */
export function runtime(description: string): Schema<string> {
  return name({
    description,
    pattern: '^\\S(?:[^]*\\S)?$',
    fits: (value: string) => value === value.trim(),
    is: `a text of 1 to ${MAX_TYPE_LENGTH} characters without spaces around it`,
    hint: 'a name such as node, go or python',
  })
}

/** Parsed by momentAt(). */
export function moment(description: string): Schema<string> {
  return text({
    description,
    format: 'date-time',
    is: 'a date and time between 1970 and 9999',
    hint: 'RFC 3339 with a time zone, such as 2030-01-31T09:00:00Z',
    fits: (value: string) => readMoment(value) !== null,
  })
}

export function momentAt(value: string): number {
  return readMoment(value) as number
}

function readMoment(value: string): number | null {
  const at = value.startsWith('+') ? null : (parseMoment(value, 0)?.at ?? null)
  return at !== null && at >= 0 && at < HELD_AT ? at : null
}
