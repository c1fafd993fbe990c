/** One run being executed: from the call of its handler until its outcome is known, or nobody waits for it any more. */
import { MAX_TIMER_MS } from '../kernel/limits.ts'
import type { Logger } from '../kernel/logger.ts'
import { Account } from './account.ts'
import type { ContextParts, StopReason } from './context.ts'
import { TimedOut } from './errors.ts'
import type { Delivery, Remarks, Session } from './port.ts'

export interface ExecutionSetup {
  readonly session: Session
  readonly logger: Logger
  readonly maxBytes: number
}

export class Execution implements ContextParts {
  readonly delivery: Delivery
  readonly session: Session
  readonly logger: Logger
  readonly maxBytes: number
  readonly #began = performance.now()
  startReported = false
  /** Its outcome was reported: what its handler still does concerns nobody. */
  over = false
  /** Why it was told to stop; null: it was not. */
  reason: StopReason | null = null
  /** Most handlers never look at their signal: none is made before they do. */
  #controller: AbortController | null = null
  #timer: NodeJS.Timeout | null = null
  #account: Account | null = null

  constructor(delivery: Delivery, setup: ExecutionSetup) {
    this.delivery = delivery
    this.session = setup.session
    this.logger = setup.logger
    this.maxBytes = setup.maxBytes
    const { timeoutMs } = delivery
    if (timeoutMs !== null && timeoutMs <= MAX_TIMER_MS) {
      const softMs = timeoutMs - graceIn(delivery.meta)
      this.#timer = setTimeout(() => this.stop(new TimedOut(`the run took longer than ${softMs} ms`)), softMs)
    }
  }

  /** Few have anything to say. */
  get account(): Account {
    this.#account ??= new Account({
      runId: this.delivery.runId,
      inWorkflow: this.delivery.instanceId !== null,
      maxBytes: this.maxBytes,
    })
    return this.#account
  }

  /** What goes with its report. */
  said(): Remarks {
    return this.#account === null ? {} : this.#account.parts()
  }

  signal(): AbortSignal {
    if (this.#controller === null) {
      this.#controller = new AbortController()
      if (this.reason !== null) this.#controller.abort(this.reason)
    }
    return this.#controller.signal
  }

  /** The first reason stays. */
  stop(reason: StopReason): void {
    if (this.over || this.reason !== null) return
    this.reason = reason
    this.#controller?.abort(reason)
  }

  get ageMs(): number {
    return performance.now() - this.#began
  }

  /** On the machine's clock as it stands now: it may have been set meanwhile. */
  get startedAt(): number {
    return Math.round(Date.now() - this.ageMs)
  }

  /** Ends it; returns how long it took. */
  end(): number {
    this.over = true
    if (this.#timer !== null) clearTimeout(this.#timer)
    return this.ageMs
  }
}

/** The last part of its timeout, in which a handler that was told to stop may clean up. */
function graceIn(meta: string | null): number {
  if (meta === null || !meta.includes('"grace_ms"')) return 0
  return (JSON.parse(meta) as { readonly petrel?: { readonly grace_ms?: number } }).petrel?.grace_ms ?? 0
}
