/** Names on the wire: what a type, a queue, an id and a cron job may be called. */
import { kindOf, type Part } from '../../source/reader.ts'

const JOB_ID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
/** Segments with hyphens are outside the core text, but its own conformance cases use them. */
const TYPE = /^[a-z][a-z0-9_-]*(?:\.[a-z][a-z0-9_-]*)*$/
const NAME = /^[a-z0-9][a-z0-9.-]*$/
const MAX_TYPE = 255
const MAX_QUEUE = 128
const MAX_CRON = 255
/** Workers name themselves; what they send ends up in rows and logs. */
const WORKER_ID = /^[\x21-\x7e]{1,200}$/
/** Holds jobs that were fetched without a worker_id. Has a space, so that no worker can call itself so. */
export const UNNAMED = 'a worker'

export function isJobId(text: unknown): text is string {
  return typeof text === 'string' && JOB_ID.test(text)
}

export function isQueueName(text: string): boolean {
  return NAME.test(text) && text.length <= MAX_QUEUE
}

/** null: none was given, or a wrong one, which is noted. */
export function readId(part: Part): string | null {
  if (part.value === undefined) return null
  if (isJobId(part.value)) return part.value
  part.wrong(`id is a UUIDv7 in lower case, this is ${kindOf(part.value)}`, 'leave id out and the server makes one')
  return null
}

export function readType(part: Part): string {
  const { value } = part
  if (typeof value === 'string' && TYPE.test(value) && value.length <= MAX_TYPE) return value
  part.wrong(
    part.given ? `type is dotted words in lower case, this is ${kindOf(value)}` : 'type is missing',
    `such as email.send: a to z first, then also digits, _ and -, at most ${MAX_TYPE} characters`,
  )
  return '?'
}

export function readQueue(part: Part): string | null {
  if (!part.given) return null
  if (typeof part.value === 'string' && isQueueName(part.value)) return part.value
  part.wrong(
    `queue is a name in lower case, this is ${kindOf(part.value)}`,
    `a to z, digits, dots and hyphens, a letter or digit first, at most ${MAX_QUEUE} characters`,
  )
  return null
}

export function readCronName(part: Part): string {
  if (typeof part.value === 'string' && NAME.test(part.value) && part.value.length <= MAX_CRON) return part.value
  part.wrong(
    part.given ? `name is in lower case, this is ${kindOf(part.value)}` : 'name is missing',
    `a to z, digits, dots and hyphens, a letter or digit first, at most ${MAX_CRON} characters`,
  )
  return '?'
}

export function readWorkerId(part: Part): string | null {
  if (!part.given) return null
  if (typeof part.value === 'string' && WORKER_ID.test(part.value)) return part.value
  part.wrong(`worker_id is a text without spaces, this is ${kindOf(part.value)}`, 'at most 200 printable characters')
  return null
}
