/** Listens to requests about sagas; of all processes one answers each. */
import type { Msg, Subscription } from '@nats-io/transport-node'
import { answerControl, type ControlParams } from './control.ts'
import type { Link } from './link.ts'
import { CONTROL_GROUP, CONTROLS, type Control, type Names } from './names.ts'

export interface DeskParams extends ControlParams {
  readonly link: Link
  readonly names: Names
}

export class Desk {
  readonly #params: DeskParams
  readonly #subscriptions: Subscription[] = []
  readonly #busy = new Set<Promise<void>>()

  constructor(params: DeskParams) {
    this.#params = params
  }

  start(): void {
    const { link, names, logger } = this.#params
    for (const what of CONTROLS) {
      const callback = (error: Error | null, message: Msg): void => {
        if (error !== null) logger?.error({ err: error }, `workflow.v1.${what} is not listened to`)
        else this.#begin(what, message)
      }
      this.#subscriptions.push(link.nc.subscribe(names.control(what), { queue: CONTROL_GROUP, callback }))
    }
  }

  async stop(): Promise<void> {
    for (const subscription of this.#subscriptions) subscription.unsubscribe()
    await Promise.all(this.#busy)
  }

  #begin(what: Control, message: Msg): void {
    const work = this.#answer(what, message).finally(() => this.#busy.delete(work))
    this.#busy.add(work)
  }

  async #answer(what: Control, message: Msg): Promise<void> {
    const { logger } = this.#params
    const answer = await answerControl(this.#params, what, message.data)
    try {
      message.respond(JSON.stringify(answer))
    } catch (error) {
      logger?.warn({ err: error }, `an answer to workflow.v1.${what} could not be sent`)
      const text = `the answer could not be sent: ${(error as Error).message}`
      if (!this.#params.link.nc.isClosed()) {
        message.respond(JSON.stringify({ ok: false, error: { code: 'payload_too_large', message: text } }))
      }
    }
  }
}
