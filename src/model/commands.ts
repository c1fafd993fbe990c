/**
 * Commands: what deferred runs ask of services. A command is written with the deferral of its run. It is due at once, and
 * again whenever it has stayed unanswered for its resend interval. It is not removed when its run ends: the next `take`
 * notices the end.
 *
 *   put        due at once
 *   take       due again when the hold runs out: the process that took it may have died
 *   confirm    due again after its resend interval
 *   take, but its run is no longer deferred: never due again. If it was taken before, never confirmed and yet answered, its
 *              publisher died before it could confirm: it was published by the time of the answer at the latest
 *   take, while its instance is paused: not taken; due again at the resume
 *   put again  (its run was redriven) due at once, as if it had never been published
 *   renew      due at once: the engine has started, and no other runs
 *
 * Refused messages of services are recorded here too.
 */
import type { Failure } from '../net/marking.ts'
import type { Json } from '../net/net.ts'
import type { RunRole } from './rows.ts'
import { bigint, int, type RowOf, table, text, time, uuid } from './table.ts'

export const COMMAND = table('workflow_command', {
  runId: uuid(),
  instanceId: uuid(),
  /** The lease under which its run was deferred: a command of an earlier lease is over. */
  epoch: int(),
  subject: text(),
  /** JSON text, published byte for byte. */
  body: text(),
  /** Published again after it has stayed unanswered for this long. */
  resendMs: bigint(),
  createdAt: time(),
  /** The last publication that was confirmed. */
  publishedAt: time().orNull(),
  /** Confirmed publications. */
  publishes: int().initially(0),
  /** The next publication; null: it is over. */
  dueAt: time().orNull(),
})

/** What a service is asked to do. */
export type Command = Pick<RowOf<typeof COMMAND>, 'subject' | 'body' | 'resendMs'>

/** A command to be put. */
export type NewCommand = Command & Pick<RowOf<typeof COMMAND>, 'runId' | 'instanceId' | 'epoch' | 'createdAt'>

export interface CommandRow extends RowOf<typeof COMMAND> {
  readonly tenant: string | null
  readonly node: string
  readonly role: RunRole
}

export interface Commands {
  /**
   * Takes due commands of runs that are still deferred, the longest due first; each is due again after `holdMs` unless it is
   * confirmed by then. Concurrent calls get different commands. Commands of other runs are never due again.
   */
  take(params: { readonly limit: number; readonly holdMs: number }): Promise<readonly CommandRow[]>
  /** Records that they were published. */
  confirm(params: { readonly runIds: readonly string[] }): Promise<void>
  /** Makes all commands due that were published and not answered: no process has been listening for the answers. */
  renew(): Promise<void>
  /** When the next command is due; null: never. */
  nextDueAt(): Promise<number | null>
  of(params: { readonly runIds: readonly string[] }): Promise<readonly CommandRow[]>
  /** In the order in which their runs were created. */
  ofInstance(params: { readonly instanceId: string }): Promise<readonly CommandRow[]>
  readonly refused: Refused
}

export interface Refused {
  /** Records a refused message, and keeps the last MOST_REFUSED. */
  note(message: RefusedMessage): Promise<void>
  /** Newest first, strictly older than this id. */
  list(params: { readonly limit: number; readonly before: number | null }): Promise<readonly RefusedRow[]>
}

export interface RefusedMessage {
  readonly subject: string
  /** Stable word for what was wrong. */
  readonly code: string
  readonly message: string
  /** The identification in the message, unchecked. */
  readonly instanceId: string | null
  readonly stepId: string | null
  readonly body: string
}

export interface RefusedRow extends RefusedMessage {
  readonly id: number
  readonly at: number
}

export const MOST_REFUSED = 10_000
/** A command of a paused instance is looked at again after this long, unless the instance is resumed before. */
export const PAUSED_HOLD_MS = 600_000
const LONGEST_KEPT = 4096

/**
 * The stored part of a refused message. It may contain anything: characters that databases cannot store are replaced.
 */
export function keptOf(message: RefusedMessage): RefusedMessage {
  const { subject, code, instanceId, stepId, body } = message
  return {
    subject: kept(subject),
    code,
    message: kept(message.message),
    instanceId: instanceId === null ? null : kept(instanceId),
    stepId: stepId === null ? null : kept(stepId),
    body: kept(body),
  }
}

/** Cut by bytes, between characters. */
function kept(text: string): string {
  const whole = text.toWellFormed().replaceAll('\0', '\u{fffd}')
  if (Buffer.byteLength(whole) <= LONGEST_KEPT) return whole
  return Buffer.from(whole)
    .subarray(0, LONGEST_KEPT)
    .toString()
    .replace(/\u{fffd}+$/u, '')
}

export interface Completion {
  readonly runId: string
  /** Given: the run must be of this instance. */
  readonly instanceId?: string
  readonly outcome:
    | { readonly kind: 'succeeded'; readonly result: Json }
    | { readonly kind: 'failed'; readonly error: Failure }
  /** For the history. Notes beyond 64 KiB are dropped and counted. */
  readonly notes?: readonly Json[]
}

/**
 * Why a completion was refused, in the details of its conflict. duplicate: the work had been completed before. late: it
 * had been given up. early: its worker still has it, or will have; the same completion may come again in a moment.
 */
export type CompletionRefusal = 'duplicate' | 'late' | 'early'

/** Commands of deferred runs, for their publishers. */
export interface EngineCommands extends Commands {
  /** Calls the listener whenever commands may have become due, in any process. Returns a function that ends this. */
  onStored(listener: () => void): () => void
}
