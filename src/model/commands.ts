/**
 * Commands: what deferred runs ask of services elsewhere. A command is written with the deferral of its run and lies here
 * until it is due, which is at once, and again whenever it has stayed unanswered for its resend interval. Nobody clears
 * it away when its run ends: the next `take` finds that out and lets it rest.
 *
 *   put        due at once
 *   take       due again when the hold runs out: whoever took it may be gone
 *   confirm    due again after its resend interval
 *   take, but its run is no longer deferred: never due again. If it was taken before, never confirmed and yet answered, then
 *              whoever published it died before he could say so: published by the time of the answer, at the latest
 *   put again  (its run was redriven) due at once, as if it had never been published
 *   renew      due at once: the engine has started, and no other runs
 *
 * Besides, the messages from outside that were refused.
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

/** As it is put. */
export type NewCommand = Command & Pick<RowOf<typeof COMMAND>, 'runId' | 'instanceId' | 'epoch' | 'createdAt'>

export interface CommandRow extends RowOf<typeof COMMAND> {
  readonly tenant: string | null
  readonly node: string
  readonly role: RunRole
}

export interface Commands {
  /**
   * Due commands of runs that are still deferred, the longest due first; each is due again after `holdMs` unless it is
   * confirmed by then. Whoever takes at the same time gets others. Commands of other runs are never due again.
   */
  take(params: { readonly limit: number; readonly holdMs: number }): Promise<readonly CommandRow[]>
  /** They are published. */
  confirm(params: { readonly runIds: readonly string[] }): Promise<void>
  /** All that were published and not answered are due at once: nobody is left who would hear the answers. */
  renew(): Promise<void>
  /** When the next is due; null: none ever. */
  nextDueAt(): Promise<number | null>
  of(params: { readonly runIds: readonly string[] }): Promise<readonly CommandRow[]>
  /** In the order in which their runs were made. */
  ofInstance(params: { readonly instanceId: string }): Promise<readonly CommandRow[]>
  readonly refused: Refused
}

export interface Refused {
  /** Keeps the last MOST_REFUSED. */
  note(message: RefusedMessage): Promise<void>
  /** Newest first, strictly older than this id. */
  list(params: { readonly limit: number; readonly before: number | null }): Promise<readonly RefusedRow[]>
}

export interface RefusedMessage {
  readonly subject: string
  /** Stable word for what was wrong. */
  readonly code: string
  readonly message: string
  /** What it said of itself, whatever that was. */
  readonly instanceId: string | null
  readonly stepId: string | null
  readonly body: string
}

export interface RefusedRow extends RefusedMessage {
  readonly id: number
  readonly at: number
}

export const MOST_REFUSED = 10_000
const LONGEST_KEPT = 4096

/** As much of a refused message as is kept. It may be anything: what no database holds is replaced. */
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
  /** For the history. What is beyond 64 KiB is dropped and counted. */
  readonly notes?: readonly Json[]
}

/**
 * Why a completion was refused, in the details of its conflict. duplicate: the work had been completed before. late: it
 * had been given up. early: its worker still has it, or will have; the same completion may come again in a moment.
 */
export type CompletionRefusal = 'duplicate' | 'late' | 'early'

/** Commands of deferred runs, for whoever publishes them. */
export interface EngineCommands extends Commands {
  /** Calls whenever commands may have become due, here or elsewhere. Returns what undoes it. */
  onStored(listener: () => void): () => void
}
