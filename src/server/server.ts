/** The HTTP server: protocol, guards and routes combined; its start and its shutdown. */
import { setMaxListeners } from 'node:events'
import websocket from '@fastify/websocket'
import Fastify, { type FastifyInstance } from 'fastify'
import type { EngineApi } from '../engine/api.ts'
import { packageFile } from '../files.ts'
import { guardAnswers } from '../http/answer-room.ts'
import { type Authentication, type AuthMode, authenticate, isLoopback } from '../http/auth.ts'
import { readBodies } from '../http/body.ts'
import { compressAnswers } from '../http/compress.ts'
import { mount } from '../http/describe/route.ts'
import { LongPolls } from '../http/long-polls.ts'
import { answerBroken, answerUnrouted, requestId, speak } from '../http/protocol.ts'
import { guardRate } from '../http/rate-guard.ts'
import { type KnownRoute, RouteTable } from '../http/route-table.ts'
import { Seats, STREAM_SEATS } from '../http/seats.ts'
import { PetrelError } from '../kernel/errors.ts'
import type { Logger } from '../kernel/logger.ts'
import type { Keys } from '../model/registry.ts'
import { Voices } from '../notations/ojs/http/events/voices.ts'
import { ojsRoutes } from '../notations/ojs/http/routes.ts'
import { Dispatcher, type DispatcherParams } from '../notations/ojs/webhooks/dispatcher.ts'
import { Operations } from '../operations/operation.ts'
import type { CoreContext } from './context.ts'
import { mountDeploy } from './definitions/routes.ts'
import { decideRoutes } from './gates/decide.ts'
import { WriteTrial } from './health.ts'
import { measure } from './metrics/metrics.ts'
import { CORE_ROUTES, SERVER_ROUTES } from './routes.ts'
import { DashboardFiles } from './ui/files.ts'
import { secureUi } from './ui/routes.ts'

export interface ServerOptions {
  readonly engine: EngineApi
  readonly version: string
  readonly port: number
  /** Default 127.0.0.1: not reachable from other machines unless an operator decides so. */
  readonly host?: string
  /** Default: `loopback` on an address of this machine alone, `required` on any other. */
  readonly auth?: AuthMode
  /** Required in every request without a key, also on loopback, since `petrel dev` works with a shell. */
  readonly token?: string
  readonly maxBodyBytes?: number
  /** Requests per minute and caller; null: unlimited. Default: null on loopback, else 60,000. */
  readonly ratePerMinute?: number | null
  /** Opens POST /ojs/v1/admin/reset, which wipes the store. */
  readonly allowReset?: boolean
  /** Webhooks may go to private addresses and over plain http. Default: true where no key is needed, on this machine alone. */
  readonly allowPrivateWebhooks?: boolean
  /** Where the dashboard was built to. Default: in the package. */
  readonly dashboard?: URL
  readonly logger?: Logger
}

export interface Server {
  readonly url: string
  readonly port: number
  readonly auth: AuthMode
  readonly routes: readonly KnownRoute[]
  /** Requests still running after `graceMs` are disconnected. Default 10,000. */
  close(how?: { readonly graceMs?: number }): Promise<void>
}

const MAX_BODY_BYTES = 4 * 1024 * 1024
const RATE_PER_MINUTE = 60_000
const GRACE_MS = 10_000
/** Time limit for receiving a request; the route limits the time of its answer. */
const REQUEST_MS = 60_000

export async function startServer(options: ServerOptions): Promise<Server> {
  const { engine, version, port, host = '127.0.0.1', logger = null } = options
  const maxBodyBytes = options.maxBodyBytes ?? MAX_BODY_BYTES
  const local = isLoopback(host)
  const auth = options.auth ?? (local ? 'loopback' : 'required')
  await refuseOpenDoor({ keys: engine.records.keys, auth, local, host })
  engine.storage.offloadReads()
  const operations = new Operations({ engine, logger })
  const closing = new AbortController()
  // Every long poll and stream listens to it.
  setMaxListeners(0, closing.signal)
  let ready = false
  const app = makeApp(maxBodyBytes)
  const routes = new RouteTable()
  routes.watch(app)
  const authentication = guard(app, { options, operations, mode: auth, local, routes, closing: closing.signal })
  await app.register(websocket, { options: { maxPayload: 64 * 1024, handleProtocols: chooseProtocol } })
  const longPolls = new LongPolls(closing.signal)
  const streamSeats = new Seats(STREAM_SEATS)
  const metrics = measure(app, engine, version)
  const writes = new WriteTrial()
  const document = documentOf(version)
  mount(app, SERVER_ROUTES, {
    operations,
    authentication,
    version,
    store: engine.storage.kind,
    dashboard: new DashboardFiles(options.dashboard ?? packageFile('dist/dashboard/')),
    ready: () => ready,
    writes,
    metrics: metrics.print,
    document,
  })
  const shared = { operations, closing: closing.signal, streamSeats, longPolls }
  const allowPrivateWebhooks = options.allowPrivateWebhooks ?? auth === 'loopback'
  ojsRoutes(app, {
    ...shared,
    reading: engine,
    onRemoteCommit: engine.storage.onRemoteCommit,
    version,
    logger,
    openStreams: metrics.streams,
    voices: new Voices(),
    deliveries: deliverWebhooks(app, { engine, version, logger, allowPrivate: allowPrivateWebhooks }),
    options: {
      backend: engine.storage.kind,
      allowReset: options.allowReset === true,
      maxBodyBytes,
      allowPrivateWebhooks,
    },
  })
  await coreRoutes(app, { ...shared, faults: engine.faults }, logger)
  await app.listen({ port, host })
  ready = true
  const address = app.addresses()[0] as { readonly port: number }
  return {
    url: `http://${shownHost(host)}:${address.port}`,
    port: address.port,
    auth,
    routes: routes.routes,
    close: async ({ graceMs = GRACE_MS } = {}) => {
      ready = false
      closing.abort()
      await closeWithin(app, graceMs)
    },
  }
}

