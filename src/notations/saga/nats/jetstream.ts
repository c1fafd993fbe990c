/** A NATS server without JetStream stores neither starts nor completions. That is reported once, until it is fixed. */
import { JetStreamApiError } from '@nats-io/jetstream'
import { NoRespondersError, RequestError } from '@nats-io/transport-node'
import type { Logger } from '../../../kernel/logger.ts'

const NOT_ENABLED = new Set([10_076, 10_039])
const PROBLEM =
  'NATS has no JetStream, so starts and completions of sagas cannot be received: start nats-server with -js, or enable JetStream for this account'

export class JetStreamMissing {
  readonly #logger: Logger | null
  problem: string | null = null

  constructor(logger: Logger | null) {
    this.#logger = logger
  }

  /** true: this is the reason, and it has been reported. */
  explains(error: unknown): boolean {
    if (!isMissing(error)) return false
    if (this.problem === null) this.#logger?.error({ code: 'jetstream_missing' }, PROBLEM)
    this.problem = PROBLEM
    return true
  }

  isThere(): void {
    if (this.problem !== null) this.#logger?.info({}, 'NATS has JetStream now')
    this.problem = null
  }
}

function isMissing(error: unknown): boolean {
  if (error instanceof JetStreamApiError) return NOT_ENABLED.has(error.code)
  if (!(error instanceof Error)) return false
  if (error.name === 'JetStreamNotEnabled' || error instanceof NoRespondersError) return true
  return error instanceof RequestError && error.isNoResponders()
}
