/**
 * What a handler receives besides its arguments. Built per run, so everything that can be deferred is made when first
 * read.
 */
import type { Logger } from '../kernel/logger.ts'
import type { Failure } from '../net/marking.ts'
import type { Json } from '../net/net.ts'
import { Deferral } from './deferral.ts'
import { Failed } from './errors.ts'
import { toJsonText } from './json.ts'
import { Later } from './later.ts'
import type { Log } from './log.ts'
import type { Command, Delivery, ParentResults, Session } from './port.ts'
import type { ExecutionRemarks } from './remarks.ts'
import { type ResultHint, readKeyed, readResults, readShape } from './shape.ts'

/** `Previous` is what the handler reads from the step before; the builders only let it follow steps that return it. */
export interface Context<Previous = unknown> {
  readonly runId: string
  /** The same for every execution of this run: use it to make effects idempotent. */
  readonly key: string
  readonly type: string
  /** Number of this execution, from 1. */
  readonly attempt: number
  readonly maxAttempts: number
  /** null: a bare run, outside any workflow. */
  readonly instanceId: string | null
  readonly node: string | null
  /** Index in a group, batch or loop; −1 elsewhere. */
  readonly item: number
  readonly role: 'work' | 'undo' | 'final'
  readonly queue: string
  /** The run's tenant; null: none. */
  readonly tenant: string | null
  readonly meta: { readonly [key: string]: Json }
  /** Aborted on cancel, timeout, lost lease or shutdown; `reason` is an error whose class distinguishes these. */
  readonly signal: AbortSignal
  readonly logger: Logger
  /**
   * Lines that are stored with the run and this execution: `ctx.log.info('charged', { amount })`. Bounded; written twice a
   * second and before the outcome. `logger` is the log of the process.
   */
  readonly log: Log
  /** Results of the previous steps, by node key. */
  results(): Promise<{ readonly [node: string]: unknown }>
  /** Result of the one previous step; null: there is none. In a callback of a batch: the results of its jobs. */
  previous(): Promise<Previous>
  /** Reports the progress of the run. The last value is kept. */
  progress(value: unknown): Promise<void>
  /** Saves state that a later execution of this run can load. Returns its sequence number. */
  checkpoint(state: unknown): Promise<number>
  /** The last saved state; null: none. */
  loadCheckpoint<State = unknown>(): Promise<State | null>
  /**
   * `return ctx.defer()`: the run stays open until `petrel.complete(runId, …)` ends it. `command` asks an external
   * service to do so: it is stored with the run, and published until it is answered.
   */
  defer<Result = unknown>(asking?: { readonly command: Command }): Deferred<Result>
  /**
   * `return ctx.later(ms)`: the run is handed back and is due again after this time, on the same attempt; this does not
   * count as a failure and its checkpoint is kept. Its slot is free meanwhile.
   */
  later(ms: number): Later
  /**
   * Sets an entry of the workflow's context, written with the outcome of this execution, before the next steps are
   * decided; null removes it. Also written when the run fails for good, is deferred or goes back for later; not when it
   * will be retried.
   */
  set(name: string, value: unknown): void
  /**
   * A note for the history, kept in `data.notes` of the event that ends or postpones this execution. 64 KiB in all:
   * a note that does not fit (or is not JSON) is dropped and counted in `data.notes_dropped`.
   */
  tell(note: unknown): void
  /** Throws: the execution fails with exactly this failure; with `retryable: false` it is not retried. */
  fail(error: Failure): never
  /** The instructions of this run's node, where the type alone does not define them; null: none. */
  program(): Promise<Json | null>
}

declare const RESULT: unique symbol

/**
 * Returned by a handler whose result comes later. The member exists only in the type, so that no other object matches.
 */
export interface Deferred<Result = unknown> {
  readonly [RESULT]: Result
}

const DEFERRED = new Deferral(null)

export interface ContextParts {
  readonly delivery: Delivery
  readonly session: Session
  readonly logger: Logger
  readonly maxBytes: number
  /** What the execution reports besides its outcome. */
  readonly remarks: ExecutionRemarks
  readonly log: Log
  signal(): AbortSignal
}

export class RunContext implements Context<unknown> {
  readonly #parts: ContextParts
  #meta: Meta | null = null
  #logger: Logger | null = null
  #results: Promise<ParentResults> | null = null

  constructor(parts: ContextParts) {
    this.#parts = parts
  }