function makeApp(maxBodyBytes: number): FastifyInstance {
  return Fastify({
    bodyLimit: maxBodyBytes,
    forceCloseConnections: 'idle',
    requestTimeout: REQUEST_MS,
    // Outcomes that arrive while the server closes are still recorded.
    return503OnClosing: false,
    routerOptions: { maxParamLength: 1000 },
    clientErrorHandler: answerBroken,
    frameworkErrors: answerUnrouted,
    genReqId: (request) => requestId(request.headers),
  })
}

interface Guarded {
  readonly options: ServerOptions
  readonly operations: Operations
  readonly mode: AuthMode
  readonly local: boolean
  readonly routes: RouteTable
  readonly closing: AbortSignal
}

/** What every request passes before its route, in this order. */
function guard(app: FastifyInstance, { options, operations, mode, local, routes, closing }: Guarded): Authentication {
  const { engine, logger = null, ratePerMinute = local ? null : RATE_PER_MINUTE } = options
  const token = mode === 'loopback' ? (options.token ?? null) : null
  readBodies(app)
  speak(app, routes, { faults: engine.faults, logger })
  const authentication = authenticate(app, { operations, keys: engine.records.keys, mode, token })
  secureUi(app)
  endConnections(app, closing)
  guardRate(app, ratePerMinute)
  guardAnswers(app)
  compressAnswers(app)
  return authentication
}

/** While the server closes, a connection ends with its answer, since an open one would delay the shutdown. */
function endConnections(app: FastifyInstance, closing: AbortSignal): void {
  app.addHook('onSend', async (_, reply) => {
    if (closing.aborted) reply.header('connection', 'close')
  })
}

/** Everything under /v1, and the pages that signed links lead to. */
async function coreRoutes(app: FastifyInstance, core: CoreContext, logger: Logger | null): Promise<void> {
  mount(app, CORE_ROUTES, core)
  mountDeploy(app, core)
  await app.register((inner, _, done) => {
    decideRoutes(inner, { operations: core.operations, logger })
    done()
  })
}

/** From the start of the server to its end. */
function deliverWebhooks(app: FastifyInstance, params: DispatcherParams): Dispatcher {
  const dispatcher = new Dispatcher(params)
  app.addHook('onReady', async () => dispatcher.start())
  app.addHook('onClose', () => dispatcher.stop())
  // A change by this process may be an event for a subscription.
  app.addHook('onResponse', async ({ method }) => {
    if (method !== 'GET') dispatcher.nudge()
  })
  return dispatcher
}

/** Created for the first request: the start does not wait for it. */
function documentOf(version: string): () => Promise<string> {
  let printed: Promise<string> | null = null
  return () => {
    printed ??= import('./openapi/document.ts').then((module) => JSON.stringify(module.openapiDocument(version)))
    return printed
  }
}

/**
 * Requests in flight may end; those that have not by then are disconnected, so that a slow client cannot delay the
 * shutdown.
 */
async function closeWithin(app: FastifyInstance, graceMs: number): Promise<void> {
  const timer = setTimeout(() => app.server.closeAllConnections(), graceMs)
  try {
    await app.close()
  } finally {
    clearTimeout(timer)
  }
}

/** Other machines can reach the server: an operator must have created a key, or have explicitly required none. */
async function refuseOpenDoor(params: {
  readonly keys: Keys
  readonly auth: AuthMode
  readonly local: boolean
  readonly host: string
}): Promise<void> {
  const { keys, auth, local, host } = params
  if (auth === 'loopback' && !local) {
    throw new PetrelError('invalid_request', `${host} is not an address of this machine alone: keys are required there`)
  }
  if (auth !== 'required') return
  const now = Date.now()
  const known = await keys.list()
  if (known.some((key) => key.revokedAt === null && (key.expiresAt === null || key.expiresAt > now))) return
  throw new PetrelError('denied', `on ${host} every request needs an API key, and the store has none`, {
    reason: 'no_keys',
  })
}

/** Only Petrel's own protocol is agreed to; a client that offers none gets none. */
function chooseProtocol(offered: Set<string>): string | false {
  return offered.has('ojs.v1') ? 'ojs.v1' : false
}

function shownHost(host: string): string {
  if (host === '0.0.0.0' || host === '::' || host === '127.0.0.1') return 'localhost'
  return host.includes(':') ? `[${host}]` : host
}
