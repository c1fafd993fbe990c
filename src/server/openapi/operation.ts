/** One operation as it is written here, and in OpenAPI's form. */

import { accessByPath } from '../../http/undescribed.ts'
import type { ErrorCode } from '../../kernel/errors.ts'
import type { Scope } from '../../operations/caller.ts'
import type { Schema } from './schema.ts'

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete'

export interface Parameter {
  readonly name: string
  readonly description: string
  readonly schema?: Schema
  readonly required?: boolean
}

export interface Answer {
  readonly description: string
  /** If absent, the body of the answer is not described. */
  readonly schema?: Schema
  /** Default: OJS's own under /ojs, else application/json. */
  readonly type?: string
  readonly headers?: readonly string[]
  readonly example?: unknown
}

export interface Operation {
  readonly tag: string
  readonly summary: string
  readonly description?: string
  /** Default: the access that the server requires for this method and path. */
  readonly scope?: Scope | 'none'
  readonly query?: readonly Parameter[]
  readonly headers?: readonly Parameter[]
  readonly body?: {
    readonly schema: Schema
    readonly optional?: boolean
    readonly example?: unknown
    /** Default: an object, as for answers. */
    readonly types?: readonly string[]
  }
  readonly answers: { readonly [status: string]: Answer }
  /** In addition to those that any route can return. */
  readonly errors?: readonly ErrorCode[]
}

export type Paths = { readonly [path: string]: { readonly [method in Method]?: Operation } }

const HEADERS: { readonly [name: string]: { readonly description: string; readonly schema: Schema } } = {
  Location: { description: 'Where the new resource is.', schema: { type: 'string' } },
}

/** `/a/{id}` of OpenAPI as `/a/:id` of the router. */
export function routePath(path: string): string {
  return path.replace(/\{(\w+)\}/g, ':$1')
}

export function operationObject(path: string, method: Method, operation: Operation): object {
  const media = path.startsWith('/ojs') ? 'application/openjobspec+json' : 'application/json'
  const scope = operation.scope ?? accessByPath(method.toUpperCase(), routePath(path)).scope
  const { summary, description, body } = operation
  const needs = scope === 'none' ? 'Needs no key.' : `Needs the scope \`${scope}\`.`
  const parameters = parametersOf(path, operation)
  return {
    operationId: idOf(path, method),
    tags: [operation.tag],
    summary,
    description: description === undefined ? needs : `${description}\n\n${needs}`,
    security: scope === 'none' ? [] : [{ key: [scope] }, {}],
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

function parametersOf(path: string, operation: Operation): readonly object[] {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map((found) => ({
    name: found[1],
    in: 'path',
    required: true,
    description: found[1] === 'id' ? 'Its id.' : `Its ${found[1]}.`,
    schema: { type: 'string' },
  }))
  const given = (where: 'query' | 'header') => (parameter: Parameter) => ({
    name: parameter.name,
    in: where,
    required: parameter.required ?? false,
    description: parameter.description,
    schema: parameter.schema ?? { type: 'string' },
  })
  return [
    ...inPath,
    ...(operation.query ?? []).map(given('query')),
    ...(operation.headers ?? []).map(given('header')),
    ...(path.startsWith('/ojs') ? [{ $ref: '#/components/parameters/OjsVersion' }] : []),
    { $ref: '#/components/parameters/RequestId' },
  ]
}

function errorsOf(operation: Operation, scope: Scope | 'none', hasBody: boolean): object {
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

function idOf(path: string, method: Method): string {
  const words = path
    .replace(/^\/(?:ojs\/v1|ojs|v1)(?=\/)/, '')
    .replace(/[{}]/g, '')
    .split(/[^A-Za-z0-9]+/)
    .filter((word) => word !== '')
  const camel = words.map((word) => word[0]?.toUpperCase() + word.slice(1)).join('')
  const room = path.startsWith('/ojs') ? '' : path.startsWith('/v1') ? 'Core' : 'Server'
  return `${method}${room}${camel}`
}
