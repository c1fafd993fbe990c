/** What people do to an instance: start an idle one, cancel, retry, patch its context. */

import type { FastifyInstance } from 'fastify'
import type { EngineApi } from '../../engine/api.ts'
import { type Body, bodyObject } from '../../http/body.ts'
import { actorOf } from '../../http/caller.ts'
import { MAX_IDEMPOTENCY_KEY_LENGTH, MAX_TYPE_LENGTH } from '../../kernel/limits.ts'
import type { Json } from '../../net/net.ts'
import type { Part } from '../../notations/source/reader.ts'
import { cancelInstance } from '../../operations/cancel.ts'
import { openEffects } from '../../operations/saga-view.ts'
import { instanceWire } from '../../wire/instance.ts'
import { openEffectWire } from '../../wire/saga.ts'
import { readBody, readLine } from '../body-fields.ts'
import { contextWire } from './about.ts'
import { type ById, findRow } from './find.ts'
import { refusing, type Verb } from './problem.ts'

export function changeRoutes(app: FastifyInstance, engine: EngineApi): void {
  for (const verb of ['start', 'cancel'] as const) {
    app.post<ById>(`/v1/instances/:id/${verb}`, async (request) => {
      nothingIn(bodyObject(request, { empty: 'allowed' }), verb)
      const { id } = await findRow(engine, request.params.id, request.caller)
      const params = { id, actor: actorOf(request.caller) }
      const change = verb === 'start' ? engine.startInstance(params) : cancelInstance(engine, params)
      const row = await refusing(verb, id, change)
      return { instance: instanceWire(row) }
    })
  }

  app.post<ById>('/v1/instances/:id/retry', async (request, reply) => {
    const asked = readRetry(bodyObject(request, { empty: 'allowed' }))
    const { id } = await findRow(engine, request.params.id, request.caller)
    const params = { id, actor: actorOf(request.caller), ...asked }
    const open = await openEffects(engine, id)
    const made = await refusing('retry', id, engine.retryInstance(params))
    reply.code(made.created ? 201 : 200).header('location', `/v1/instances/${made.id}`)
    const row = await findRow(engine, made.id, request.caller)
    const left = open.length === 0 ? {} : { not_undone: open.map(openEffectWire) }
    return { id: made.id, created: made.created, retry_of: id, ...left, instance: instanceWire(row) }
  })

  app.patch<ById>('/v1/instances/:id/context', async (request) => {
    const set = readContext(bodyObject(request, { empty: 'refused' }))
    const { id } = await findRow(engine, request.params.id, request.caller)
    const patch = engine.patchContext({ instanceId: id, set, actor: actorOf(request.caller) })
    const row = await refusing('patch', id, patch)
    return { instance: instanceWire(row), context: await contextWire(engine, id) }
  })
}

function nothingIn(body: Body, verb: Verb): void {
  readBody(body, [], `a ${verb}`, () => null)
}

export function readRetry(body: Body): { readonly input?: Json; readonly startKey?: string } {
  return readBody(body, ['input', 'start_key'], 'a retry', (part) => {
    const startKey = readLine(part.get('start_key'), 'start_key', MAX_IDEMPOTENCY_KEY_LENGTH)
    return {
      ...(part.has('input') ? { input: body['input'] as Json } : {}),
      ...(startKey === null ? {} : { startKey }),
    }
  })
}

export function readContext(body: Body): { readonly [name: string]: Json } {
  return readBody(body, ['set'], 'a patch', (part) => {
    const set = part.get('set')
    if (!set.given) set.wrong('set is missing', 'what to write, by name: { "set": { "approved": true } }')
    const entries = set.entries('set')
    if (set.isObject && entries.length === 0) set.wrong('set names nothing', 'such as { "set": { "approved": true } }')
    for (const [name, entry] of entries) nameable(name, entry)
    return Object.fromEntries(entries.map(([name, entry]) => [name, entry.value as Json]))
  })
}

function nameable(name: string, entry: Part): void {
  if (name !== '' && name.length <= MAX_TYPE_LENGTH && !name.includes('\u0000') && name.isWellFormed()) return
  entry.wrong(`a name in the context has 1 to ${MAX_TYPE_LENGTH} characters, any but NUL`)
}
