/** A service's report about a step to the engine. It needs no engine, store or definition: only NATS. */
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
  /** Any JSON: the input of later steps, and of the compensation of this one. */
  readonly result?: unknown
  /** Why it failed. */
  readonly error?: string
  readonly log?: readonly StepLogLine[]
}

export interface PublishOptions {
  /** The same as the engine's. */
  readonly prefix?: string
  /** Default 120,000. If a completion never arrives, the engine sends the command again. */
  readonly giveUpMs?: number
  readonly signal?: AbortSignal
}

const GIVE_UP_MS = 120_000
const ACK_MS = 2_000
const LEAST_PAUSE_MS = 50
const MOST_PAUSE_MS = 2_000
/** These do not pass with time. */
const HOPELESS = [ClosedConnectionError, DrainingConnectionError, InvalidArgumentError, PermissionViolationError]

/**
 * Resolves when the stream has the completion. Tries again while NATS or the stream is unavailable; rejects if that
 * does not change, or the connection was closed for good.
 */
export async function publishStepCompletion(
  nc: NatsConnection,
  completion: StepCompletion,
  options: PublishOptions = {},
): Promise<void> {
  const { prefix = null, giveUpMs = GIVE_UP_MS, signal = new AbortController().signal } = options
  const subject = namesUnder(prefix).completed
  const body = completionBody(completion)
  // For this call, not for the step: a step that failed and is tried again answers a second time, with the same step
  // id.
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
    // Not understood by every engine of this protocol: only sent if needed.
    ...(outcome === 'completed_with_warnings' ? { outcome } : {}),
    ...(log.length === 0 ? {} : { log }),
  })
}
