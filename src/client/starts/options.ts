/** What a start takes. */
import type { Json } from '../../net/net.ts'
import type { ReadOptions } from '../../notations/source/named-definitions.ts'
import type { TransactionClient } from '../enqueue.ts'

export interface StartOptions {
  readonly id?: string
  /** For display. */
  readonly name?: string
  /** A second start with the same key answers with the first instance. */
  readonly idempotencyKey?: string
  readonly tenant?: string
  readonly initiator?: string
  /** Queries find it by them: `tag:eu`. */
  readonly tags?: readonly string[]
  /** Its runs that have no key of their own share their queue under this one. */
  readonly fairKey?: string
  readonly meta?: { readonly [key: string]: Json }
  /** The workflow exists if and when this transaction commits. */
  readonly tx?: TransactionClient
}

export interface DefinitionOptions extends Omit<StartOptions, 'name'> {
  readonly input?: Json
  /** Named in error messages. */
  readonly file?: string
  /** Texts of the definitions that this one names. */
  readonly resolve?: ReadOptions['resolve']
  /** Their names, to suggest one when a name is misspelled. */
  readonly names?: ReadOptions['names']
}

export interface SagaStartOptions extends Omit<StartOptions, 'name' | 'tx'> {
  /** Default: the latest. */
  readonly version?: string
  /** The caller's id for the saga; included in the saga's messages. */
  readonly correlationId?: string
}

export interface DeployedOptions extends Omit<StartOptions, 'name' | 'tx'> {
  /** Default: the latest. */
  readonly version?: string
  /** Default: that of the definition. */
  readonly input?: Json
}
