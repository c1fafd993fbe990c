/**
 * Registry of schemas: /ojs/v1/admin/schemas/:type/:version, and /ojs/v1/schemas by URI. A version is registered once
 * and never changed. Jobs that name one in `schema` are checked when they are enqueued.
 */
import type { FastifyReply } from 'fastify'
import { bodyObject } from '../../../http/body.ts'
import { notFound, RequestError } from '../../../http/request-error.ts'
import { compileSchema } from '../../../kernel/json-schema.ts'
import type { SchemaRow } from '../../../model/registry.ts'
import type { Perform } from '../../../operations/operation.ts'
import {
  listSchemas,
  listSchemaVersions,
  registerSchema,
  removeSchema,
  showSchema,
} from '../../../operations/schemas/schemas.ts'
import { checked } from '../../../wire/mistaken.ts'
import type { Given } from '../../../wire/requests/params.ts'
import { object, type Value } from '../../../wire/schema.ts'
import { route } from './context.ts'
import { PAGE, pageAsked, pageWire } from './paging.ts'
import {
  isVersion,
  JobSchema,
  JobSchemaDeleted,
  JobSchemaList,
  JobSchemaVersions,
  NAME_OF_TYPE,
  SchemaOfUri,
  SchemaOfVersion,
  schemaWire,
  uriOf,
  versionWire,
} from './wire/job-schema.ts'

const MAX_BYTES = 64 * 1024

/** Under /admin also what is only read. */
const ADMIN = { tag: 'Schemas', does: { scope: 'admin', shared: true } } as const
const IT = { '200': { description: 'The schema.', schema: JobSchema } }
const LISTED = { '200': { description: 'Oldest first.', schema: JobSchemaList } }
const GONE = { '200': { description: 'It is deleted.', schema: JobSchemaDeleted } }

export const SCHEMA_ROUTES = [
  route(
    'GET /ojs/v1/admin/schemas',
    { ...ADMIN, summary: 'List schemas (admin)', query: PAGE, answers: LISTED },
    async ({ query, perform }) => listed(await perform(listSchemas, null), query),
  ),

  route(
    'GET /ojs/v1/admin/schemas/:type',
    {
      ...ADMIN,
      summary: 'Read the newest schema of a type',
      otherQuery: 'ignored',
      answers: IT,
      errors: ['not_found'],
    },
    async ({ params: { type }, perform }) => {
      return schemaWire(found(await perform(showSchema, { type, version: null }), type))
    },
  ),

  route(
    'GET /ojs/v1/admin/schemas/:type/versions',
    {
      ...ADMIN,
      summary: 'List the schemas of a type',
      otherQuery: 'ignored',
      answers: { '200': { description: 'By version.', schema: JobSchemaVersions } },
      errors: ['not_found'],
    },
    async ({ params: { type }, perform }) => {
      const versions = (await perform(listSchemaVersions, { type })).map(schemaWire)
      if (versions.length === 0) throw notFound('schema', type)
      return { type, versions, items: versions }
    },
  ),

  route(
    'GET /ojs/v1/admin/schemas/:type/:version',
    { ...ADMIN, summary: 'Read a schema', otherQuery: 'ignored', answers: IT, errors: ['not_found'] },
    async ({ params, perform }) => schemaWire(found(await perform(showSchema, params), nameOf(params))),
  ),

  route(
    'PUT /ojs/v1/admin/schemas/:type/:version',
    {
      tag: 'Schemas',
      summary: 'Register a schema',
      does: registerSchema,
      description: 'Once: a version never changes.',
      // Other methods of /versions are refused before any body is read.
      body: { schema: SchemaOfVersion, readByRoute: true },
      answers: { '201': { description: 'Registered.', schema: JobSchema } },
      errors: ['conflict'],
    },
    async ({ params: { type, version }, perform, request, reply }) => {
      if (version === 'versions') {
        throw new RequestError('method_not_allowed', 'versions is a list, and no version', {
          headers: { allow: 'GET' },
        })
      }
      checked(NAME_OF_TYPE, { type })
      const { schema } = checked(SchemaOfVersion, bodyObject(request, { empty: 'refused' }))
      const row = await register(perform, { type, version, uri: uriOf(type, version), schema })
      reply.code(201)
      return schemaWire(row)
    },
  ),

  route(
    'DELETE /ojs/v1/admin/schemas/:type/:version',
    { tag: 'Schemas', summary: 'Delete a schema', does: removeSchema, answers: GONE, errors: ['not_found'] },
    async ({ params, perform }) => deleted(found(await perform(removeSchema, params), nameOf(params))),
  ),

  route(
    'GET /ojs/v1/schemas',
    { tag: 'Schemas', summary: 'List schemas', does: listSchemas, query: PAGE, answers: LISTED },
    async ({ query, perform }) => listed(await perform(listSchemas, null), query),
  ),

  route(
    'POST /ojs/v1/schemas',
    {
      tag: 'Schemas',
      summary: 'Register a schema under a URI',
      does: registerSchema,
      body: { schema: SchemaOfUri },
      answers: {
        '201': { description: 'Registered.', schema: object({ schema: JobSchema }), headers: ['Location'] },
      },
      errors: ['conflict'],
    },
    async ({ body, perform, reply }) => {
      const { type, schema } = body
      const version = String(body.version)
      const row = await register(perform, { type, version, uri: body.uri ?? uriOf(type, version), schema })
      return created(reply, row)
    },
  ),

  route(
    'GET /ojs/v1/schemas/:uri',
    {
      tag: 'Schemas',
      summary: 'Read a schema by its URI',
      does: showSchema,
      description: 'Or the newest schema of the type of that name.',
      otherQuery: 'ignored',
      answers: { '200': { description: 'The schema.', schema: object({ schema: JobSchema }) } },
      errors: ['not_found'],
    },
    async ({ params, perform }) => ({ schema: schemaWire(found(await perform(showSchema, params), params.uri)) }),
  ),

  route(
    'DELETE /ojs/v1/schemas/:uri',
    { tag: 'Schemas', summary: 'Delete a schema by its URI', does: removeSchema, answers: GONE, errors: ['not_found'] },
    async ({ params, perform }) => deleted(found(await perform(removeSchema, params), params.uri)),
  ),
]

