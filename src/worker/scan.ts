/**
 * One timer for all executing runs. It is armed while runs execute, soon after the first begins and then at a longer
 * interval. Each time it reports the starts of runs that have been executing for a while, so that a shorter run
 * reports its start and its end together.
 */
import type { Logger } from '../kernel/logger.ts'
import type { Execution } from './execution.ts'
import type { Session } from './port.ts'

/** The start of a run still executing after this long is reported separately. */
const START_REPORT_MS = 20
const SLOW_SCAN_MS = 250

export interface ScanDeps {
  /** In the order they began. */
  readonly executing: ReadonlySet<Execution>
  session(): Pick<Session, 'started'>
  /** Called at each scan, after the reports. */
  scanned(): void
  readonly logger: Logger
}

export class Scan {
  readonly #deps: ScanDeps
  #timer: NodeJS.Timeout | null = null
  #isSlow = false

  constructor(deps: ScanDeps) {
    this.#deps = deps
  }

  /** A run has begun that does not end at once. */
  begin(): void {
    if (this.#timer === null || this.#isSlow) this.#arm(START_REPORT_MS)
  }

  stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
  }

  #arm(ms: number): void {
    this.stop()
    this.#isSlow = ms > START_REPORT_MS
    this.#timer = setTimeout(() => this.#scan(), ms)
  }

  #scan(): void {
    this.#timer = null
    const { executing, logger } = this.#deps
    if (executing.size === 0) return
    const begun: { runId: string; epoch: number; at: number }[] = []
    let young = false
    for (const execution of executing) {
      if (execution.startReported) continue
      if (execution.ageMs < START_REPORT_MS) {
        young = true
        break
      }
      execution.startReported = true
      begun.push({ runId: execution.delivery.runId, epoch: execution.delivery.epoch, at: execution.startedAt })
    }
    if (begun.length > 0) {
      this.#deps
        .session()
        .started(begun)
        .catch((error) => {
          logger.debug({ err: error, runs: begun.length }, 'starts could not be reported')
        })
    }
    this.#deps.scanned()
    this.#arm(young ? START_REPORT_MS : SLOW_SCAN_MS)
  }
}
