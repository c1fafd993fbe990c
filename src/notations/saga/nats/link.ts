/**
 * An open connection and whether it is currently connected. It reconnects by itself, and notifies listeners when it
 * has.
 */
import type { NatsConnection, Status } from '@nats-io/transport-node'
import type { Logger } from '../../../kernel/logger.ts'

export class Link {
  readonly nc: NatsConnection
  readonly #logger: Logger | null
  readonly #listeners = new Set<() => void>()
  #connected = true

  constructor(nc: NatsConnection, logger: Logger | null) {
    this.nc = nc
    this.#logger = logger
    void this.#follow()
  }

  get connected(): boolean {
    return this.#connected && !this.nc.isClosed()
  }

  /** Calls the listener at every reconnect. Returns a function that removes it. */
  onBack(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  async #follow(): Promise<void> {
    for await (const status of this.nc.status()) this.#hear(status)
    this.#connected = false
  }

  #hear(status: Status): void {
    if (status.type === 'disconnect') {
      if (this.#connected) this.#logger?.warn({ server: status.server }, 'NATS is away; commands wait')
      this.#connected = false
    } else if (status.type === 'reconnect') {
      this.#connected = true
      this.#logger?.info({ server: status.server }, 'NATS is back')
      for (const listener of this.#listeners) listener()
    } else if (status.type === 'error') {
      // A permission violation only shows here: a publish has no answer.
      this.#logger?.error({ err: status.error }, 'NATS refused something')
    }
  }
}
