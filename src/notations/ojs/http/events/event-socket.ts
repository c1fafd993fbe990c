/**
 * Events over a WebSocket, /ojs/v1/ws, subprotocol `ojs.v1`. A client sends
 *
 *   { action: "subscribe", channel, event_types? }   → { type: "subscribed", … }, then { type: "event", … } as they come
 *   { action: "unsubscribe", channel }               → { type: "unsubscribed", … }
 *   { action: "resume", last_event_id }              → what its channels missed since, then what comes
 *
 * and any other message is answered { type: "error", code, message }. A client that reads nothing for too long, or
 * answers no ping, is disconnected; the reason names the way to continue.
 */

import type { WebSocket } from '@fastify/websocket'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { accessOf } from '../../../../http/describe/route.ts'
import { errorAnswer } from '../../../../http/failure.ts'
import { RequestError } from '../../../../http/request-error.ts'
import { PetrelError } from '../../../../kernel/errors.ts'
import { sleep } from '../../../../kernel/sleep.ts'
import { type Feed, openFeed } from '../../../../operations/events/feed.ts'
import type { Perform } from '../../../../operations/operation.ts'
import type { EventPlace } from '../../project/event-id.ts'
import { type OjsContext, route } from '../context.ts'
import { requireChannel } from './channel.ts'
import { type EventFilter, matches, readChannel, readTypes } from './event-filter.ts'
import type { HubEvent } from './event-hub.ts'
import { PATIENCE_MS, pump } from './event-listener.ts'
import { readPlace } from './event-place.ts'
import { endOf, gapBefore } from './event-stream.ts'

const PING_MS = 25_000
const FULL_BYTES = 1024 * 1024
const ROOM_BYTES = 256 * 1024
const LOOK_MS = 50
/** For a client that has the reason and does not close the connection. */
const LINGER_MS = 1_000
const MOST_CHANNELS = 100

const SOCKET = route(
  'GET /ojs/v1/ws',
  {
    tag: 'Events',
    summary: 'Events over a WebSocket',
    description:
      'Subprotocol `ojs.v1`. Send `{"action": "subscribe", "channel": "all"}`; receive `{"type": "event", …}`. ' +
      '`unsubscribe` and `resume` (with `last_event_id`) are the other actions.',
    does: openFeed,
    otherQuery: 'ignored',
    answers: { '101': { description: 'The connection is a WebSocket now.' } },
    errors: ['invalid_request'],
    stream: 'always',
  },
  async () => {
    throw new RequestError('invalid_request', 'this path speaks WebSocket')
  },
)

export const SOCKET_ROUTES = [SOCKET]

/** Besides its answers over HTTP, the route has a handler for the connection. */
export function mountSocket(app: FastifyInstance, context: OjsContext): void {
  const leaves = new WeakMap<FastifyRequest, () => void>()
  app.route({
    method: SOCKET.method,
    url: SOCKET.path,
    exposeHeadRoute: false,
    config: { access: accessOf(SOCKET.description), stream: 'always' },
    preHandler: async (request) => {
      if (!request.ws) {
        throw new RequestError('invalid_request', 'this path speaks WebSocket', {
          hint: 'Connect with a WebSocket client, or read GET /ojs/v1/events/stream.',
        })
      }
      leaves.set(request, context.streamSeats.take(request))
    },
    handler: (request, reply) => SOCKET.handle(request, reply, context),
    wsHandler: (socket, request) => {
      context.openStreams.inc({ kind: 'websocket' })
      socket.once('close', () => {
        context.openStreams.dec({ kind: 'websocket' })
        leaves.get(request)?.()
      })
      new SocketListener(socket, request, context)
    },
  })
}

class SocketListener {
  readonly #socket: WebSocket
  readonly #request: FastifyRequest
  readonly #context: OjsContext
  readonly #perform: Perform
  readonly #feed: Promise<Feed>
  readonly #channels = new Map<string, EventFilter>()
  readonly #gone = new AbortController()
  #current: AbortController | null = null
  /** Messages are answered one after another. */
  #turn: Promise<void> = Promise.resolve()

  constructor(socket: WebSocket, request: FastifyRequest, context: OjsContext) {
    this.#socket = socket
    this.#request = request
    this.#context = context
    this.#perform = context.operations.for(request.caller)
    this.#feed = this.#perform(openFeed, null)
    socket.on('message', (data, isBinary) => {
      // Read on when this one is answered and the answer is taken: a client that only talks fills no memory.
      socket.pause()
      this.#turn = this.#turn.then(() => this.#receive(isBinary ? '' : String(data))).then(() => this.#listenOn())
    })
    socket.on('error', () => socket.terminate())
    socket.once('close', () => this.#gone.abort())
    this.#keepAlive()
    const goodbye = (): void => {
      this.#send({ type: 'event', channel: 'all', event: 'server.shutdown', data: { grace_period_ms: 0 } })
      socket.close(1001, 'the server is going down; connect again and resume')
    }
    context.closing.addEventListener('abort', goodbye, { once: true, signal: this.#gone.signal })
  }

  #keepAlive(): void {
    let answered = true
    this.#socket.on('pong', () => {
      answered = true
    })
    const timer = setInterval(() => {
      if (!answered) this.#socket.terminate()
      answered = false
      this.#socket.ping()
    }, PING_MS)
    this.#gone.signal.addEventListener('abort', () => clearInterval(timer), { once: true })
  }

