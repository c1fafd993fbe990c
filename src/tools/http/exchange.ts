/** A request and its answer, over as many redirects as allowed; each hop is checked like the first. */
import type { ClientRequest, IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { ToolFault } from '../envelope.ts'
import { spokenMs } from '../timeout.ts'
import type { Guard } from './guard.ts'
import type { Outgoing } from './request.ts'

export interface Terms {
  readonly guard: Guard
  readonly signal: AbortSignal
  readonly connectMs: number | null
  readonly mostRedirects: number
  readonly verifyTls: boolean
}

export interface Answered {
  readonly message: IncomingMessage
  /** The URL that finally answered. */
  readonly url: URL
}

export async function exchange(first: Outgoing, terms: Terms): Promise<Answered> {
  let current = first
  for (let hops = 0; ; hops++) {
    terms.guard.admit(current.url)
    const message = await ask(current, terms)
    const next = terms.mostRedirects === 0 ? null : redirected(current, message)
    if (next === null) return { message, url: current.url }
    message.destroy()
    if (hops >= terms.mostRedirects) {
      throw new ToolFault({
        kind: 'client_error',
        code: 'TOO_MANY_REDIRECTS',
        message: `${placeOf(first.url)} was redirected more than ${terms.mostRedirects} times, last to ${placeOf(next.url)}`,
      })
    }
    current = next
  }
}

async function ask({ method, url, headers, body }: Outgoing, terms: Terms): Promise<IncomingMessage> {
  // Loaded with the first request: every program that imports the SDK has this tool, and few use it.
  const { request } = await (url.protocol === 'https:' ? import('node:https') : import('node:http'))
  return new Promise((resolve, reject) => {
    const outgoing = request(
      url,
      {
        method,
        // A kept connection that the server has just closed would look like a failure.
        agent: false,
        headers: { ...headers, ...(body === null ? {} : { 'content-length': String(body.length) }) },
        signal: terms.signal,
        lookup: terms.guard.lookup,
        ...(url.protocol === 'https:' ? { rejectUnauthorized: terms.verifyTls } : {}),
      },
      resolve,
    )
    outgoing.on('error', reject)
    if (terms.connectMs !== null) limitConnecting(outgoing, url, terms.connectMs)
    outgoing.end(body ?? undefined)
  })
}

function limitConnecting(outgoing: ClientRequest, url: URL, connectMs: number): void {
  const message = `no connection to ${url.host} within ${spokenMs(connectMs)}`
  const tooLate = new ToolFault({ kind: 'timeout', code: 'CONN_TIMEOUT', message })
  const timer = setTimeout(() => outgoing.destroy(tooLate), connectMs)
  const stop = (): void => clearTimeout(timer)
  outgoing.once('close', stop)
  outgoing.once('socket', (socket: Socket) =>
    socket.once(url.protocol === 'https:' ? 'secureConnect' : 'connect', stop),
  )
}

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

/** Headers that may go to another origin: they describe the request, not the client. */
const HARMLESS = ['accept', 'accept-encoding', 'accept-language', 'content-type', 'user-agent']

function redirected(from: Outgoing, { statusCode = 0, headers }: IncomingMessage): Outgoing | null {
  if (!REDIRECTS.has(statusCode) || headers.location === undefined) return null
  const url = targetOf(headers.location, from.url)
  const sameOrigin = url.origin === from.url.origin
  const kept = Object.entries(from.headers).filter(([name]) => sameOrigin || HARMLESS.includes(name))
  const turned = from.method !== 'HEAD' && (statusCode === 303 || (statusCode < 303 && from.method === 'POST'))
  if (!turned) return { method: from.method, url, headers: Object.fromEntries(kept), body: from.body }
  const bodiless = kept.filter(([name]) => name !== 'content-type')
  return { method: 'GET', url, headers: Object.fromEntries(bodiless), body: null }
}

function targetOf(location: string, base: URL): URL {
  const refuse = (why: string): ToolFault =>
    new ToolFault({ kind: 'client_error', code: 'REDIRECT_REFUSED', message: `${placeOf(base)} redirects to ${why}` })
  let url: URL
  try {
    url = new URL(location, base)
  } catch {
    throw refuse('something that is not a URL')
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') throw refuse(`${url.protocol}, which http does not follow`)
  // Credentials that a server puts into a location must not be sent.
  url.username = ''
  url.password = ''
  url.hash = ''
  return url
}

/** For messages: queries may hold keys. */
export function placeOf(url: URL): string {
  return `${url.origin}${url.pathname}`
}
