/**
 * Settings of operators: settings of queues, schemas of arguments, which workers may execute a type, API keys. Few rows, rarely
 * written.
 */
import { inputError } from '../kernel/errors.ts'
import type { FairWeight } from './queues/fair.ts'
import type { JsonText, KeyRow } from './rows.ts'

export interface QueueConfigRow {
  readonly name: string
  readonly config: JsonText
  readonly updatedAt: number
  readonly updatedBy: string | null
}

export interface SchemaRow {
  readonly uri: string
  /** Of the jobs it is for. */
  readonly type: string
  readonly version: string
  readonly schema: JsonText
  readonly createdAt: number
  readonly createdBy: string | null
}

/** A type that only one runtime may execute, or, while disabled, none (the inbox's workflow_registry). */
export interface RuntimeRow {
  /** The type. */
  readonly workflowName: string
  readonly intentType: string
  /** The runtime that its workers state: node, go, python … */
  readonly runtime: string
  readonly isEnabled: boolean
  readonly description: string | null
  readonly createdAt: number
  readonly updatedAt: number
}

/** A field that is null or left out does not change; a type that was not listed gets the default. */
export interface RuntimeChange {
  readonly workflowName: string
  /** A type that was not listed needs one. */
  readonly runtime: string | null
  /** Default true. */
  readonly isEnabled: boolean | null
  /** Default `workflow`. */
  readonly intentType: string | null
  /** null: removes it. */
  readonly description?: string | null
  readonly actor: string | null
}

/** The part that admission needs. */
export interface Listing {
  readonly runtime: string
  readonly enabled: boolean
}

/** Settings of queues, and schemas of arguments. */
export interface Settings {
  queueConfigs(): Promise<readonly QueueConfigRow[]>
  putQueueConfig(row: QueueConfigRow): Promise<void>
  /** All, or those for one type, oldest first. */
  schemas(params: { readonly type: string | null }): Promise<readonly SchemaRow[]>
  schemaByUri(uri: string): Promise<SchemaRow | null>
  /** false: the URI, or the version of the type, is taken. */
  addSchema(row: SchemaRow): Promise<boolean>
  removeSchema(uri: string): Promise<boolean>
  /** By key. A key without an entry weighs 1. */
  fairWeights(params: { readonly queue: string }): Promise<readonly FairWeight[]>
  /** false: it would be one more than MAX_FAIR_WEIGHTS of the queue. */
  putFairWeight(row: FairWeight): Promise<boolean>
  /** false: it had none. */
  removeFairWeight(params: Pick<FairWeight, 'queue' | 'key'>): Promise<boolean>
}

export interface Registry extends Settings {
  /** By name; `pending`: pending runs of the type, due or not. */
  runtimes(): Promise<readonly (RuntimeRow & { readonly pending: number })[]>
  runtime(workflowName: string): Promise<RuntimeRow | null>
  /** Written with an event that names the actor. null: it was not listed, and no runtime is given. */
  putRuntime(change: RuntimeChange): Promise<RuntimeRow | null>
  /** Opens the type to all workers again. The row stays, marked as deleted. false: it was not listed. */
  removeRuntime(params: { readonly workflowName: string; readonly actor: string | null }): Promise<boolean>
}

/** Checks a runtime, as workers and the registry state it; a word of any language. */
export function checkRuntime(runtime: unknown, place: string): asserts runtime is string {
  const isName = typeof runtime === 'string' && runtime !== '' && runtime.length <= 255 && runtime === runtime.trim()
  if (isName && runtime.isWellFormed() && !runtime.includes('\0')) return
  throw inputError('invalid_request', place, "a name such as 'node', 'go' or 'python', of 1 to 255 characters")
}

/** A field that is left out does not change; a type that was not listed gets the default. */
export interface ListingParams {
  /** The type, exactly. */
  readonly workflowName: string
  /** Any word, such as node, go or python; a type that was not listed needs one. */
  readonly runtime?: string
  /** Default true. */
  readonly isEnabled?: boolean
  /** Default null. */
  readonly description?: string | null
  /** The kind of the type in the inbox; default `workflow`. */
  readonly intentType?: string
  readonly actor?: string | null
}

export interface TypeRegistry {
  /** By name. `pending`: how many of its runs are pending, due or not. */
  list(): Promise<readonly (RuntimeRow & { readonly pending: number })[]>
  get(workflowName: string): Promise<RuntimeRow | null>
  put(params: ListingParams): Promise<RuntimeRow>
  /** Opens the type to every worker again. false: it was not listed. */
  remove(workflowName: string, actor?: string | null): Promise<boolean>
}

/** API keys of the server. */
export interface Keys {
  add(key: KeyRow): Promise<void>
  find(id: string): Promise<KeyRow | null>
  /** Oldest first, revoked ones too. */
  list(): Promise<readonly KeyRow[]>
  /** null: there is no such key, or it was revoked before. */
  revoke(id: string): Promise<KeyRow | null>
  /** The secret that signs links, the same for every process: the first one that is offered is kept. */
  signing(fresh: string): Promise<string>
}
