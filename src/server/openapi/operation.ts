/** One route as OpenAPI describes it. */
import type { Answer, Header, Route } from '../../http/describe/route.ts'
import type { ErrorCode } from '../../kernel/errors.ts'
import type { Scope } from '../../operations/caller.ts'
import type { Schema } from '../../wire/schema.ts'

type Description = Route['description']

export interface Described {
  /** In lower case. */
  readonly method: string
  /** As the document has it: `/v1/runs/{id}`. */
  readonly path: string
  readonly scope: Scope | 'none'
  readonly description: Description
}

const HEADERS: { readonly [name: string]: { readonly description: string; readonly schema: Schema } } = {
  'Set-Cookie': { description: 'The cookie of the sign-in.', schema: { type: 'string' } },
  Location: { description: 'Where the new resource is.', schema: { type: 'string' } },
}

/** `/a/{id}` of OpenAPI as `/a/:id` of the router. */
export function routePath(path: string): string {
  return path.replace(/\{(\w+)\}/g, ':$1')
}

export function operationObject({ method, path, scope, description: operation }: Described): object {
  const media = path.startsWith('/ojs') ? 'application/openjobspec+json' : 'application/json'
  const { summary, description, body } = operation
  const needs = scope === 'none' ? 'Needs no key.' : `Needs the scope \`${scope}\`.`
  const parameters = parametersOf(path, operation)
  return {
    operationId: idOf(path, method),
    tags: [operation.tag],
    summary,
    description: description === undefined ? needs : `${description}\n\n${needs}`,
    security: scope === 'none' ? [] : [{ key: [scope] }, { cookie: [] }, {}],
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            required: body.optional !== true,
            content: Object.assign({}, ...(body.types ?? [media]).map((type) => content(type, body))),
          },
        }),
    responses: {
      ...Object.fromEntries(
        Object.entries(operation.answers).map(([status, answer]) => [status, answerObject(answer, media)]),
      ),
      ...errorsOf(operation, scope, body !== undefined),
    },
  }
}

function answerObject(answer: Answer, media: string): object {
  const { description, schema, headers = [], type = media, example } = answer
  return {
    description,
    ...(headers.length === 0 ? {} : { headers: Object.fromEntries(headers.map((name) => [name, HEADERS[name]])) }),
    ...(schema === undefined ? {} : { content: content(type, { schema, example }) }),
  }
}

function content(type: string, { schema, example }: { readonly schema: Schema; readonly example?: unknown }): object {
  return { [type]: { schema, ...(example === undefined ? {} : { example }) } }
}

function parametersOf(path: string, { query = {}, headers = [] }: Description): readonly object[] {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map((found) => ({
    name: found[1],
    in: 'path',
    required: true,
    description: found[1] === 'id' ? 'Its id.' : `Its ${found[1]}.`,
    schema: { type: 'string' },
  }))
  const inQuery = Object.entries(query).map(([name, { description, schema }]) => ({
    name,
    in: 'query',
    required: false,
    description,
    schema,
  }))
  const inHeader = headers.map(({ name, description }: Header) => ({
    name,
    in: 'header',
    required: false,
    description,
    schema: { type: 'string' },
  }))
  return [
    ...inPath,
    ...inQuery,
    ...inHeader,
    ...(path.startsWith('/ojs') ? [{ $ref: '#/components/parameters/OjsVersion' }] : []),
    { $ref: '#/components/parameters/RequestId' },
  ]
}

function errorsOf(operation: Description, scope: Scope | 'none', hasBody: boolean): object {
  const codes = new Set<ErrorCode>(operation.errors ?? [])
  if (hasBody) for (const code of ['invalid_request', 'payload_too_large'] as const) codes.add(code)
  if (scope !== 'none')
    for (const code of ['unauthenticated', 'permission_denied', 'rate_limited'] as const) codes.add(code)
  return {
    ...Object.fromEntries(
      [...codes].map((code) => [STATUS[code] ?? '400', { $ref: `#/components/responses/${code}` }]),
    ),
    default: { $ref: '#/components/responses/error' },
  }
}

/** One response per status: if several codes share one, the most common represents them. */
const STATUS: { readonly [code in ErrorCode]?: string } = {
  invalid_request: '400',
  invalid_workflow: '400',
  invalid_definition: '400',
  unauthenticated: '401',
  permission_denied: '403',
  not_found: '404',
  unknown_event: '404',
  conflict: '409',
  duplicate: '409',
  payload_too_large: '413',
  validation_error: '422',
  unsupported: '422',
  rate_limited: '429',
  QUEUE_FULL: '429',
  unavailable: '503',
}

function idOf(path: string, method: string): string {
  const words = path
    .replace(/^\/(?:ojs\/v1|ojs|v1)(?=\/)/, '')
    .replace(/[{}]/g, '')
    .replace('*', 'any')
    .split(/[^A-Za-z0-9]+/)
    .filter((word) => word !== '')
  const camel = words.map((word) => word[0]?.toUpperCase() + word.slice(1)).join('')
  const room = path.startsWith('/ojs') ? '' : path.startsWith('/v1') ? 'Core' : 'Server'
  return `${method}${room}${camel}`
}
