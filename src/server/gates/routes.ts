/** /v1/gates: what waits for people, how it stands, votes, and links to vote by. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { EngineApi } from '../../engine/api.ts'
import { bodyObject } from '../../http/body.ts'
import { actorOf } from '../../http/caller.ts'
import { isId, listParam, onlyKnown, type Query, textParam, wholeParam } from '../../http/query.ts'
import { notFound } from '../../http/request-error.ts'
import { PetrelError } from '../../kernel/errors.ts'
import type { GateView } from '../../model/gates.ts'
import type { Json } from '../../net/net.ts'
import { kindOf, type Part } from '../../notations/source/reader.ts'
import { gateViewWire, gateWire } from '../../wire/gate.ts'
import { instanceWire } from '../../wire/instance.ts'
import { type Wire, wireEach } from '../../wire/value.ts'
import { needName, readBody } from '../body-fields.ts'
import { LONGEST_LINK_SECONDS, makeLink } from './link.ts'
import { GATE_STATES } from './states.ts'

type ById = { Params: { readonly id: string } }

const DEFAULT_LINK_SECONDS = 7 * 86_400

export function gateRoutes(app: FastifyInstance, engine: EngineApi): void {
  app.get('/v1/gates', async (request) => {
    const query = request.query as Query
    onlyKnown(query, ['state', 'instance', 'limit', 'before'])
    const limit = wholeParam(query, 'limit', { least: 1, most: 200, fallback: 50 })
    const rows = await engine.queries.listGates({
      states: listParam(query, 'state', GATE_STATES),
      instanceId: idParam(query, 'instance'),
      tenant: request.caller.tenant,
      limit: limit + 1,
      before: idParam(query, 'before'),
    })
    const shown = rows.slice(0, limit)
    return {
      gates: wireEach(engine.faults, shown, gateWire),
      next_before: rows.length > limit ? (shown.at(-1)?.id ?? null) : null,
    }
  })

  app.get<ById>('/v1/gates/:id', async (request) => {
    onlyKnown(request.query as Query, [])
    return { gate: gateViewWire(await find(engine, request)) }
  })

  for (const [word, approved] of [
    ['approve', true],
    ['reject', false],
  ] as const) {
    app.post<ById>(`/v1/gates/:id/${word}`, async (request) => {
      const { gate } = await find(engine, request)
      const body = bodyObject(request, { empty: 'allowed' })
      const answer = readBody(body, ['answer', 'reason'], 'a decision', readAnswer)
      const { caller } = request
      const params = { gateId: gate.id, approved, ...answer, actor: actorOf(caller), roles: caller.roles }
      const instance = await engine.answerGate(params)
      return decidedWire(await find(engine, request), instanceWire(instance))
    })
  }

  app.post<ById>('/v1/gates/:id/links', async (request, reply) => {
    const { gate } = await find(engine, request)
    const body = bodyObject(request, { empty: 'refused' })
    const asked = readBody(body, ['subject', 'roles', 'expires_in_seconds'], 'a link', readLinkAsked)
    const made = await makeLink(engine, { ...asked, gateId: gate.id, actor: actorOf(request.caller) })
    reply.code(201)
    const url = `${request.protocol}://${request.host}${made.path}`
    return { url, path: made.path, link: made.id, expires_at: new Date(made.expiresAt).toISOString() }
  })
}

/** Both, because whoever decides wants to know what became of the workflow. */
export function decidedWire(view: GateView, instance: Wire): Wire {
  return { gate: gateViewWire(view), instance }
}

export function readAnswer(part: Part): { readonly answer?: Json; readonly reason?: string } {
  const reason = part.get('reason').text('reason')
  return {
    ...(part.has('answer') ? { answer: part.get('answer').json() } : {}),
    ...(reason === null ? {} : { reason }),
  }
}

function readLinkAsked(part: Part) {
  const subject = needName(part.get('subject'), 'subject', 'the name of the person who shall decide')
  const roles = part
    .get('roles')
    .items('roles')
    .map((role) => role.text('a role'))
  const seconds = part.get('expires_in_seconds')
  const expires = seconds.whole('expires_in_seconds', { least: 1, most: LONGEST_LINK_SECONDS })
  return {
    subject,
    roles: roles.filter((role) => role !== null),
    expiresInSeconds: expires ?? DEFAULT_LINK_SECONDS,
  }
}

async function find(engine: EngineApi, request: FastifyRequest<ById>): Promise<GateView> {
  const { id } = request.params
  const { tenant } = request.caller
  const view = isId(id) ? await engine.gate(id) : null
  if (view === null || (tenant !== null && view.instance.tenant !== tenant)) throw notFound('gate', id)
  return view
}

function idParam(query: Query, name: string): string | null {
  const id = textParam(query, name)
  if (id === null || isId(id)) return id
  throw new PetrelError('invalid_request', `${name} is an id, not ${kindOf(id)}`, { parameter: name })
}
