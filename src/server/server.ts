/** The HTTP server: routes put together, one way to answer errors, one request id per request. */
import Fastify, { type FastifyInstance } from 'fastify'
import type { EngineApi, Logger } from '../engine/api.ts'
import { newId } from '../engine/ids.ts'
import { errorAnswer } from './failure.ts'
import { healthRoute } from './health.ts'
import { indexRoute } from './index-page.ts'
import { instanceRoutes } from './instances.ts'

export interface ServerOptions {
  readonly engine: EngineApi
  readonly version: string
  readonly port: number
  /** Default 127.0.0.1: nobody else until someone decides so. */
  readonly host?: string
  readonly maxBodyBytes?: number
  readonly logger?: Logger
}

export interface Server {
  readonly url: string
  readonly port: number
  close(): Promise<void>
}

const MAX_BODY_BYTES = 4 * 1024 * 1024
/** Longer ones are someone's experiment, and end up in logs. */
const REQUEST_ID = /^[\x21-\x7e]{1,200}$/

export async function startServer(options: ServerOptions): Promise<Server> {
  const { engine, version, port, host = '127.0.0.1', logger } = options
  const closing = new AbortController()
  let ready = false
  const app = Fastify({
    bodyLimit: options.maxBodyBytes ?? MAX_BODY_BYTES,
    forceCloseConnections: 'idle',
    requestTimeout: 60_000,
    genReqId: (request) => {
      const given = request.headers['x-request-id']
      return typeof given === 'string' && REQUEST_ID.test(given) ? given : `req_${newId()}`
    },
  })
  app.addHook('onRequest', async (request, reply) => {
    reply.header('x-request-id', request.id)
  })
  answerOjs(app)
  app.setErrorHandler((error, request, reply) => {
    const { status, body } = errorAnswer(error, request.id)
    if (status >= 500) logger?.error({ err: error, request: request.id, url: request.url }, 'request failed')
    return reply.code(status).send(body)
  })
  app.setNotFoundHandler((request, reply) => {
    const message = `there is no ${request.method} ${request.url.split('?', 1)[0]}`
    return reply.code(404).send({ error: { code: 'not_found', message, details: {}, request_id: request.id } })
  })
  healthRoute(app, { store: engine.store, version, ready: () => ready })
  instanceRoutes(app, engine, closing.signal)
  indexRoute(app, { engine, version })
  await app.listen({ port, host })
  ready = true
  const address = app.addresses()[0] as { readonly port: number }
  return {
    url: `http://${host === '0.0.0.0' || host === '127.0.0.1' ? 'localhost' : host.includes(':') ? `[${host}]` : host}:${address.port}`,
    port: address.port,
    close: async () => {
      ready = false
      closing.abort()
      await app.close()
    },
  }
}

/** Everything under /ojs speaks OJS's own media type, without a charset: its clients compare the whole text. */
function answerOjs(app: FastifyInstance): void {
  app.addHook('onSend', async (request, reply) => {
    if (!request.url.startsWith('/ojs')) return
    reply.header('ojs-version', '1.0')
    reply.header('content-type', 'application/openjobspec+json')
  })
}
