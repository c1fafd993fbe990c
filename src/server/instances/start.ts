/** POST /v1/instances: starts a deployed definition by its name. */

import type { FastifyInstance } from 'fastify'
import type { EngineApi } from '../../engine/api.ts'
import type { DefinitionStarted, StartDefinition } from '../../engine/intake/definitions.ts'
import { type Body, bodyObject } from '../../http/body.ts'
import { actorOf } from '../../http/caller.ts'
import { MAX_IDEMPOTENCY_KEY_LENGTH } from '../../kernel/limits.ts'
import type { Json } from '../../net/net.ts'
import type { Part } from '../../notations/source/reader.ts'
import type { Catalog } from '../../operations/definitions/catalog.ts'
import { instanceWire } from '../../wire/instance.ts'
import type { Wire } from '../../wire/value.ts'
import { needName, readBody, readLine, readName } from '../body-fields.ts'
import { aboutWire } from './about.ts'

const STARTED = ['workflow', 'version', 'input', 'start_key', 'start', 'meta', 'correlation_id']

export type StartAsked = Omit<StartDefinition, 'tenant' | 'actor'>

export function startRoutes(app: FastifyInstance, engine: EngineApi, catalog: Catalog): void {
  app.post('/v1/instances', async (request, reply) => {
    const asked = readStart(bodyObject(request, { empty: 'refused' }))
    const { caller } = request
    const made = await catalog.start({ ...asked, tenant: caller.tenant, actor: actorOf(caller) })
    reply.code(made.created ? 201 : 200).header('location', `/v1/instances/${made.id}`)
    return startedWire(engine, made)
  })
}

export function readStart(body: Body): StartAsked {
  return readBody(body, STARTED, 'a start', (part) => {
    const startKey = readLine(part.get('start_key'), 'start_key', MAX_IDEMPOTENCY_KEY_LENGTH)
    const start = part.get('start').flag('start')
    const meta = readMeta(part)
    return {
      name: needName(part.get('workflow'), 'workflow', 'the name of a deployed definition'),
      version: readName(part.get('version'), 'version'),
      input: (part.get('input').value ?? null) as Json,
      ...(startKey === null ? {} : { startKey }),
      ...(start === null ? {} : { start }),
      ...(meta === null ? {} : { meta }),
    }
  })
}

/** What events of all its steps are told under has a name of its own, and is kept with the rest. */
function readMeta(part: Part): Json | null {
  const meta = part.get('meta')
  if (meta.given && !meta.isObject) meta.wrong('meta is a mapping', 'such as { "ticket": "T-17" }')
  const given = meta.isObject ? (meta.value as { readonly [name: string]: Json }) : {}
  const correlation = readLine(part.get('correlation_id'), 'correlation_id', MAX_IDEMPOTENCY_KEY_LENGTH)
  if (correlation !== null && Object.hasOwn(given, 'correlationId')) {
    meta.get('correlationId').wrong('correlation_id says the same already', 'leave one of the two out')
  }
  if (correlation === null) return meta.isObject ? given : null
  return { ...given, correlationId: correlation }
}

/** Of which definition it is, the instance itself says: under a taken key it may be another than the one asked for. */
export async function startedWire(engine: EngineApi, { id, created }: DefinitionStarted): Promise<Wire> {
  const [row, about] = await Promise.all([engine.queries.instance(id), aboutWire(engine, id)])
  const meta = about['meta'] as { readonly definition?: unknown } | null
  return {
    id,
    created,
    definition: meta?.definition ?? null,
    instance: row === null ? null : instanceWire(row),
  }
}