  async #listenOn(): Promise<void> {
    if (this.#socket.bufferedAmount >= FULL_BYTES) {
      const late = AbortSignal.timeout(PATIENCE_MS)
      await this.#drained(AbortSignal.any([this.#gone.signal, late])).catch(() => {
        if (late.aborted) this.#closeSlow()
      })
    }
    this.#socket.resume()
  }

  #closeSlow(): void {
    this.#socket.close(1013, 'events were not taken for 30 s; connect again and resume')
    setTimeout(() => this.#socket.terminate(), LINGER_MS).unref()
  }

  async #receive(text: string): Promise<void> {
    if (this.#gone.signal.aborted) return
    try {
      await this.#obey(parse(text))
    } catch (error) {
      const { body } = errorAnswer(error, { requestId: this.#request.id, url: '/ojs' })
      this.#send({ type: 'error', code: body.error.code, message: body.error.message, hint: body.error.hint })
      if (!isRefusal(error)) this.#context.logger?.error({ err: error }, 'websocket message failed')
    }
  }

  async #obey(message: { readonly [key: string]: unknown }): Promise<void> {
    if (message['action'] === 'subscribe') return this.#subscribe(message)
    if (message['action'] === 'unsubscribe') return this.#unsubscribe(message)
    if (message['action'] === 'resume') return this.#resume(message)
    throw new RequestError('invalid_request', 'action is subscribe, unsubscribe or resume', {
      hint: '{"action": "subscribe", "channel": "all"}',
    })
  }

  async #subscribe(message: { readonly [key: string]: unknown }): Promise<void> {
    const channel = readChannel(String(message['channel'] ?? ''))
    const types = message['event_types']
    if (types !== undefined && !(Array.isArray(types) && types.every((type) => typeof type === 'string')))
      throw new RequestError('invalid_request', 'event_types is an array of types of event')
    if (this.#channels.size >= MOST_CHANNELS && !this.#channels.has(channel))
      throw new RequestError('rate_limited', `${MOST_CHANNELS} channels are subscribed; unsubscribe from one first`)
    const filter = { channel, types: readTypes(types ?? null), queues: null, jobTypes: null }
    await requireChannel({ perform: this.#perform, caller: this.#request.caller }, channel)
    const feed = await this.#feed
    const from = this.#current === null ? await endOf(feed) : null
    this.#channels.set(channel, filter)
    this.#send({ type: 'subscribed', channel, ...(filter.types === null ? {} : { event_types: filter.types }) })
    if (from !== null) this.#follow(feed, from)
  }

  #unsubscribe(message: { readonly [key: string]: unknown }): void {
    const channel = readChannel(String(message['channel'] ?? ''))
    this.#channels.delete(channel)
    this.#send({ type: 'unsubscribed', channel })
  }

  async #resume(message: { readonly [key: string]: unknown }): Promise<void> {
    const from = readPlace(String(message['last_event_id'] ?? ''))
    const feed = await this.#feed
    for (const filter of this.#channels.values()) {
      const gap = await gapBefore(feed, filter, from)
      if (gap !== null) this.#send({ type: 'event', channel: filter.channel, event: 'system.gap', data: gap })
    }
    this.#send({ type: 'resumed', last_event_id: message['last_event_id'] })
    this.#follow(feed, from)
  }

  /** From this place on, and no longer from where it was. */
  #follow(feed: Feed, from: EventPlace): void {
    this.#current?.abort()
    const current = new AbortController()
    this.#current = current
    void pump({
      hub: this.#context.hub,
      from,
      wants: (event) => feed.sees(event) && [...this.#channels.values()].some((filter) => matches(filter, event)),
      outlet: { send: (event) => this.#deliver(event), drained: (signal) => this.#drained(signal) },
      gone: AbortSignal.any([this.#gone.signal, current.signal]),
      closing: this.#context.closing,
    }).then(
      ({ why }) => {
        if (why === 'slow') this.#closeSlow()
      },
      (error) => {
        this.#context.logger?.error({ err: error }, 'event stream broke off')
        this.#socket.close(1011, 'the stream broke off; connect again and resume')
      },
    )
  }

  #deliver(event: HubEvent): boolean {
    const { data, time, type } = event.wire
    for (const filter of this.#channels.values()) {
      if (!matches(filter, event)) continue
      this.#send({ type: 'event', channel: filter.channel, event: type, data, id: event.wire.id, timestamp: time })
    }
    return this.#socket.bufferedAmount < FULL_BYTES
  }

  async #drained(signal: AbortSignal): Promise<void> {
    while (this.#socket.bufferedAmount > ROOM_BYTES) {
      signal.throwIfAborted()
      await sleep(LOOK_MS)
    }
  }

  #send(message: { readonly [key: string]: unknown }): void {
    if (this.#socket.readyState === this.#socket.OPEN) this.#socket.send(JSON.stringify(message))
  }
}

/** The message was wrong, and nothing here failed. */
function isRefusal(error: unknown): boolean {
  return error instanceof RequestError || error instanceof PetrelError
}

function parse(text: string): { readonly [key: string]: unknown } {
  try {
    const message: unknown = JSON.parse(text)
    if (typeof message === 'object' && message !== null && !Array.isArray(message)) {
      return message as { readonly [key: string]: unknown }
    }
  } catch {
    // Logged below.
  }
  throw new RequestError('invalid_payload', 'a message is one JSON object, as text')
}
