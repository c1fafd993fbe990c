/** The event log in the words of a notation, the results of nodes, and what references lead to. */
import type { FastifyInstance } from 'fastify'
import type { EngineApi } from '../../engine/api.ts'
import { listParam, onlyKnown, type Query, textParam, wholeParam } from '../../http/query.ts'
import { notFound } from '../../http/request-error.ts'
import { PetrelError } from '../../kernel/errors.ts'
import type { InstanceRow } from '../../model/rows.ts'
import type { Net } from '../../net/net.ts'
import { SLOT } from '../../net/slots.ts'
import { FROM_THE_BEGINNING, parsePlace } from '../../notations/interface/events.ts'
import { NOTATIONS, projectionOf } from '../../notations/notations.ts'
import { json } from '../../wire/value.ts'
import { type ById, findRow } from './find.ts'
import { loadResult } from './result.ts'
import { unsupported } from './unsupported.ts'

export const OWN_EVENT_TYPES = NOTATIONS.flatMap(({ project }) => project.events?.types ?? [])

export function executionRoutes(app: FastifyInstance, engine: EngineApi): void {
  app.get<ById>('/v1/instances/:id/execution-events', async (request) => {
    const query = request.query as Query
    onlyKnown(query, ['after', 'limit', 'types'])
    const limit = wholeParam(query, 'limit', { least: 1, most: 1000, fallback: 100 })
    const types = listParam(query, 'types', OWN_EVENT_TYPES)
    const after = readPlace(query)
    const instance = await findRow(engine, request.params.id, request.caller)
    const { events } = projectionOf(instance)
    if (events === undefined) throw unsupported('events in the words of the notation', 'events', instance)
    const net = await netOf(engine, instance)
    return events.page(engine, instance, net, { after, limit, types: types === null ? null : new Set(types) })
  })

  app.get<ByNode>('/v1/instances/:id/results/:node', async (request) => {
    onlyKnown(request.query as Query, [])
    const instance = await findRow(engine, request.params.id, request.caller)
    const net = await netOf(engine, instance)
    const node = net.nodes.find(({ key }) => key === request.params.node)
    if (node === undefined) throw notFound('step', request.params.node, `Of ${instance.name}.`)
    return { instance_id: instance.id, node: node.key, ...(await loadResult(engine, instance, net, node)) }
  })

  app.get<ByRef>('/v1/instances/:id/refs/:ref', async (request) => {
    onlyKnown(request.query as Query, [])
    const { ref } = request.params
    const { id } = await findRow(engine, request.params.id, request.caller)
    // Other slots are the engine's own business.
    const value = SLOT.storedArgs.isKey(ref) ? await engine.queries.slot({ instanceId: id, key: ref }) : null
    if (value === null)
      throw notFound('reference', ref, 'It is what a {"$ref": "x:7"} in arguments says: x and a number.')
    return { instance_id: id, ref, value: json(value) }
  })
}

type ByNode = { Params: { readonly id: string; readonly node: string } }
type ByRef = { Params: { readonly id: string; readonly ref: string } }

function readPlace(query: Query) {
  const text = textParam(query, 'after')
  if (text === null) return FROM_THE_BEGINNING
  const place = parsePlace(text)
  if (place !== null) return place
  throw new PetrelError('invalid_request', `after is the next_after of a page, not '${text}'`, { parameter: 'after' })
}

async function netOf(engine: EngineApi, { netHash }: InstanceRow): Promise<Net> {
  const net = await engine.net(netHash)
  if (net === null) throw notFound('net', netHash)
  return net
}
