/** One request to a receiver: a connection of its own, no redirects, ended after `timeoutMs` in any case. */
import { lookup as lookUp } from 'node:dns'
import { type IncomingMessage, request as plainRequest } from 'node:http'
import { request as secureRequest } from 'node:https'
import type { LookupFunction } from 'node:net'
import { isPublic, literalAddress } from '../../../kernel/addresses.ts'

export interface Posting {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly timeoutMs: number
  /** false: addresses of this machine and of private networks are refused. */
  readonly allowPrivate: boolean
  readonly signal: AbortSignal
}

export interface Posted {
  /** null: there was no answer. */
  readonly status: number | null
  /** Why there was no answer. */
  readonly error: string | null
  readonly ms: number
  readonly retryAfterMs: number | null
}

export async function post(posting: Posting): Promise<Posted> {
  const began = performance.now()
  const ms = (): number => Math.round(performance.now() - began)
  try {
    const answer = await exchange(posting)
    // The body is never stored or shown: with it a subscriber could read from services of this network.
    answer.destroy()
    return {
      status: answer.statusCode ?? null,
      error: null,
      ms: ms(),
      retryAfterMs: retryAfter(answer.headers['retry-after']),
    }
  } catch (error) {
    return { status: null, error: messageOf(error, posting), ms: ms(), retryAfterMs: null }
  }
}

function exchange({ url, headers, body, timeoutMs, allowPrivate, signal }: Posting): Promise<IncomingMessage> {
  const target = new URL(url)
  const literal = literalAddress(target)
  if (literal !== null && !allowPrivate && !isPublic(literal)) throw new ClosedAddressError(literal)
  const bytes = Buffer.from(body, 'utf8')
  return new Promise((resolve, reject) => {
    const send = target.protocol === 'https:' ? secureRequest : plainRequest
    const outgoing = send(
      target,
      {
        method: 'POST',
        // A kept connection that the receiver has just closed would look like a failed delivery.
        agent: false,
        headers: { ...headers, 'content-length': String(bytes.length) },
        signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
        ...(allowPrivate ? {} : { lookup: publicOnly }),
      },
      resolve,
    )
    outgoing.on('error', reject)
    outgoing.end(bytes)
  })
}

/** Checked when the connection is made, so that a name that resolves differently by then is also refused. */
const publicOnly: LookupFunction = (host, options, done) => {
  lookUp(host, { ...options, all: true }, (error, found) => {
    if (error !== null) return done(error, '', 0)
    const closed = found.find(({ address }) => !isPublic(address))
    const [first] = found
    if (closed !== undefined || first === undefined) return done(new ClosedAddressError(closed?.address ?? host), '', 0)
    return options.all === true ? done(null, found) : done(null, first.address, first.family)
  })
}

class ClosedAddressError extends Error {
  constructor(address: string) {
    super(`${address} is not a public address; webhooks are not sent there (--allow-private-webhooks)`)
  }
}

function retryAfter(header: string | undefined): number | null {
  if (header === undefined) return null
  const seconds = Number(header)
  const ms = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(header) - Date.now()
  return Number.isFinite(ms) && ms > 0 ? ms : null
}

function messageOf(error: unknown, { timeoutMs }: Posting): string {
  const { name, message, code, cause } = error as Error & { readonly code?: string; readonly cause?: unknown }
  const timedOut = name === 'TimeoutError' || (cause as Error | undefined)?.name === 'TimeoutError'
  if (timedOut) return `no answer within ${timeoutMs} ms`
  return (message || code || name).slice(0, 500)
}
