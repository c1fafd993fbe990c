/**
 * Rules for every request and answer, on all routes: request ids, OJS's headers, its versions, the answers to unknown
 * paths and methods, and to bytes that are not HTTP.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { newId } from '../kernel/ids.ts'
import type { Logger } from '../kernel/logger.ts'
import { jsonText } from '../wire/json-text.ts'
import type { UnreadableRows } from '../wire/value.ts'
import { MEDIA_TYPE } from './body.ts'
import { errorAnswer, isOjs } from './failure.ts'
import { refuseEarly } from './refuse-early.ts'
import { RequestError } from './request-error.ts'
import type { RouteTable } from './route-table.ts'

/** Longer ones are experiments, and would end up in logs. */
const REQUEST_ID = /^[\x21-\x7e]{1,200}$/
/** 1, 1.0, 1.0.3 and pre-releases of 1.0. */
const SPOKEN = /^1(?:\.0(?:\.\d+)?(?:-[0-9a-z.]+)?)?$/i

export function requestId(headers: IncomingHttpHeaders): string {
  const given = headers['x-request-id']
  return typeof given === 'string' && REQUEST_ID.test(given) ? given : `req_${newId()}`
}

export function speak(
  app: FastifyInstance,
  routes: RouteTable,
  { faults, logger }: { readonly faults: UnreadableRows; readonly logger: Logger | null },
): void {
  app.setReplySerializer((body) => jsonText(body, (id, error) => faults.note('unreadable_reply', id, error)))
  app.addHook('onRequest', async (request, reply) => {
    reply.header('x-request-id', request.id)
    reply.header('x-content-type-options', 'nosniff')
    reply.header('cache-control', 'no-store')
  })
  app.addHook('preParsing', async (request) => {
    if (isOjs(request.url)) checkVersion(request)
  })
  // Without a charset: clients compare the whole text.
  app.addHook('onSend', async (request, reply) => {
    if (!isOjs(request.url)) return
    reply.header('ojs-version', '1.0')
    reply.header('content-type', MEDIA_TYPE)
  })
  app.setErrorHandler((error, request, reply) => {
    const { status, headers, body } = errorAnswer(error, { requestId: request.id, url: request.url })
    if (status >= 500)
      logger?.error({ err: error, request: request.id, url: withoutToken(request.url) }, 'request failed')
    if (status === 413 && !request.raw.complete) return refuseEarly(request, reply, body)
    return reply.code(status).headers(headers).type('application/json; charset=utf-8').send(body)
  })
  app.setNotFoundHandler((request) => {
    const path = request.url.split('?', 1)[0] as string
    const methods = routes.methodsOf(path)
    if (methods.length === 0) {
      throw new RequestError('not_found', `there is no ${request.method} ${path}`, {
        details: { resource_type: 'path', resource_id: path },
        hint: 'GET /openapi.json lists every path of this server.',
      })
    }
    throw new RequestError('method_not_allowed', `${path} does not know ${request.method}`, {
      details: { allowed: methods },
      headers: { allow: methods.join(', ') },
    })
  })
}

/** Readers of the log must not be able to sign in. */
function withoutToken(url: string): string {
  return url.replace(/([?&]token=)[^&#]*/gi, '$1…')
}

function checkVersion(request: FastifyRequest): void {
  const asked = request.headers['ojs-version']
  if (asked === undefined || (typeof asked === 'string' && SPOKEN.test(asked.trim()))) return
  throw new RequestError('unsupported', `OJS-Version ${String(asked).slice(0, 40)} is not spoken here`, {
    details: { supported_versions: ['1.0'] },
    hint: 'Send "OJS-Version: 1.0", or leave the header out.',
  })
}

/** A path that cannot be decoded matches no route and runs no hook. */
export function answerUnrouted(error: FastifyError, request: FastifyRequest, reply: FastifyReply): void {
  const { status, body } = errorAnswer(error, { requestId: request.id, url: request.url })
  const ojs = isOjs(request.url)
  reply.header('x-request-id', request.id)
  if (ojs) reply.header('ojs-version', '1.0')
  // A string would get a charset appended.
  const bytes = Buffer.from(JSON.stringify(body))
  void reply
    .code(status)
    .header('content-type', ojs ? MEDIA_TYPE : 'application/json; charset=utf-8')
    .send(bytes)
}

const BROKEN: { readonly [code: string]: { readonly status: string; readonly message: string } } = {
  HPE_INVALID_METHOD: { status: '405 Method Not Allowed', message: 'the method does not exist in HTTP' },
  HPE_HEADER_OVERFLOW: { status: '431 Request Header Fields Too Large', message: 'the headers are too large' },
  ERR_HTTP_REQUEST_TIMEOUT: { status: '408 Request Timeout', message: 'the request did not arrive in time' },
}

/**
 * A request refused by the HTTP parser: there is no request object, so the answer is written directly to the socket.
 */
export function answerBroken(error: Error & { readonly code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const { status, message } = BROKEN[error.code ?? ''] ?? {
    status: '400 Bad Request',
    message: 'the request is not HTTP',
  }
  const id = requestId({})
  const code = status.startsWith('405') ? 'method_not_allowed' : 'invalid_request'
  const { body } = errorAnswer(new RequestError(code, message), { requestId: id, url: '/ojs' })
  const text = JSON.stringify(body)
  socket.end(
    [
      `HTTP/1.1 ${status}`,
      `content-type: ${MEDIA_TYPE}`,
      'ojs-version: 1.0',
      `x-request-id: ${id}`,
      `content-length: ${Buffer.byteLength(text)}`,
      'connection: close',
      ...(status.startsWith('405') ? ['allow: GET, POST, PUT, PATCH, DELETE'] : []),
      '',
      text,
    ].join('\r\n'),
  )
}
