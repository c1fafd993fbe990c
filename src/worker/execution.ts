/** One run being executed: from the call of its handler until its outcome is known or no longer awaited. */
import { MAX_TIMER_MS } from '../kernel/limits.ts'
import type { Logger } from '../kernel/logger.ts'
import type { ContextParts } from './context.ts'
import { type StopReason, TimedOut } from './errors.ts'
import type { ExecutionLog, Log, LogWriter } from './log.ts'
import type { Delivery, Remarks, Session } from './port.ts'
import { ExecutionRemarks } from './remarks.ts'

export interface ExecutionSetup {
  readonly session: Session
  readonly logger: Logger
  readonly maxBytes: number
  readonly logs: LogWriter
}

export class Execution implements ContextParts {
  readonly delivery: Delivery
  readonly session: Session
  readonly logger: Logger
  readonly maxBytes: number
  readonly #began = performance.now()
  startReported = false
  /** Its outcome was reported: anything its handler still does is ignored. */
  over = false
  /** Why it was asked to stop; null: it was not. */
  reason: StopReason | null = null
  /** Created on first use: most handlers never read their signal. */
  #controller: AbortController | null = null
  #timer: NodeJS.Timeout | null = null
  #remarks: ExecutionRemarks | null = null
  readonly #logs: LogWriter
  #log: ExecutionLog | null = null

  constructor(delivery: Delivery, setup: ExecutionSetup) {
    this.delivery = delivery
    this.session = setup.session
    this.logger = setup.logger
    this.maxBytes = setup.maxBytes
    this.#logs = setup.logs
    const { timeoutMs } = delivery
    if (timeoutMs !== null && timeoutMs <= MAX_TIMER_MS) {
      const softMs = timeoutMs - graceIn(delivery.meta)
      this.#timer = setTimeout(() => this.stop(new TimedOut(`the run took longer than ${softMs} ms`)), softMs)
    }
  }

  /** Created on first use: few executions have remarks. */
  get remarks(): ExecutionRemarks {
    this.#remarks ??= new ExecutionRemarks({
      runId: this.delivery.runId,
      inWorkflow: this.delivery.instanceId !== null,
      maxBytes: this.maxBytes,
    })
    return this.#remarks
  }

  /** Created on first use: most handlers log nothing. */
  get log(): Log {
    this.#log ??= this.#logs.of(this.delivery)
    return this.#log
  }

  /** Writes its last lines; null: there are none. */
  endLog(): Promise<void> | null {
    return this.#log === null ? null : this.#logs.end(this.#log)
  }

  /** The remarks to send with its report. */
  reported(): Remarks {
    return this.#remarks === null ? {} : this.#remarks.parts()
  }

  signal(): AbortSignal {
    if (this.#controller === null) {
      this.#controller = new AbortController()
      if (this.reason !== null) this.#controller.abort(this.reason)
    }
    return this.#controller.signal
  }

  /** The first reason is kept. */
  stop(reason: StopReason): void {
    if (this.over || this.reason !== null) return
    this.reason = reason
    this.#controller?.abort(reason)
  }

  get ageMs(): number {
    return performance.now() - this.#began
  }

  /** By the machine's current clock, which may have been set meanwhile. */
  get startedAt(): number {
    return Math.round(Date.now() - this.ageMs)
  }

  /** Ends it; returns its duration. */
  end(): number {
    this.over = true
    if (this.#timer !== null) clearTimeout(this.#timer)
    return this.ageMs
  }
}

/** The last part of its timeout, in which a handler may clean up after it was asked to stop. */
function graceIn(meta: string | null): number {
  if (meta === null || !meta.includes('"grace_ms"')) return 0
  return (JSON.parse(meta) as { readonly petrel?: { readonly grace_ms?: number } }).petrel?.grace_ms ?? 0
}
