/**
 * Errors whose class is the policy. A handler throws Terminal, Retryable or Cancelled to decide what becomes of its
 * run; any other error is retried according to the run's policy. The others are reasons found in `ctx.signal.reason`.
 */
import { types } from 'node:util'
import { PetrelError } from '../kernel/errors.ts'
import type { Failure } from '../net/marking.ts'
import type { Json } from '../net/net.ts'
import { storableText, toJsonText } from './json.ts'

export interface HandlerErrorOptions extends ErrorOptions {
  /** Stable code to match on. Default 'handler_error'. */
  readonly code?: string
  readonly category?: string
  readonly details?: Json
}

abstract class HandlerError extends Error {
  readonly code: string
  readonly category: string | undefined
  readonly details: Json | undefined
  constructor(message: string, code: string, options: HandlerErrorOptions) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = new.target.name
    this.code = options.code ?? code
    this.category = options.category
    this.details = options.details
  }
}

/** Never retried, whatever the policy is. */
export class Terminal extends HandlerError {
  constructor(message: string, options: HandlerErrorOptions = {}) {
    super(message, 'handler_error', options)
  }
}

/** Retried while attempts are left, after `delayMs` if given, otherwise after the policy's delay. */
export class Retryable extends HandlerError {
  readonly delayMs: number | undefined
  constructor(message: string, options: HandlerErrorOptions & { readonly delayMs?: number } = {}) {
    super(message, 'handler_error', options)
    this.delayMs = options.delayMs
  }
}

/** A failure that is completely known: recorded unchanged, retried according to `retryable` and the policy. */
export class Failed extends Error {
  readonly failure: Failure
  constructor(failure: Failure) {
    super(failure.message)
    this.name = 'Failed'
    this.failure = failure
  }
}

/** The run was cancelled. Thrown by a handler: it gives up for good. */
export class Cancelled extends HandlerError {
  constructor(message = 'the run was cancelled', options: HandlerErrorOptions = {}) {
    super(message, 'cancelled', options)
  }
}

/** The run took longer than its timeout. */
export class TimedOut extends HandlerError {
  constructor(message = 'the run took longer than its timeout', options: HandlerErrorOptions = {}) {
    super(message, 'timeout', options)
  }
}

/** The engine gave this run to another worker, or took it back: later reports change nothing. */
export class LeaseLost extends HandlerError {
  constructor(message = 'this worker no longer holds the run', options: HandlerErrorOptions = {}) {
    super(message, 'lease_lost', options)
  }
}

/** The worker is stopping and its grace period is over. */
export class Shutdown extends HandlerError {
  constructor(message = 'the worker was stopped before the handler ended', options: HandlerErrorOptions = {}) {
    super(message, 'shutdown', options)
  }
}

/** Why the signal of a run was aborted. */
export type StopReason = Cancelled | TimedOut | LeaseLost | Shutdown

export function stopReason(reason: 'cancel' | 'timeout' | 'lost'): StopReason {
  if (reason === 'cancel') return new Cancelled()
  return reason === 'timeout' ? new TimedOut() : new LeaseLost()
}

const MAX_MESSAGE = 8_000
const MAX_STACK = 2_000
const MAX_DETAILS_BYTES = 32_768

/** The failure to record for what a handler threw. Never throws, whatever the argument. */
export function failureOf(thrown: unknown): Failure {
  try {
    if (thrown instanceof Failed) return exactFailure(thrown.failure)
    return isError(thrown) ? errorFailure(thrown) : strayFailure(thrown)
  } catch {
    // A proxy, or a getter that throws.
    return { code: 'handler_error', message: 'handler threw something that cannot be read' }
  }
}

/** The failure of a handler that ended because its signal was aborted. */
export function stoppedFailure(reason: StopReason, thrown: unknown): Failure {
  const own = failureOf(thrown)
  const message = thrown === reason ? reason.message : `${reason.message}; the handler ended with: ${own.message}`
  const failure = { code: reason.code, message: storableText(message, MAX_MESSAGE), type: reason.name }
  if (reason instanceof Cancelled) return { ...failure, retryable: false }
  return { ...failure, category: reason instanceof TimedOut ? 'timeout' : 'transient' }
}

