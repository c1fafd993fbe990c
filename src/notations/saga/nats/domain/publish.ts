/** What a service tells the engine about a step. It needs no engine, store or definition: only NATS. */
import { randomUUID } from 'node:crypto'
import { jetstream } from '@nats-io/jetstream'
import {
  ClosedConnectionError,
  DrainingConnectionError,
  InvalidArgumentError,
  type NatsConnection,
  PermissionViolationError,
} from '@nats-io/transport-node'
import { sleep } from '../../../../kernel/sleep.ts'
import type { StepLogLine, StepOutcome } from '../completion.ts'
import { namesUnder } from '../names.ts'

export interface StepCompletion {
  /** X-Workflow-Instance-Id of the command. */
  readonly instanceId: string
  /** X-Workflow-Step-Id of the command. */
  readonly stepId: string
  /** Default completed. */
  readonly outcome?: StepOutcome
  /** Any JSON: what later steps, and the compensation of this one, are given. */
  readonly result?: unknown
  /** Why it failed. */
  readonly error?: string
  readonly log?: readonly StepLogLine[]
}

export interface PublishOptions {
  /** As the engine has it. */
  readonly prefix?: string
  /** Default 120,000. A completion that never arrived is asked for again: the command comes again. */
  readonly giveUpMs?: number
  readonly signal?: AbortSignal
}

const GIVE_UP_MS = 120_000
const ACK_MS = 2_000
const LEAST_PAUSE_MS = 50
const MOST_PAUSE_MS = 2_000
/** Time does not heal these. */
const HOPELESS = [ClosedConnectionError, DrainingConnectionError, InvalidArgumentError, PermissionViolationError]

/**
 * Resolves when the stream has the completion. Tries again while NATS or the stream is away; rejects if it stays so, or the
 * connection was closed for good.
 */
export async function publishStepCompletion(
  nc: NatsConnection,
  completion: StepCompletion,
  options: PublishOptions = {},
): Promise<void> {
  const { prefix = null, giveUpMs = GIVE_UP_MS, signal = new AbortController().signal } = options
  const subject = namesUnder(prefix).completed
  const body = completionBody(completion)
  // Of this call, not of the step: a step that failed and is tried again answers a second time, with the same step id.
  const msgID = randomUUID()
  const giveUpAt = performance.now() + giveUpMs
  for (let tries = 0; ; tries++) {
    try {
      await jetstream(nc).publish(subject, body, { msgID, timeout: ACK_MS })
      return
    } catch (error) {
      const over = signal.aborted || performance.now() >= giveUpAt
      if (over || HOPELESS.some((kind) => error instanceof kind)) throw error
      await sleep(Math.min(LEAST_PAUSE_MS * 2 ** Math.min(tries, 10), MOST_PAUSE_MS), signal)
    }
  }
}

export function completionBody(completion: StepCompletion): string {
  const { instanceId, stepId, outcome = 'completed', result = null, error = '', log = [] } = completion
  return JSON.stringify({
    workflow_instance_id: instanceId,
    step_id: stepId,
    success: outcome !== 'failed',
    result_json: result === null ? '' : JSON.stringify(result),
    error_message: error,
    // Beyond what every engine of this protocol understands: only if there is something to say.
    ...(outcome === 'completed_with_warnings' ? { outcome } : {}),
    ...(log.length === 0 ? {} : { log }),
  })
}