  get runId(): string {
    return this.#parts.delivery.runId
  }
  get key(): string {
    return this.#parts.delivery.key
  }
  get type(): string {
    return this.#parts.delivery.type
  }
  get attempt(): number {
    return this.#parts.delivery.attempt
  }
  get maxAttempts(): number {
    return this.#parts.delivery.maxAttempts
  }
  get instanceId(): string | null {
    return this.#parts.delivery.instanceId
  }
  get node(): string | null {
    return this.#parts.delivery.node
  }
  get item(): number {
    return this.#parts.delivery.item
  }
  get role(): 'work' | 'undo' | 'final' {
    return this.#parts.delivery.role
  }
  get queue(): string {
    return this.#parts.delivery.queue
  }
  get tenant(): string | null {
    return this.#parts.delivery.tenant
  }
  get signal(): AbortSignal {
    return this.#parts.signal()
  }

  get meta(): { readonly [key: string]: Json } {
    return this.#readMeta().given
  }

  get log(): Log {
    return this.#parts.log
  }

  get logger(): Logger {
    this.#logger ??= childLogger(this.#parts.logger, this.#parts.delivery)
    return this.#logger
  }

  async results(): Promise<{ readonly [node: string]: unknown }> {
    const { byNode } = await this.#load()
    const { own, nodes } = this.#readMeta().hint
    if (own !== undefined) return readResults(own, byNode, readKeyed) as { readonly [index: string]: Json }
    const results: Record<string, unknown> = {}
    for (const [node, text] of byNode) results[node] = readKeyed(nodes?.[node] ?? null, parse(text))
    return results
  }

  async previous(): Promise<unknown> {
    const { own, previous = null } = this.#readMeta().hint
    if (own !== undefined) return readResults(own, (await this.#load()).byNode)
    const given = this.#parts.delivery.previous
    return readShape(previous, parse(given !== undefined ? given : (await this.#load()).previous))
  }

  async progress(value: unknown): Promise<void> {
    const { session, delivery, maxBytes } = this.#parts
    await session.progress(delivery, toJsonText(value, { maxBytes, what: 'the progress' }))
  }

  async checkpoint(state: unknown): Promise<number> {
    const { session, delivery, maxBytes } = this.#parts
    return await session.checkpoint(delivery, toJsonText(state, { maxBytes, what: 'the checkpoint' }))
  }

  async loadCheckpoint<State = unknown>(): Promise<State | null> {
    const text = await this.#parts.session.loadCheckpoint(this.#parts.delivery)
    return parse(text) as State | null
  }

  defer<Result = unknown>(asking?: { readonly command: Command }): Deferred<Result> {
    return (asking === undefined ? DEFERRED : new Deferral(asking.command)) as unknown as Deferred<Result>
  }

  later(ms: number): Later {
    return new Later(ms)
  }

  set(name: string, value: unknown): void {
    this.#parts.remarks.set(name, value)
  }

  tell(note: unknown): void {
    const problem = this.#parts.remarks.tell(note)
    if (problem !== null) this.logger.warn({}, `a note was dropped: ${problem}`)
  }

  fail(error: Failure): never {
    throw new Failed(error)
  }

  program(): Promise<Json | null> {
    return this.#parts.session.program(this.#parts.delivery)
  }

  #readMeta(): Meta {
    this.#meta ??= splitMeta(this.#parts.delivery.meta)
    return this.#meta
  }

  /** Requested from the engine once per run, however often a handler reads it. */
  #load(): Promise<ParentResults> {
    this.#results ??= this.#parts.session.results(this.#parts.delivery)
    return this.#results
  }
}

interface Meta {
  readonly given: { readonly [key: string]: Json }
  readonly hint: ResultHint
}

const NO_META: Meta = { given: {}, hint: {} }

/** Separates the caller's meta from what the builder added for this context under `petrel`. */
function splitMeta(text: string | null): Meta {
  const meta = parse(text)
  if (typeof meta !== 'object' || meta === null || Array.isArray(meta)) return NO_META
  const { petrel, ...given } = meta as { readonly [key: string]: Json }
  return { given, hint: typeof petrel === 'object' && petrel !== null ? (petrel as ResultHint) : {} }
}

function parse(text: string | null): Json {
  return text === null ? null : (JSON.parse(text) as Json)
}

function childLogger(logger: Logger, delivery: Delivery): Logger {
  const { runId, type, attempt, instanceId, node } = delivery
  const fields = { run: runId, type, attempt, ...(instanceId !== null && { instance: instanceId, node }) }
  return {
    debug: (context, message) => logger.debug({ ...fields, ...context }, message),
    info: (context, message) => logger.info({ ...fields, ...context }, message),
    warn: (context, message) => logger.warn({ ...fields, ...context }, message),
    error: (context, message) => logger.error({ ...fields, ...context }, message),
  }
}