function listed(all: readonly SchemaRow[], query: Given<typeof PAGE>): Value<typeof JobSchemaList> {
  const page = pageAsked(query)
  const schemas = all.slice(page.offset, page.offset + page.limit).map(schemaWire)
  const hasMore = page.offset + schemas.length < all.length
  return { schemas, items: schemas, pagination: pageWire({ page, total: all.length, hasMore, last: null }) }
}

async function register(
  perform: Perform,
  asked: Pick<SchemaRow, 'type' | 'version' | 'uri'> & { readonly schema: unknown },
): Promise<SchemaRow> {
  const { type, version, uri, schema } = asked
  refuseNoVersion(version)
  refuseNoSchema(schema)
  const row = await perform(registerSchema, { type, version, uri, schema: JSON.stringify(schema) })
  if (row !== null) return row
  throw new RequestError('conflict', `there is a schema for ${type} version ${version} already`, {
    details: { type, version: versionWire(version), uri },
    hint: 'A version is never changed: register the next one.',
  })
}

function refuseNoVersion(version: string): void {
  if (isVersion(version)) return
  throw new RequestError('invalid_request', `'${version.slice(0, 50)}' is no version`, {
    details: { field: 'version' },
    hint: 'A number such as 1, or three such as 1.2.0.',
  })
}

function refuseNoSchema(schema: unknown): void {
  if (Buffer.byteLength(JSON.stringify(schema)) > MAX_BYTES) {
    throw new RequestError('payload_too_large', `a schema has at most ${MAX_BYTES} bytes`, {
      details: { field: 'schema' },
    })
  }
  try {
    compileSchema(schema)
  } catch (error) {
    throw new RequestError('invalid_request', `schema is not a JSON Schema: ${(error as Error).message}`, {
      details: { field: 'schema' },
    })
  }
}

function created(reply: FastifyReply, row: SchemaRow): { readonly schema: Value<typeof JobSchema> } {
  reply.code(201).header('location', `/ojs/v1/schemas/${encodeURIComponent(row.uri)}`)
  return { schema: schemaWire(row) }
}

function deleted({ uri, type, version }: SchemaRow): Value<typeof JobSchemaDeleted> {
  return { deleted: true, uri, type, version: versionWire(version) }
}

function nameOf({ type, version }: { readonly type: string; readonly version: string }): string {
  return `${type} version ${version}`
}

function found(row: SchemaRow | null, name: string): SchemaRow {
  if (row !== null) return row
  throw notFound('schema', name)
}
