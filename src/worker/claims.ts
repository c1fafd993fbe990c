/**
 * When a worker asks for work. `more` means that something may be claimable: set by a wake, by the poll and by a claim
 * that came back full, cleared when a claim is made. One claim at a time; after a failed one a growing pause. No
 * claims are made before `start` or after `stop`.
 */
import type { Logger } from '../kernel/logger.ts'
import type { Delivery } from './port.ts'

export interface ClaimsDeps {
  claim(limit: number): Promise<readonly Delivery[]>
  /** Called once per claim, even if it brought nothing. */
  accept(deliveries: readonly Delivery[]): void
  /** How many runs to ask for now; 0: none. */
  appetite(): number
  /** true: nothing executes and nothing is being recorded. */
  idle(): boolean
  readonly pollMs: number
  readonly logger: Logger
}

const PAUSE_MS = { first: 100, most: 5_000 }

export class Claims {
  readonly #deps: ClaimsDeps
  /** How many runs the claim under way may bring; 0: none is under way. */
  expected = 0
  #more = true
  #scheduled = false
  #failures = 0
  #running = false
  #pollTimer: NodeJS.Timeout | null = null
  #pauseTimer: NodeJS.Timeout | null = null

  constructor(deps: ClaimsDeps) {
    this.#deps = deps
  }

  start(): void {
    this.#running = true
    this.#armPoll()
    this.look()
  }

  /** No claim begins from now on; one under way still completes. */
  stop(): void {
    this.#running = false
    for (const timer of [this.#pollTimer, this.#pauseTimer]) if (timer !== null) clearTimeout(timer)
  }

  wake(): void {
    this.#more = true
    this.look()
  }

  /**
   * Claims if there is reason to: at once when idle, otherwise together for all slots that become free in this turn.
   */
  look(): void {
    if (!this.#more || this.expected > 0 || this.#scheduled || !this.#running) return
    if (this.#deps.idle()) return this.#askNow()
    this.#scheduled = true
    setImmediate(() => {
      this.#scheduled = false
      this.#askNow()
    })
  }

  #askNow(): void {
    if (!this.#more || this.expected > 0 || this.#pauseTimer !== null || !this.#running) return
    const limit = this.#deps.appetite()
    if (limit > 0) this.#ask(limit).catch((error) => this.#failed(error))
  }

  async #ask(limit: number): Promise<void> {
    this.expected = limit
    // Cleared before, not after: a wake during the claim may concern work that the claim no longer sees.
    this.#more = false
    let deliveries: readonly Delivery[] = []
    try {
      deliveries = await this.#deps.claim(limit)
      this.#failures = 0
      if (deliveries.length >= limit) this.#more = true
    } finally {
      this.expected = 0
      this.#deps.accept(deliveries)
    }
  }

  #failed(error: unknown): void {
    this.#more = true
    if (!this.#running) return
    const pauseMs = Math.min(PAUSE_MS.most, PAUSE_MS.first * 2 ** this.#failures++)
    this.#deps.logger.warn({ err: error, pauseMs }, 'claim failed, will try again')
    this.#pauseTimer = setTimeout(() => {
      this.#pauseTimer = null
      this.look()
    }, jittered(pauseMs))
  }

  #armPoll(): void {
    this.#pollTimer = setTimeout(() => {
      this.#armPoll()
      this.wake()
    }, jittered(this.#deps.pollMs))
  }
}

/** So that many workers do not all ask at the same moment. */
function jittered(ms: number): number {
  return ms * (0.75 + Math.random() / 2)
}
