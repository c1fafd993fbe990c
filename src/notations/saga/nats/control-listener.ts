/** Answers requests about sagas; each request is answered by one of all the processes. */
import type { Msg, Subscription } from '@nats-io/transport-node'
import type { EngineApi } from '../../../engine/api.ts'
import { NO_TENANT } from '../../../operations/caller.ts'
import { jsonText } from '../../../wire/json-text.ts'
import { answerControl, type ControlParams } from './control.ts'
import type { Link } from './link.ts'
import { CONTROL_GROUP, CONTROLS, type Control, type ControlReach, type Names } from './names.ts'

export interface ControlListenerParams extends ControlParams {
  readonly engine: EngineApi
  readonly link: Link
  readonly names: Names
  readonly reach: ControlReach
}

export class ControlListener {
  readonly #params: ControlListenerParams
  readonly #subscriptions: Subscription[] = []
  readonly #busy = new Set<Promise<void>>()

  constructor(params: ControlListenerParams) {
    this.#params = params
  }

  start(): void {
    const { link, names, logger, reach } = this.#params
    if (reach === 'none') return
    for (const what of CONTROLS) {
      for (const subject of [names.control(what), names.tenantControl('*', what)]) {
        const callback = (error: Error | null, message: Msg): void => {
          if (error !== null) logger?.error({ err: error }, `${subject} cannot be subscribed to`)
          else this.#begin(what, message)
        }
        this.#subscriptions.push(link.nc.subscribe(subject, { queue: CONTROL_GROUP, callback }))
      }
    }
  }

  /** NATS protects subjects, so the subject decides whose sagas are meant; null: all. */
  #tenantOf(what: Control, { subject }: Msg): string | null {
    const { names, reach } = this.#params
    if (subject === names.control(what)) return reach === 'all' ? null : NO_TENANT
    return subject.split('.').at(-2) ?? NO_TENANT
  }

  async stop(): Promise<void> {
    for (const subscription of this.#subscriptions) subscription.unsubscribe()
    await Promise.all(this.#busy)
  }

  #begin(what: Control, message: Msg): void {
    const work = this.#answer(what, message)
      .catch((error: unknown) => this.#params.logger?.warn({ err: error }, `workflow.v1.${what} was not answered`))
      .finally(() => this.#busy.delete(work))
    this.#busy.add(work)
  }

  async #answer(what: Control, message: Msg): Promise<void> {
    const { logger } = this.#params
    const answer = await answerControl(this.#params, what, message.data, this.#tenantOf(what, message))
    try {
      message.respond(jsonText(answer, (id, error) => this.#params.engine.faults.note('unreadable_reply', id, error)))
    } catch (error) {
      logger?.warn({ err: error }, `an answer to workflow.v1.${what} could not be sent`)
      const text = `the answer could not be sent: ${(error as Error).message}`
      if (!this.#params.link.nc.isClosed()) {
        message.respond(JSON.stringify({ ok: false, error: { code: 'payload_too_large', message: text } }))
      }
    }
  }
}
