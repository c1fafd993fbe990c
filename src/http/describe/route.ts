/**
 * A route, described once: the description checks the request, types the handler's parameters and result, and is the
 * route's part of the OpenAPI document.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from 'fastify'
import type { ErrorCode } from '../../kernel/errors.ts'
import type { Access, Caller, Scope } from '../../operations/caller.ts'
import type { Operation, Operations, Perform } from '../../operations/operation.ts'
import { type Body, checked } from '../../wire/mistaken.ts'
import { type Given, type Params, readQuery } from '../../wire/requests/params.ts'
import { onlyKnown, type Query } from '../../wire/requests/query.ts'
import { asked, type Schema, type Value } from '../../wire/schema.ts'
import { bodyObject } from '../body.ts'

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

export interface Header {
  readonly name: string
  readonly description: string
}

export interface Answer<S extends Schema = Schema> {
  readonly description: string
  /** If absent, the body of the answer is not described. */
  readonly schema?: S
  /** Default: OJS's own under /ojs, else application/json. */
  readonly type?: string
  readonly headers?: readonly string[]
  readonly example?: unknown
}

export type Answers = { readonly [status: string]: Answer }

export interface BodyOf<S extends Schema = Schema> {
  readonly schema: S
  /** true: an empty body means {}. */
  readonly optional?: boolean
  readonly example?: unknown
  /** Default: an object, as for answers. Given: texts, which the route parses. */
  readonly types?: readonly string[]
  /** true: the route reads the body, since it may also be something else. */
  readonly readByRoute?: boolean
}

export interface Description<P extends Params, S extends Schema, A extends Answers> {
  readonly tag: string
  readonly summary: string
  readonly description?: string
  /**
   * The operation that it performs, or the first of several: a caller without access to it is refused before the body
   * is read. `none`: open to any caller. A scope, or an access: for a route whose answer comes from the server alone,
   * or that requires more than its operations do.
   */
  // biome-ignore lint/suspicious/noExplicitAny: of any parameters and result
  readonly does: Operation<any, any> | Access | Scope | 'none'
  /** If absent: a GET takes no parameters; the query string of other methods is ignored. */
  readonly query?: P
  /** Parameters that it does not accept. Default: refused if `query` is checked. */
  readonly otherQuery?: 'ignored'
  readonly headers?: readonly Header[]
  readonly body?: BodyOf<S>
  /** Accepts an empty body only: `a cancel`. */
  readonly nothing?: string
  readonly answers: A
  /** In addition to those that any route can return. */
  readonly errors?: readonly ErrorCode[]
  /** true: the answer is compressed if the caller accepts that. */
  readonly compressed?: true
  /** Whether an answer may be a stream, which stays open: always, or if the caller accepts one. */
  readonly stream?: 'always' | 'accepted'
}

export type PathParams<P extends string> = P extends `${string}:${infer Name}/${infer Rest}`
  ? { readonly [K in Name]: string } & PathParams<Rest>
  : P extends `${string}:${infer Name}`
    ? { readonly [K in Name]: string }
    : unknown

export interface Asked<Path extends string, P extends Params, B> {
  readonly params: PathParams<Path>
  readonly query: Given<P>
  readonly body: B
  readonly caller: Caller
  /** For this caller. */
  readonly perform: Perform
  readonly request: FastifyRequest
  readonly reply: FastifyReply
}

/** The possible answers: one of the described ones; a reply, if the handler has sent it itself. */
type Answered<A extends Answers> = Value<NonNullable<A[keyof A]['schema']>> | FastifyReply

/** Given to the handlers of every group. */
export interface Context {
  readonly operations: Operations
}

/** C: given to the handlers of a group of routes. */
export interface Route<C = never> {
  readonly method: Method
  /** As the router has it: `/v1/runs/:id`. */
  readonly path: string
  readonly description: Description<Params, Schema, Answers>
  readonly handle: (request: FastifyRequest, reply: FastifyReply, context: C) => Promise<unknown>
}

declare const SHAPE: unique symbol

/** What clients of a route send and get, as types only: the basis of `Client` (client.ts). */
export interface Shaped<Where extends string, Query, Body, Reply> {
  /** `GET /v1/runs/:id` */
  readonly where: Where
  readonly [SHAPE]?: { readonly query: Query; readonly body: Body; readonly reply: Reply }
}

export type Describe<C extends Context> = <
  const Path extends `${Method} /${string}`,
  A extends Answers,
  // biome-ignore lint/complexity/noBannedTypes: no parameters
  P extends Params = {},
  S extends Schema = Schema<null>,
>(
  where: Path,
  description: Description<P, S, A>,
  handler: (asked: Asked<Path, P, Value<S>>, context: C) => Promise<Answered<A>>,
) => Route<C> & Shaped<Path, keyof P & string, Value<S>, SuccessOf<A>>

type SuccessOf<A extends Answers> = Value<NonNullable<A[keyof A & `2${string}`]['schema']>>

/** `const route = routeOf<Context>()`, then one `route('GET /v1/…', description, handler)` for each. */
export function routeOf<C extends Context>(): Describe<C> {
  return (where, description, handler) => {
    const [method, path] = where.split(' ') as [Method, string]
    const { body, nothing, query, otherQuery } = description
    const empty = nothing === undefined ? null : asked(nothing, {})
    return {
      where,
      method,
      path,
      description,
      handle: async (request, reply, context) => {
        const { caller } = request
        const given = request.query as Query
        const strict = otherQuery !== 'ignored' && (method === 'GET' || query !== undefined)
        if (strict) onlyKnown(given, Object.keys(query ?? {}))
        const read = query === undefined ? {} : readQuery(query, given)
        const said = empty === null ? readBody(request, body) : readBody(request, { schema: empty, optional: true })
        const params = request.params as never
        const perform = context.operations.for(caller)
        return handler({ params, query: read as never, body: said as never, caller, perform, request, reply }, context)
      },
    }
  }
}

export function mount<C>(app: FastifyInstance, routes: readonly Route<C>[], context: C): void {
  for (const { method, path, description, handle } of routes) {
    const { stream, compressed } = description
    app.route({
      method: method as HTTPMethods,
      url: path,
      ...(stream === undefined ? {} : { exposeHeadRoute: false }),
      config: {
        access: accessOf(description),
        ...(stream === undefined ? {} : { stream }),
        ...(compressed === undefined ? {} : { compressed }),
      },
      handler: (request, reply) => handle(request, reply, context),
    })
  }
}

/** null: the route takes none. */
function readBody(request: FastifyRequest, body: BodyOf | undefined): Body | null {
  if (body === undefined || body.types !== undefined || body.readByRoute === true) return null
  return checked(body.schema, bodyObject(request, { empty: body.optional === true ? 'allowed' : 'refused' }))
}

/** 'none': open to any caller. */
export function accessOf({ does }: Route['description']): Access | 'none' {
  if (does === 'none') return does
  if (typeof does === 'string') return { scope: does }
  return 'access' in does ? does.access : does
}
