/** /v1/definitions: deploy, list, look, retire. */
import type { FastifyInstance } from 'fastify'
import { actorOf } from '../../http/caller.ts'
import { isId, onlyKnown, type Query, storableParam, textParam, wholeParam } from '../../http/query.ts'
import { PetrelError } from '../../kernel/errors.ts'
import type { Catalog } from '../../operations/definitions/catalog.ts'
import { definitionWire, deployedWire, sourceWire } from '../../wire/definition.ts'
import type { Wire } from '../../wire/value.ts'
import { findDefinition } from './find.ts'
import { readGiven, readTexts } from './text.ts'

type ByName = { Params: { readonly name: string } }
type ByVersion = { Params: { readonly name: string; readonly version: string } }

export function definitionRoutes(app: FastifyInstance, catalog: Catalog): void {
  // In a room of its own: bodies are texts here.
  void app.register((inner, _, done) => {
    readTexts(inner)
    inner.post('/v1/definitions', async (request, reply) => {
      onlyKnown(request.query as Query, ['file'])
      const { caller } = request
      const made = await catalog.deploy({ ...readGiven(request), tenant: caller.tenant, actor: actorOf(caller) })
      const { name, version } = made.row
      reply.code(made.what === 'created' ? 201 : 200)
      reply.header('location', `/v1/definitions/${encodeURIComponent(name)}/versions/${encodeURIComponent(version)}`)
      return deployedWire(made)
    })
    done()
  })

  app.get('/v1/definitions', (request) => {
    const query = request.query as Query
    onlyKnown(query, ['dialect', 'limit', 'before'])
    return page(query, request.caller.tenant, null)
  })

  app.get<ByName>('/v1/definitions/:name', async (request) => {
    onlyKnown(request.query as Query, [])
    const asked = { tenant: request.caller.tenant, name: request.params.name, version: null }
    return { definition: sourceWire(await findDefinition(catalog, asked)) }
  })

  app.get<ByName>('/v1/definitions/:name/versions', async (request) => {
    const query = request.query as Query
    onlyKnown(query, ['limit', 'before'])
    const { tenant } = request.caller
    const { name } = await findDefinition(catalog, { tenant, name: request.params.name, version: null })
    return page(query, tenant, name)
  })

  app.get<ByVersion>('/v1/definitions/:name/versions/:version', async (request) => {
    onlyKnown(request.query as Query, [])
    return { definition: sourceWire(await findDefinition(catalog, askedBy(request.caller, request.params))) }
  })

  app.delete<ByName>('/v1/definitions/:name', (request) => {
    onlyKnown(request.query as Query, [])
    return retire(request.caller, { name: request.params.name, version: null })
  })

  app.delete<ByVersion>('/v1/definitions/:name/versions/:version', (request) => {
    onlyKnown(request.query as Query, [])
    return retire(request.caller, request.params)
  })

  async function page(query: Query, tenant: string | null, name: string | null): Promise<Wire> {
    const limit = wholeParam(query, 'limit', { least: 1, most: 200, fallback: 50 })
    const before = textParam(query, 'before')
    if (before !== null && !isId(before)) {
      throw new PetrelError('invalid_request', `before is what a page gave as next_before, not '${before}'`, {
        parameter: 'before',
      })
    }
    const dialect = storableParam(query, 'dialect')
    const rows = await catalog.list({ tenant, name, dialect, limit: limit + 1, before })
    const shown = rows.slice(0, limit)
    const next = rows.length > limit ? (shown.at(-1)?.id ?? null) : null
    return { definitions: shown.map(definitionWire), next_before: next }
  }

  async function retire(
    caller: Parameters<typeof actorOf>[0],
    params: { readonly name: string; readonly version: string | null },
  ): Promise<Wire> {
    const asked = askedBy(caller, params)
    await findDefinition(catalog, asked)
    const rows = await catalog.retire({ ...asked, actor: actorOf(caller) })
    return { definitions: rows.map(definitionWire) }
  }
}

function askedBy(
  { tenant }: { readonly tenant: string | null },
  { name, version }: { readonly name: string; readonly version: string | null },
) {
  return { tenant, name, version }
}
