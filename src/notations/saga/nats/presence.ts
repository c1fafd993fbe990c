/**
 * Whether other engines use this NATS. NATS notices at once when a process has died, faster than any heartbeat in the
 * database. Each engine listens on one subject; one that starts asks there before it listens itself.
 */
import { NoRespondersError, RequestError, type Subscription, TimeoutError } from '@nats-io/transport-node'
import type { Logger } from '../../../kernel/logger.ts'
import type { Link } from './link.ts'
import type { Names } from './names.ts'

export interface PresenceParams {
  readonly link: Link
  readonly names: Names
  readonly logger: Logger | null
}

const ANSWERED_MS = 2_000

export class Presence {
  readonly #params: PresenceParams
  #subscription: Subscription | null = null
  #alone: Promise<boolean> | null = null

  constructor(params: PresenceParams) {
    this.#params = params
  }

  start(): void {
    void this.alone()
  }

  async stop(): Promise<void> {
    this.#subscription?.unsubscribe()
  }

  /** Whether it was alone when it started. */
  alone(): Promise<boolean> {
    this.#alone ??= this.#ask().finally(() => this.#listen())
    return this.#alone
  }

  /** Without permission to ask, it assumes that it is not: commands are then sent again after their interval. */
  async #ask(): Promise<boolean> {
    const { link, names, logger } = this.#params
    try {
      await link.nc.request(names.engines, '', { timeout: ANSWERED_MS })
      return false
    } catch (error) {
      // No engine listens; or the machine of one is gone, and NATS has not noticed.
      if (isUnheard(error) || error instanceof TimeoutError) return true
      logger?.warn({ err: error, subject: names.engines }, 'other engines could not be asked for')
      return false
    }
  }

  #listen(): void {
    const { link, names } = this.#params
    if (link.nc.isClosed()) return
    this.#subscription = link.nc.subscribe(names.engines, {
      callback: (error, message) => {
        if (error === null) message.respond('')
      },
    })
  }
}

function isUnheard(error: unknown): boolean {
  return error instanceof NoRespondersError || (error instanceof RequestError && error.isNoResponders())
}
