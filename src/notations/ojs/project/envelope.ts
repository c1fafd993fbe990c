/**
 * The parts of a job's envelope that have no column. They are in `meta.petrel.ojs` of the run, beside the client's own
 * meta, and are never part of the meta on the wire.
 */

import { kindOf, type Part } from '../../../kernel/reading/part.ts'
import type { JsonText } from '../../../model/rows.ts'
import type { Json } from '../../../net/net.ts'

export type JsonObject = { readonly [key: string]: Json }

/** Times are the text that the client sent. */
export interface Envelope {
  readonly tags?: readonly string[]
  /** The merged policy, if the client gave one; only on jobs of workflows: other rows have it in a column. */
  readonly retry?: JsonObject
  readonly unique?: Json
  readonly rateLimit?: Json
  readonly scheduledAt?: string
  readonly expiresAt?: string
  readonly visibilityTimeoutMs?: number
  readonly metadata?: Json
  /** Attributes this server does not know. */
  readonly rest?: JsonObject
  /** Options this server does not know. */
  readonly options?: JsonObject
  /** Name of the cron job that made it. */
  readonly cron?: string
  /** The name that the author of the workflow gave this step. */
  readonly step?: string
}

/** Names of `options`; also accepted beside the type, as in the flat envelope of the core specification. */
const OPTIONS = [
  'queue',
  'priority',
  'timeout_ms',
  'timeout',
  'grace_period_ms',
  'grace_period',
  'delay_until',
  'scheduled_at',
  'delay',
  'expires_at',
  'retry',
  'retry_policy',
  'unique',
  'tags',
  'visibility_timeout_ms',
  'pending',
  'rate_limit',
  'fair_key',
  'metadata',
]
/** Only the server sets these: values that a client sends under these names are not stored. */
const SYSTEM = [
  'specversion',
  'state',
  'attempt',
  'max_attempts',
  'created_at',
  'enqueued_at',
  'started_at',
  'completed_at',
  'cancelled_at',
  'discarded_at',
  'next_attempt_at',
  'retry_delay_ms',
  'result',
  'error',
  'errors',
  'worker_id',
  'workflow_id',
  'workflow',
  'workflow_step',
  'parent_results',
  'checkpoint',
]
const KNOWN_OPTIONS: ReadonlySet<string> = new Set(OPTIONS)
const KNOWN: ReadonlySet<string> = new Set(['id', 'type', 'args', 'meta', 'options', ...OPTIONS, ...SYSTEM])

/** Attributes of a job that this server does not know; null: none. */
export function unknownAttributes(job: Part): JsonObject | null {
  return without(job, KNOWN)
}

export function unknownOptions(options: Part): JsonObject | null {
  return without(options, KNOWN_OPTIONS)
}

function without(part: Part, known: ReadonlySet<string>): JsonObject | null {
  if (!part.isObject) return null
  const rest = Object.entries(part.value as JsonObject).filter(([name]) => !known.has(name))
  return rest.length === 0 ? null : Object.fromEntries(rest)
}

/** The client's own meta. */
export function readMeta(part: Part): JsonObject {
  if (!part.given) return {}
  if (!part.isObject) {
    part.wrong(`meta must be an object, not ${kindOf(part.value)}`)
    return {}
  }
  if (part.has('petrel')) part.get('petrel').wrong("meta.petrel is the server's own", 'use another name')
  return part.value as JsonObject
}

/** The whole meta of a run: the client's, the envelope, and what the engine stores. null: nothing. */
export function runMeta(meta: JsonObject, envelope: Envelope, more: JsonObject = {}): Json | null {
  const petrel = Object.keys(envelope).length === 0 ? more : { ...more, ojs: envelope as unknown as Json }
  if (Object.keys(petrel).length > 0) return { ...meta, petrel }
  return Object.keys(meta).length === 0 ? null : meta
}

export interface KeptMeta {
  readonly meta: JsonObject
  readonly envelope: Envelope
  /** Who enqueued it; null: not known. */
  readonly initiator: string | null
  /** How long before the end of its timeout its handler should stop. */
  readonly graceMs: number
}

/** The reverse of runMeta. Rows written by other programs may contain anything. */
export function keptMeta(text: JsonText | null): KeptMeta {
  if (text === null) return { meta: {}, envelope: {}, initiator: null, graceMs: 0 }
  const value = JSON.parse(text) as Json
  if (value === null || typeof value !== 'object' || Array.isArray(value)) {
    return { meta: { value }, envelope: {}, initiator: null, graceMs: 0 }
  }
  const { petrel, ...meta } = value as { readonly [key: string]: Json; readonly petrel?: Json }
  const {
    ojs,
    initiator,
    grace_ms: graceMs,
  } = (petrel ?? {}) as {
    readonly ojs?: Envelope
    readonly initiator?: unknown
    readonly grace_ms?: number
  }
  return {
    meta,
    envelope: ojs ?? {},
    initiator: typeof initiator === 'string' ? initiator : null,
    graceMs: graceMs ?? 0,
  }
}

/**
 * How a workflow names a step, job or callback: by its own id, otherwise by its place; also by its name, if it has one.
 */
export function labelWire(
  place: number | string,
  { step, rest }: Envelope,
): { readonly id: string; readonly name?: string } {
  const name = rest?.['name']
  return { id: step ?? String(place), ...(typeof name === 'string' ? { name } : {}) }
}
