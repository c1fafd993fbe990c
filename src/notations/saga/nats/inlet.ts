/**
 * One durable consumer, shared by all processes: fetches messages, hands each to `handle`, and acknowledges by its
 * verdict, which comes after the commit.
 *
 *   missing ──(made)──▶ consuming ──(deleted, or a new connection)──▶ missing
 *
 * A message that is handed out and never acknowledged, because a process or the connection died, is delivered again
 * after the consumer's ack wait. A message whose `handle` throws comes again after growing pauses; it delays no other.
 */
import { type ConsumerMessages, type JsMsg, jetstream, jetstreamManager } from '@nats-io/jetstream'
import type { Logger } from '../../../kernel/logger.ts'
import { sleep } from '../../../kernel/sleep.ts'
import type { JetStreamMissing } from './jetstream.ts'
import type { Link } from './link.ts'
import { again, type Message, type Verdict } from './message.ts'
import type { Names } from './names.ts'
import { ensureConsumer, type Inflow } from './stream.ts'

export interface InletParams {
  readonly link: Link
  readonly names: Names
  readonly inflow: Inflow
  readonly logger: Logger | null
  readonly missing: JetStreamMissing
  /** Messages processed at the same time. */
  readonly atOnce: number
  handle(message: Message): Promise<Verdict>
}

/** Duration of a pull; the server sends heartbeats in between. After two missed ones the consumer is checked. */
const PULL_MS = 10_000
const BEAT_MS = 1_000
const LEAST_PAUSE_MS = 100
const MOST_PAUSE_MS = 2_000

export class Inlet {
  readonly #params: InletParams
  readonly #stopping = new AbortController()
  readonly #busy = new Set<Promise<void>>()
  #messages: ConsumerMessages | null = null
  #looping: Promise<void> | null = null
  #opened: (() => void) | null = null
  /** The consumer exists, and messages are being fetched. */
  readonly opened: Promise<void>

  constructor(params: InletParams) {
    this.#params = params
    this.opened = new Promise((resolve) => {
      this.#opened = resolve
    })
  }

  start(): void {
    this.#looping ??= this.#loop()
  }

  /** Messages that have begun are decided; those only fetched go back to the others. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    this.#messages?.stop()
    await this.#looping
    await Promise.all(this.#busy)
  }

  async #loop(): Promise<void> {
    const { link, inflow, logger, missing } = this.#params
    // After a restart the server may have lost the consumer, or our subscription.
    const undo = link.onBack(() => this.#messages?.stop())
    let tries = 0
    while (!this.#stopping.signal.aborted) {
      try {
        if (link.connected) {
          await this.#consume(() => {
            tries = 0
            missing.isThere()
          })
        }
      } catch (error) {
        if (!link.connected || this.#stopping.signal.aborted) logger?.debug({ err: error }, 'consuming was cut off')
        else if (!missing.explains(error))
          logger?.warn({ err: error, subject: inflow.subject }, 'cannot consume; trying again')
      }
      this.#messages = null
      await sleep(Math.min(LEAST_PAUSE_MS * 2 ** tries, MOST_PAUSE_MS), this.#stopping.signal)
      tries = Math.min(tries + 1, 10)
    }
    undo()
  }

  async #consume(began: () => void): Promise<void> {
    const { link, names, inflow, atOnce } = this.#params
    const jsm = await jetstreamManager(link.nc, { checkAPI: false })
    const stream = await ensureConsumer(jsm, names, inflow)
    const consumer = await jetstream(link.nc).consumers.get(stream, inflow.consumer)
    const messages = await consumer.consume({
      max_messages: atOnce,
      expires: PULL_MS,
      idle_heartbeat: BEAT_MS,
      abort_on_missing_resource: true,
    })
    this.#messages = messages
    if (this.#stopping.signal.aborted) messages.stop()
    began()
    this.#opened?.()
    for await (const message of messages) {
      if (this.#stopping.signal.aborted) message.nak()
      else await this.#begin(message)
    }
  }

  /** Resolves when there is room for the next. */
  async #begin(message: JsMsg): Promise<void> {
    const work = this.#decide(message).finally(() => this.#busy.delete(work))
    this.#busy.add(work)
    if (this.#busy.size >= this.#params.atOnce) await Promise.race(this.#busy)
  }

  async #decide(message: JsMsg): Promise<void> {
    const { handle, logger } = this.#params
    const seen = seenAs(message)
    let verdict: Verdict
    try {
      verdict = await handle(seen)
    } catch (error) {
      logger?.warn({ err: error, subject: seen.subject, deliveries: seen.deliveries }, 'a message comes again later')
      verdict = again(seen)
    }
    try {
      if (verdict === 'done') message.ack()
      else message.nak(verdict.againInMs)
    } catch (error) {
      // The connection is lost: the message comes again after the ack wait, and is then recognised as redelivered.
      logger?.debug({ err: error }, 'a message could not be acknowledged')
    }
  }
}

function seenAs(message: JsMsg): Message {
  return {
    subject: message.subject,
    data: message.data,
    deliveries: message.info.deliveryCount,
    header: (name) => message.headers?.get(name) || null,
  }
}
