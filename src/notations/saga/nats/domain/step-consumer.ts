/**
 * A domain service: executes commands, once each, and reports the outcome. One of these happens to every command:
 *
 *   done for the first time    its key and answer are committed with the effect; then the completion is published
 *   done before                the same completion is published again
 *   accepted                   its key is committed; the completion comes when `complete` is called
 *   the handler throws         rolled back, no key; a completion reports that it failed
 *   the handler throws NoAnswer, or the database is away
 *                              rolled back or unknown; nothing is reported, and the command comes again
 */
import type { Msg, NatsConnection, Subscription } from '@nats-io/transport-node'
import type { Logger } from '../../../../kernel/logger.ts'
import type { StepLogLine } from '../completion.ts'
import { HEADERS, namesUnder } from '../names.ts'
import { EffectFailed, type StepAnswer, type StepKeys } from './keys.ts'
import { publishStepCompletion, type StepCompletion } from './publish.ts'

export interface StepCommand<Tx, Body = unknown> {
  readonly body: Body
  /** The transaction that stores the key. Effects outside it are not undone if it fails. */
  readonly tx: Tx
  readonly stepId: string
  readonly instanceId: string
  readonly tenant: string | null
  readonly subject: string
}

/** biome-ignore lint/suspicious/noExplicitAny: only the author of a handler knows the fields of its command */
export type StepHandler<Tx> = (command: StepCommand<Tx, any>) => unknown

export interface StepConsumerOptions<Tx> {
  readonly keys: StepKeys<Tx>
  /** By subject. The return value of a handler is the step's result. */
  readonly handlers: { readonly [subject: string]: StepHandler<Tx> }
  /** Processes of one service share a group: each command goes to one of them. Default: the service's name, the first part of the subject. */
  readonly group?: string
  /** The same as the engine's. */
  readonly prefix?: string
  /** Commands executed at the same time. Default 16. */
  readonly atOnce?: number
  readonly logger?: Logger
}

export interface StepConsumer {
  /** Reports the end of accepted work. */
  complete(completion: StepCompletion): Promise<void>
  /** Accepts no more commands; resolves when those that have begun are answered. */
  stop(): Promise<void>
}

/** Thrown by a handler: nothing happened and nothing is reported; the command comes again after its resend interval. */
export class NoAnswer extends Error {
  override readonly name = 'NoAnswer'
}

class Warned {
  readonly result: unknown
  readonly log: readonly StepLogLine[]
  constructor(result: unknown, log: readonly StepLogLine[]) {
    this.result = result
    this.log = log
  }
}

const ACCEPTED = Symbol('accepted')

/** Returned by a handler: done, with warnings that a person should read. */
export function withWarnings(result: unknown, log: readonly StepLogLine[]): unknown {
  return new Warned(result, log)
}

/** Returned by a handler: the work continues; `complete` reports its end. */
export function accepted(): unknown {
  return ACCEPTED
}

export function stepConsumer<Tx>(nc: NatsConnection, options: StepConsumerOptions<Tx>): StepConsumer {
  const consumer = new Consumer(nc, options)
  consumer.start()
  return consumer
}

class Consumer<Tx> implements StepConsumer {
  readonly #nc: NatsConnection
  readonly #options: StepConsumerOptions<Tx>
  readonly #how: { readonly prefix?: string; readonly signal: AbortSignal }
  readonly #subscriptions: Subscription[] = []
  readonly #reading: Promise<void>[] = []
  readonly #busy = new Set<Promise<void>>()
  readonly #stopping = new AbortController()

  constructor(nc: NatsConnection, options: StepConsumerOptions<Tx>) {
    this.#nc = nc
    this.#options = options
    this.#how = {
      signal: this.#stopping.signal,
      ...(options.prefix === undefined ? {} : { prefix: options.prefix }),
    }
  }

  start(): void {
    const { handlers, group, prefix = null } = this.#options
    const names = namesUnder(prefix)
    for (const [subject, handler] of Object.entries(handlers)) {
      const queue = group ?? (subject.split('.')[0] as string)
      const subscription = this.#nc.subscribe(names.under(subject), { queue })
      this.#subscriptions.push(subscription)
      this.#reading.push(this.#read(subscription, subject, handler))
    }
  }

  async complete(completion: StepCompletion): Promise<void> {
    const { outcome = 'completed', result = null, log = [], stepId } = completion
    await this.#options.keys.answer(stepId, outcome === 'failed' ? null : { outcome, result, log })
    await publishStepCompletion(this.#nc, completion, this.#how)
  }

  async stop(): Promise<void> {
    for (const subscription of this.#subscriptions) subscription.unsubscribe()
    await Promise.all(this.#reading)
    await Promise.all(this.#busy)
    this.#stopping.abort()
  }

  async #read(subscription: Subscription, subject: string, handler: StepHandler<Tx>): Promise<void> {
    const { atOnce = 16, logger } = this.#options
    for await (const message of subscription) {
      const work = this.#serve(message, subject, handler)
        .catch((error: unknown) => logger?.error({ err: error, subject }, 'a command was not answered'))
        .finally(() => this.#busy.delete(work))
      this.#busy.add(work)
      while (this.#busy.size >= atOnce) await Promise.race(this.#busy)
    }
  }

  async #serve(message: Msg, subject: string, handler: StepHandler<Tx>): Promise<void> {
    const stepId = message.headers?.get(HEADERS.step) || null
    const instanceId = message.headers?.get(HEADERS.instance) || null
    if (stepId === null || instanceId === null) {
      this.#options.logger?.warn(
        { subject },
        `a message without ${HEADERS.step} and ${HEADERS.instance} is not a command`,
      )
      return
    }
    const tenant = message.headers?.get(HEADERS.tenant) || null
    const about = { stepId, instanceId, tenant, subject }
    const completion = await this.#do(about, (tx) => handler({ ...about, tx, body: message.json() }))
    if (completion !== null) await publishStepCompletion(this.#nc, completion, this.#how)
  }

  /** null: there is nothing to report, yet or at all. */
  async #do(
    { stepId, instanceId, subject }: { readonly stepId: string; readonly instanceId: string; readonly subject: string },
    handle: (tx: Tx) => unknown,
  ): Promise<StepCompletion | null> {
    const { keys, logger } = this.#options
    const ids = { stepId, instanceId }
    try {
      const { answer } = await keys.once(stepId, (tx) => {
        const given = handle(tx)
        return given instanceof Promise ? given.then(answerOf) : answerOf(given)
      })
      const { outcome, result, log } = answer
      return outcome === 'accepted' ? null : { ...ids, outcome, result, log }
    } catch (error) {
      if (!(error instanceof EffectFailed)) throw error
      logger?.warn({ err: error.cause, ...ids, subject }, 'a command failed')
      return error.cause instanceof NoAnswer ? null : { ...ids, outcome: 'failed', error: error.message }
    }
  }
}

function answerOf(given: unknown): StepAnswer {
  if (given === ACCEPTED) return { outcome: 'accepted', result: null, log: [] }
  if (given instanceof Warned)
    return { outcome: 'completed_with_warnings', result: given.result ?? null, log: given.log }
  return { outcome: 'completed', result: given ?? null, log: [] }
}
