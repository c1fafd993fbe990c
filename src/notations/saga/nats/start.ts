/**
 * workflow.v1.start: { type, version?, request_json, instance_id?, correlation_id?, tenant_id?, created_by? }. A sender
 * that names an X-Reply-To subject is answered there; the message's own reply belongs to JetStream.
 */

import type { EngineApi } from '../../../engine/api.ts'
import type { Logger } from '../../../kernel/logger.ts'
import type { Started } from '../../../model/start.ts'
import type { Json } from '../../../net/net.ts'
import type { Operations } from '../../../operations/operation.ts'
import { startSaga } from '../../../operations/sagas/sagas.ts'
import { type Fields, idOf, jsonOf, need, readBody, textOf, wrong } from './body.ts'
import { refusalOf } from './failure.ts'
import type { Message, Verdict } from './message.ts'
import { HEADERS } from './names.ts'
import { noteRefused, UNKNOWN } from './refusal.ts'
import { senderOf } from './sender.ts'

export interface StartsParams {
  readonly engine: EngineApi
  readonly operations: Operations
  readonly logger: Logger | null
  readonly maxBytes: number
  reply(subject: string, answer: Json): void
}

interface Start {
  readonly type: string
  readonly version: string | null
  readonly request: Json
  readonly id: string | undefined
  readonly correlationId: string | undefined
  readonly tenant: string | null
  readonly createdBy: string | null
}

export async function takeStart(params: StartsParams, message: Message): Promise<Verdict> {
  const { engine, operations, logger, maxBytes } = params
  const replyTo = message.header(HEADERS.replyTo)
  const reply = (answer: Json): void => {
    if (replyTo !== null) params.reply(replyTo, answer)
  }
  let instanceId: string | null = null
  try {
    const fields = readBody(message.data, maxBytes)
    instanceId = typeof fields['instance_id'] === 'string' ? fields['instance_id'] : null
    const { id, created } = await start(operations, readStart(fields))
    reply({ ok: true, instance_id: id, created })
  } catch (error) {
    const refused = refusalOf(error, message)
    if (refused === null) throw error
    const { code, message: why } = refused
    logger?.warn({ code, instanceId }, `a start was refused: ${why}`)
    await noteRefused(engine, message, refused, { ...UNKNOWN, instanceId })
    reply({ ok: false, error: { code, message: why } })
  }
  return 'done'
}

function readStart(fields: Fields): Start {
  const type = need(textOf(fields, 'type', 200), 'type')
  if (type === '') throw wrong('type', 'empty')
  return {
    type,
    version: textOf(fields, 'version', 200) ?? null,
    request: jsonOf(fields, 'request_json'),
    id: idOf(fields, 'instance_id'),
    correlationId: textOf(fields, 'correlation_id', 1000),
    tenant: textOf(fields, 'tenant_id', 200) ?? null,
    createdBy: textOf(fields, 'created_by', 200) ?? null,
  }
}

/** NATS protects subjects: a sender that may publish a start may start for any tenant. */
function start(operations: Operations, asked: Start): Promise<Started> {
  const { type, version, request, id, correlationId, tenant, createdBy } = asked
  return operations.perform(senderOf('enqueue', { subject: createdBy, tenant }), startSaga, {
    name: type,
    version,
    request,
    ...(id === undefined ? {} : { id }),
    ...(correlationId === undefined ? {} : { correlationId }),
  })
}
