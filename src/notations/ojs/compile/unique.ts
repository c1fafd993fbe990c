/** Unique jobs: reads the policy, and makes the key that equal jobs share. */
import { canonical, sha256 } from '../../../kernel/hash.ts'
import type { Part } from '../../../kernel/reading/part.ts'
import type { Json } from '../../../net/net.ts'
import { JOB_STATES, type JobState } from '../project/state.ts'

export interface UniqueAsked {
  /** SHA-256, in hex, of the parts that must be equal. */
  readonly key: string
  /** Counted from the creation of the job that holds the key; null: for as long as it is in one of the states. */
  readonly periodMs: number | null
  readonly states: readonly JobState[]
  readonly onConflict: 'reject' | 'ignore' | 'replace' | 'replace_except_schedule'
}

type JsonObject = { readonly [key: string]: Json }

export interface UniqueOf {
  readonly type: string
  readonly queue: string
  readonly args: readonly Json[]
  readonly meta: JsonObject
}

const DIMENSIONS = ['type', 'queue', 'args', 'meta'] as const
const CONFLICTS = ['reject', 'ignore', 'replace', 'replace_except_schedule'] as const
const LIVE: readonly JobState[] = ['available', 'active', 'scheduled', 'retryable', 'pending']

export function readUnique(part: Part, job: UniqueOf): UniqueAsked | null {
  if (!part.given) return null
  if (!part.isObject) {
    part.wrong('unique is an object', 'such as { "keys": ["type", "args"], "on_conflict": "ignore" }')
    return null
  }
  const keys = choices(part.get(part.has('keys') ? 'keys' : 'key'), 'keys', DIMENSIONS) ?? []
  const argsKeys = texts(part.get('args_keys'), 'args_keys')
  const metaKeys = texts(part.get('meta_keys'), 'meta_keys')
  const parts: Record<string, Json> = { type: job.type }
  if (keys.includes('queue')) parts['queue'] = job.queue
  if (argsKeys !== null) parts['args'] = pickArgs(part.get('args_keys'), job.args, argsKeys)
  else if (keys.includes('args')) parts['args'] = job.args
  if (metaKeys !== null) parts['meta'] = pickMeta(job.meta, metaKeys)
  else if (keys.includes('meta')) {
    part.wrong('unique by meta needs meta_keys', 'name the entries of meta that count, such as ["tenant_id"]')
  }
  return {
    key: sha256(canonical(normal(parts))),
    periodMs: part.get('period').isoDuration('period'),
    states: choices(part.get('states'), 'states', JOB_STATES) ?? LIVE,
    onConflict: part.get('on_conflict').choice('on_conflict', CONFLICTS) ?? 'reject',
  }
}

/** args is a list: a key names an entry of the first object that has it, or, if it consists of digits, an index. */
function pickArgs(part: Part, args: readonly Json[], keys: readonly string[]): Json {
  const found: Record<string, Json> = {}
  for (const [i, key] of keys.entries()) {
    const holder = /^\d+$/.test(key) ? args : args.find((arg) => isObject(arg) && Object.hasOwn(arg, key))
    const value = holder === undefined ? undefined : (holder as JsonObject)[key]
    if (value === undefined) part.items('args_keys')[i]?.wrong(`args has no entry '${key}'`)
    else found[key] = value
  }
  return found
}

function pickMeta(meta: JsonObject, keys: readonly string[]): Json {
  return Object.fromEntries(keys.map((key) => [key, Object.hasOwn(meta, key) ? (meta[key] as Json) : null]))
}

function isObject(value: Json): value is JsonObject {
  return value !== null && typeof value === 'object' && !Array.isArray(value)
}

/** Unicode has several spellings of the same text; NFC is one of them. */
function normal(value: Json): Json {
  if (typeof value === 'string') return value.normalize('NFC')
  if (Array.isArray(value)) return value.map(normal)
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key.normalize('NFC'), normal(item)]))
}

function choices<T extends string>(part: Part, what: string, allowed: readonly T[]): readonly T[] | null {
  if (!part.given) return null
  return part.items(what).flatMap((item) => item.choice(`an entry of ${what}`, allowed) ?? [])
}

/** null: not given, or empty. */
function texts(part: Part, what: string): readonly string[] | null {
  const list = part.items(what).flatMap((item) => item.text(`an entry of ${what}`) ?? [])
  return list.length === 0 ? null : list
}
