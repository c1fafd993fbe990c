/**
 * Sagas on NATS: commands go out, starts and completions come in, requests are answered. The store is the source of
 * truth and NATS only carries messages: whatever is lost on the way is sent again. Any number of engine processes may
 * have a transport; none is special.
 *
 * A lost connection comes back by itself; one that was closed for good is opened again.
 */

import type { NatsConnection } from '@nats-io/transport-node'
import { PetrelError } from '../../../kernel/errors.ts'
import { MAX_JSON_BYTES } from '../../../kernel/limits.ts'
import type { Logger } from '../../../kernel/logger.ts'
import { sleep } from '../../../kernel/sleep.ts'
import { Operations } from '../../../operations/operation.ts'
import { takeCompletion } from './completions.ts'
import { type Address, connectionOptions, connectPersistently } from './connect.ts'
import { ControlListener } from './control-listener.ts'
import { Inlet } from './inlet.ts'
import { JetStreamMissing } from './jetstream.ts'
import { Link } from './link.ts'
import { COMPLETED_CONSUMER, type ControlReach, type Names, namesUnder, START_CONSUMER } from './names.ts'
import type { SagaTransport, SagaTransportOptions } from './open.ts'
import { Presence } from './presence.ts'
import { Relay } from './relay.ts'
import { takeStart } from './start.ts'

const MAX_BYTES = MAX_JSON_BYTES + 64 * 1024
const RECONNECT_MS = 1_000
const CLOSING_GRACE_MS = 5_000

/** Everything that uses one connection. */
interface Lines {
  readonly opened: Promise<unknown>
  stop(): Promise<void>
}

export class Transport implements SagaTransport {
  readonly ready: Promise<void>
  readonly #options: SagaTransportOptions
  readonly #names: Names
  readonly #address: Address | null
  readonly #stopping = new AbortController()
  #looping: Promise<void> | null = null
  readonly #reach: ControlReach
  #isReady: () => void = () => {}
  #served = false
  #missing: JetStreamMissing | null = null

  get problem(): string | null {
    return this.#missing?.problem ?? null
  }

  constructor(options: SagaTransportOptions) {
    const { url, credentials, connection, prefix } = options
    if ((url === undefined) === (connection === undefined)) {
      throw new PetrelError('invalid_request', 'a transport needs an address of NATS, or a connection')
    }
    this.#options = options
    this.#names = namesUnder(prefix ?? null)
    this.#reach = options.control ?? 'tenant'
    this.#address = url === undefined ? null : { url, ...(credentials === undefined ? {} : { credentials }) }
    // A wrong address is refused here, not in the background.
    if (this.#address !== null) connectionOptions(this.#address)
    this.ready = new Promise((resolve) => {
      this.#isReady = resolve
    })
  }

  start(): void {
    this.#looping ??= this.#loop()
  }

  async close(): Promise<void> {
    this.#stopping.abort()
    await this.#looping
  }

  async #loop(): Promise<void> {
    const { signal } = this.#stopping
    const stopped = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
    while (!signal.aborted) {
      const nc = await this.#connection()
      if (nc === null) return
      const lines = this.#serve(nc)
      void lines.opened.then(this.#isReady)
      const lost = await Promise.race([nc.closed().then((error) => ({ error })), stopped.then(() => null)])
      await lines.stop()
      if (this.#address !== null) await nc.close()
      if (lost === null || this.#address === null) return
      this.#options.logger?.warn({ err: lost.error }, 'the connection to NATS was closed; opening another')
      await sleep(RECONNECT_MS, signal)
    }
  }

  async #connection(): Promise<NatsConnection | null> {
    const { connection, logger = null } = this.#options
    if (this.#address === null) return connection ?? null
    return connectPersistently(this.#address, { signal: this.#stopping.signal, logger })
  }

  #serve(nc: NatsConnection): Lines {
    const { engine, logger = null, holdMs = 5_000, pollMs = 1_000, ackWaitMs = 10_000, atOnce = 64 } = this.#options
    const maxBytes = this.#options.maxBytes ?? MAX_BYTES
    const names = this.#names
    const link = new Link(nc, logger)
    const shared = { engine, operations: new Operations({ engine, logger }), logger, maxBytes }
    const presence = new Presence({ link, names, logger })
    // Only when the process has started: commands published on an earlier connection have their interval.
    const alone = this.#served ? async () => false : () => presence.alone()
    this.#served = true
    const relay = new Relay({ engine, link, names, logger, holdMs, pollMs, alone })
    const control = new ControlListener({ ...shared, link, names, reach: this.#reach })
    const missing = new JetStreamMissing(logger)
    const completions = new Inlet({
      link,
      names,
      logger,
      atOnce,
      missing,
      inflow: { subject: names.completed, consumer: COMPLETED_CONSUMER, ackWaitMs },
      handle: (message) => takeCompletion(shared, message),
    })
    const starts = new Inlet({
      link,
      names,
      logger,
      atOnce,
      missing,
      inflow: { subject: names.start, consumer: START_CONSUMER, ackWaitMs },
      handle: (message) =>
        takeStart({ ...shared, reply: (subject, answer) => reply(nc, subject, answer, logger) }, message),
    })
    this.#missing = missing
    const parts = [presence, relay, completions, starts, control]
    for (const part of parts) part.start()
    return {
      opened: Promise.all([completions.opened, starts.opened]),
      stop: async () => {
        // Messages that wait for an unavailable store are given up: unacknowledged, they are delivered again.
        const late = new AbortController()
        await Promise.race([Promise.all(parts.map((part) => part.stop())), sleep(CLOSING_GRACE_MS, late.signal)])
        late.abort()
        // Acknowledgements and answers are still on their way.
        if (link.connected) await nc.flush().catch(() => {})
      },
    }
  }
}

/** The sender chose the reply subject, which cannot be trusted: an invalid one must not cause a redelivery. */
function reply(nc: NatsConnection, subject: string, answer: unknown, logger: Logger | null): void {
  try {
    if (/[*>\s]/.test(subject) || subject.startsWith('$')) throw new Error('no subject to answer on')
    nc.publish(subject, JSON.stringify(answer))
  } catch (error) {
    logger?.warn({ err: error, subject }, 'a start could not be answered')
  }
}
