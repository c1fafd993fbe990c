/**
 * An incoming completion is recorded, or refused; either way that is committed before the message is acknowledged.
 *
 *   recorded                                  done
 *   unreadable, unknown step, mismatch, late  noted as refused, done
 *   duplicate                                 the same; redelivered, it is most likely the one we recorded, whose
 *                                             acknowledgement was lost: done, nothing noted
 *   early (its command is not stored yet)     delivered again; after a while noted as refused: the command will be
 *                                             answered again when it is sent again
 *   the store does not answer                 delivered again
 */
import type { EngineApi } from '../../../engine/api.ts'
import type { Logger } from '../../../kernel/logger.ts'
import type { Operations } from '../../../operations/operation.ts'
import { completeRun } from '../../../operations/runs/change.ts'
import { type Fields, readBody } from './body.ts'
import { readCompletion } from './completion.ts'
import { refusalOf } from './failure.ts'
import { again, type Message, type Verdict } from './message.ts'
import { type About, noteRefused, UNKNOWN } from './refusal.ts'
import { senderOf } from './sender.ts'

export interface CompletionsParams {
  readonly engine: EngineApi
  readonly operations: Operations
  readonly logger: Logger | null
  readonly maxBytes: number
}

/** About two minutes, including the pauses in between. */
const MOST_EARLY = 20

export async function takeCompletion(params: CompletionsParams, message: Message): Promise<Verdict> {
  const { engine, operations, logger, maxBytes } = params
  let about = UNKNOWN
  try {
    const fields = readBody(message.data, maxBytes)
    about = saysOfItself(fields)
    // NATS decides which clients may publish here; the ids identify the saga and the step.
    const sender = senderOf('work', { subject: null, tenant: null })
    await operations.perform(sender, completeRun, readCompletion(fields))
    return 'done'
  } catch (error) {
    const refused = refusalOf(error, message)
    if (refused === null) throw error
    if (refused.code === 'early' && message.deliveries < MOST_EARLY) return again(message)
    const context = { ...about, code: refused.code, deliveries: message.deliveries }
    // A service that gets a command again answers it again: not worth a warning.
    const level = refused.code === 'duplicate' ? 'info' : 'warn'
    logger?.[level](context, `a completion was refused: ${refused.message}`)
    if (refused.code !== 'duplicate' || message.deliveries === 1) await noteRefused(engine, message, refused, about)
    return 'done'
  }
}

function saysOfItself(fields: Fields): About {
  const field = (name: string): string | null => {
    const value = fields[name]
    return typeof value === 'string' ? value : value == null ? null : JSON.stringify(value)
  }
  return { instanceId: field('workflow_instance_id'), stepId: field('step_id') }
}
