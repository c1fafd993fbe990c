/**
 * Registry of schemas: /ojs/v1/admin/schemas/:type/:version, and /ojs/v1/schemas by URI. A version is registered once
 * and never changed. Jobs that name one in `schema` are checked when they are enqueued.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { EngineApi } from '../../../engine/api.ts'
import { bodyObject } from '../../../http/body.ts'
import { onlyKnown, type Query } from '../../../http/query.ts'
import { notFound, RequestError } from '../../../http/request-error.ts'
import { compileSchema } from '../../../kernel/json-schema.ts'
import type { SchemaRow } from '../../../model/registry.ts'
import type { Json } from '../../../net/net.ts'
import { actorOf } from '../../../operations/caller.ts'
import { refuseMistakes } from '../../../wire/mistaken.ts'
import { BodyNotes } from '../../source/reader.ts'
import { readType } from '../compile/names.ts'
import { timeText } from '../project/time.ts'
import type { OjsContext } from './context.ts'
import { PAGE_PARAMS, pageWire, readPage } from './paging.ts'
import { schemasOf } from './schema-check.ts'

type ByType = { Params: { readonly type: string } }
type ByVersion = { Params: { readonly type: string; readonly version: string } }
type ByUri = { Params: { readonly uri: string } }

const VERSION = /^\d{1,9}(?:\.\d{1,9}){0,2}$/
const URI = /^[\x21-\x7e]{1,500}$/
const MAX_BYTES = 64 * 1024

export function schemaRoutes(app: FastifyInstance, { engine }: OjsContext): void {
  const { settings } = engine.records
  const admin = { config: { access: { scope: 'admin' as const } } }

  const register = async (
    request: FastifyRequest,
    asked: Omit<Asked, 'schema'>,
    schema: unknown,
  ): Promise<SchemaRow> => {
    checkSchema(schema)
    const row: SchemaRow = {
      ...asked,
      schema: JSON.stringify(schema),
      createdAt: await engine.queries.now(),
      createdBy: actorOf(request.caller),
    }
    if (!(await settings.addSchema(row))) {
      throw new RequestError('conflict', `there is a schema for ${asked.type} version ${asked.version} already`, {
        details: { type: asked.type, version: versionWire(asked.version), uri: asked.uri },
        hint: 'A version is never changed: register the next one.',
      })
    }
    schemasOf(engine).forget()
    return row
  }
  const remove = async (row: SchemaRow): Promise<object> => {
    if (!(await settings.removeSchema(row.uri))) throw notFound('schema', row.uri)
    schemasOf(engine).forget()
    return { deleted: true, uri: row.uri, type: row.type, version: versionWire(row.version) }
  }
  const page = async (request: FastifyRequest): Promise<object> => {
    const query = request.query as Query
    onlyKnown(query, PAGE_PARAMS)
    const at = readPage(query)
    const all = await settings.schemas({ type: null })
    const shown = all.slice(at.offset, at.offset + at.limit).map(schemaWire)
    const hasMore = at.offset + shown.length < all.length
    return { schemas: shown, items: shown, pagination: pageWire({ page: at, total: all.length, hasMore, last: null }) }
  }

  app.get('/ojs/v1/admin/schemas', admin, page)
  app.get<ByType>('/ojs/v1/admin/schemas/:type', admin, async (request) =>
    schemaWire(await latest(engine, request.params.type)),
  )
  app.get<ByType>('/ojs/v1/admin/schemas/:type/versions', admin, async (request) => {
    const { type } = request.params
    const versions = [...(await settings.schemas({ type }))].sort(byVersion).map(schemaWire)
    if (versions.length === 0) throw notFound('schema', type)
    return { type, versions, items: versions }
  })
  app.get<ByVersion>('/ojs/v1/admin/schemas/:type/:version', admin, async (request) =>
    schemaWire(await find(engine, request.params)),
  )
  app.put<ByVersion>('/ojs/v1/admin/schemas/:type/:version', admin, async (request, reply) => {
    const { type, version } = request.params
    if (version === 'versions') {
      throw new RequestError('method_not_allowed', 'versions is a list, and no version', { headers: { allow: 'GET' } })
    }
    checkNames(type, version)
    const { schema } = bodyObject(request, { empty: 'refused' })
    const row = await register(request, { type, version, uri: uriOf(type, version) }, schema)
    reply.code(201)
    return schemaWire(row)
  })
  app.delete<ByVersion>('/ojs/v1/admin/schemas/:type/:version', admin, async (request) =>
    remove(await find(engine, request.params)),
  )

  app.get('/ojs/v1/schemas', page)
  app.post('/ojs/v1/schemas', admin, async (request, reply) => {
    const { type, version, uri, schema } = bodyObject(request, { empty: 'refused' })
    checkNames(type, String(version))
    const named = uri === undefined ? uriOf(type as string, String(version)) : uri
    if (typeof named !== 'string' || !URI.test(named)) {
      throw new RequestError('invalid_request', 'uri is a text without spaces', { details: { field: 'uri' } })
    }
    const row = await register(request, { type: type as string, version: String(version), uri: named }, schema)
    reply.code(201).header('location', `/ojs/v1/schemas/${encodeURIComponent(row.uri)}`)
    return { schema: schemaWire(row) }
  })
  app.get<ByUri>('/ojs/v1/schemas/:uri', async (request) => ({
    schema: schemaWire(await byUri(engine, request.params.uri)),
  }))
  app.delete<ByUri>('/ojs/v1/schemas/:uri', admin, async (request) => remove(await byUri(engine, request.params.uri)))
}

interface Asked {
  readonly type: string
  readonly version: string
  readonly uri: string
  readonly schema: unknown
}

function checkSchema(schema: unknown): void {
  if (schema === null || typeof schema !== 'object' || Array.isArray(schema)) {
    throw new RequestError('invalid_request', 'schema is a JSON Schema, an object', {
      details: { field: 'schema' },
      hint: '{ "schema": { "type": "array", "minItems": 1 } }',
    })
  }
  if (Buffer.byteLength(JSON.stringify(schema)) > MAX_BYTES) {
    throw new RequestError('payload_too_large', `a schema has at most ${MAX_BYTES} bytes`, {
      details: { field: 'schema' },
    })
  }
  try {
    compileSchema(schema)
  } catch (error) {
    throw new RequestError('invalid_request', `schema is no JSON Schema: ${(error as Error).message}`, {
      details: { field: 'schema' },
    })
  }
}

function checkNames(type: unknown, version: string): void {
  const notes = new BodyNotes()
  readType(notes.root({ type }).get('type'))
  refuseMistakes(notes)
  if (VERSION.test(version)) return
  throw new RequestError('invalid_request', `'${version.slice(0, 50)}' is no version`, {
    details: { field: 'version' },
    hint: 'A number such as 1, or three such as 1.2.0.',
  })
}

function uriOf(type: string, version: string): string {
  return `urn:ojs:schema:${type}:v${version}`
}

async function find(engine: EngineApi, { type, version }: ByVersion['Params']): Promise<SchemaRow> {
  const row = (await engine.records.settings.schemas({ type })).find((one) => one.version === version)
  if (row === undefined) throw notFound('schema', `${type} version ${version}`)
  return row
}

/** Under its URI, or the newest for the type of that name. */
async function byUri(engine: EngineApi, uri: string): Promise<SchemaRow> {
  return (await engine.records.settings.schemaByUri(uri)) ?? latest(engine, uri)
}

async function latest(engine: EngineApi, type: string): Promise<SchemaRow> {
  const newest = [...(await engine.records.settings.schemas({ type }))].sort(byVersion).at(-1)
  if (newest === undefined) throw notFound('schema', type)
  return newest
}

function byVersion(a: SchemaRow, b: SchemaRow): number {
  const [left, right] = [a, b].map(({ version }) => version.split('.').map(Number)) as [number[], number[]]
  for (let i = 0; i < 3; i++) {
    const difference = (left[i] ?? 0) - (right[i] ?? 0)
    if (difference !== 0) return difference
  }
  return 0
}

function versionWire(version: string): string | number {
  return version.includes('.') ? version : Number(version)
}

function schemaWire(row: SchemaRow): object {
  return {
    uri: row.uri,
    type: row.type,
    version: versionWire(row.version),
    schema: JSON.parse(row.schema) as Json,
    created_at: timeText(row.createdAt),
    ...(row.createdBy === null ? {} : { created_by: row.createdBy }),
  }
}
