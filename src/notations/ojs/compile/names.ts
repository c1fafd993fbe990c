/** Names on the wire: what a type, a queue, an id and a cron job may be called. */
import { kindOf, type Part } from '../../../kernel/reading/part.ts'

const JOB_ID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

/** What a name may look like. `is`, after "name is": its description for a client that sent another one. */
export interface NameRule {
  readonly pattern: RegExp
  readonly longest: number
  readonly is: string
  readonly hint: string
}

/** Hyphens are not in the text of the core specification, but its conformance cases use them. */
export const TYPE_NAME: NameRule = {
  pattern: /^[a-z][a-z0-9_-]*(?:\.[a-z][a-z0-9_-]*)*$/,
  longest: 255,
  is: 'dotted words in lower case',
  hint: 'such as email.send: a to z first, then also digits, _ and -, at most 255 characters',
}

const LOWER_CASE = {
  pattern: /^[a-z0-9][a-z0-9.-]*$/,
  is: 'a name in lower case',
}
const SPELLING = 'a to z, digits, dots and hyphens, a letter or digit first'

export const QUEUE_NAME: NameRule = { ...LOWER_CASE, longest: 128, hint: `${SPELLING}, at most 128 characters` }

export const CRON_NAME: NameRule = {
  ...LOWER_CASE,
  is: 'in lower case',
  longest: 255,
  hint: `${SPELLING}, at most 255 characters`,
}

/** Workers choose their names, which are stored in rows and logs. */
export const WORKER_NAME: NameRule = {
  pattern: /^[\x21-\x7e]+$/,
  longest: 200,
  is: 'a string without spaces',
  hint: 'at most 200 printable characters',
}

/** Holds jobs that were fetched without a worker_id. Contains a space, so that no worker can have this name. */
export const UNNAMED = 'a worker'

export function isJobId(text: unknown): text is string {
  return typeof text === 'string' && JOB_ID.test(text)
}

export function isQueueName(text: string): boolean {
  return follows(QUEUE_NAME, text)
}

export function follows({ pattern, longest }: NameRule, value: unknown): value is string {
  return typeof value === 'string' && value.length <= longest && pattern.test(value)
}

/** null: none was given, or a wrong one, which is noted. */
export function readId(part: Part): string | null {
  if (part.value === undefined) return null
  if (isJobId(part.value)) return part.value
  part.wrong(`id must be a UUIDv7 in lower case, not ${kindOf(part.value)}`, 'leave id out and the server makes one')
  return null
}

export function readType(part: Part): string {
  return readRequired(part, 'type', TYPE_NAME)
}

export function readQueue(part: Part): string | null {
  return readOptional(part, 'queue', QUEUE_NAME)
}

export function readCronName(part: Part): string {
  return readRequired(part, 'name', CRON_NAME)
}

export function readWorkerId(part: Part): string | null {
  return readOptional(part, 'worker_id', WORKER_NAME)
}

function readRequired(part: Part, name: string, rule: NameRule): string {
  const { value } = part
  if (follows(rule, value)) return value
  part.wrong(part.given ? `${name} must be ${rule.is}, not ${kindOf(value)}` : `${name} is missing`, rule.hint)
  return '?'
}

function readOptional(part: Part, name: string, rule: NameRule): string | null {
  if (!part.given) return null
  if (follows(rule, part.value)) return part.value
  part.wrong(`${name} must be ${rule.is}, not ${kindOf(part.value)}`, rule.hint)
  return null
}