/** The failure of a result that cannot be recorded: a retry would give the same. */
export function unstorableFailure(error: PetrelError): Failure {
  return {
    code: error.code,
    message: storableText(error.message, MAX_MESSAGE),
    type: error.name,
    retryable: false,
    details: error.details as Json,
  }
}

function isError(thrown: unknown): thrown is Error {
  // isNativeError also recognises errors of another realm (vm contexts, some test runners).
  return thrown instanceof Error || types.isNativeError(thrown)
}

/** The given failure, without what no database accepts. */
function exactFailure({ code, message, category, type, retryable, details }: Failure): Failure {
  return {
    code: storableText(String(code), 200),
    message: storableText(String(message), MAX_MESSAGE),
    ...(typeof category === 'string' && { category: storableText(category, 200) }),
    ...(typeof type === 'string' && { type: storableText(type, 200) }),
    ...(typeof retryable === 'boolean' && { retryable }),
    ...(details !== undefined && { details: storableDetails(details) }),
  }
}

function errorFailure(error: Error): Failure {
  const { code, category } = error as { readonly code?: unknown; readonly category?: unknown }
  return {
    code: typeof code === 'string' && code !== '' ? storableText(code, 200) : 'handler_error',
    message: storableText(error.message === '' ? `${error.name} without a message` : error.message, MAX_MESSAGE),
    type: storableText(error.name, 200),
    ...(typeof category === 'string' && { category: storableText(category, 200) }),
    ...retryability(error),
    details: detailsOf(error),
  }
}

function retryability(error: Error): { retryable?: boolean } {
  if (error instanceof Terminal || error instanceof Cancelled) return { retryable: false }
  if (error instanceof Retryable) return { retryable: true }
  return {}
}

function detailsOf(error: Error): Json {
  const details: Record<string, Json> = {}
  const own = error instanceof HandlerError || error instanceof PetrelError ? error.details : undefined
  if (own !== undefined && own !== null) {
    Object.assign(details, storableDetails(typeof own === 'object' && !Array.isArray(own) ? own : { value: own }))
  }
  if (error instanceof Retryable && error.delayMs !== undefined) details['retry_delay_ms'] = error.delayMs
  if (typeof error.stack === 'string') details['stack'] = storableText(error.stack, MAX_STACK)
  return details
}

function storableDetails(details: unknown): Json {
  try {
    return JSON.parse(toJsonText(details, { maxBytes: MAX_DETAILS_BYTES, what: 'the details of the error' })) as Json
  } catch (problem) {
    return { unstorable: (problem as Error).message }
  }
}

/** `throw 'text'`, `throw undefined`, `Promise.reject({ … })`: a plain message, since there is no stack to read. */
function strayFailure(thrown: unknown): Failure {
  const kind = thrown === null ? 'null' : Array.isArray(thrown) ? 'array' : typeof thrown
  const message =
    thrown === null || thrown === undefined
      ? `handler threw ${kind}`
      : `handler threw ${/^[aeiou]/.test(kind) ? 'an' : 'a'} ${kind}: ${describe(thrown)}`
  const { code, category } = (typeof thrown === 'object' ? (thrown ?? {}) : {}) as Record<string, unknown>
  return {
    code: typeof code === 'string' && code !== '' ? storableText(code, 200) : 'handler_error',
    message: storableText(message, MAX_MESSAGE),
    type: kind,
    ...(typeof category === 'string' && { category: storableText(category, 200) }),
  }
}

function describe(thrown: unknown): string {
  if (typeof thrown !== 'object') return String(thrown)
  try {
    return JSON.stringify(thrown)
  } catch {
    return Object.prototype.toString.call(thrown)
  }
}
