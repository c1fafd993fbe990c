/** A request over HTTP. An answer from 400 up is an error, with the answer in it. */
import type { IncomingMessage } from 'node:http'
import type { Json } from '../../net/net.ts'
import type { Credentials } from '../credentials.ts'
import { aborted, enveloped, type Fault, fault, misfit, ok, ToolFault } from '../envelope.ts'
import { checkFields, checkOneOf, type FieldTable, given, hasTemplate, isGiven, isMap } from '../fields.ts'
import { checkTimeout, secondsToMs, spokenMs, timeLimit } from '../timeout.ts'
import type { Envelope, ErrorKind, Fields, Problem, Tool, ToolCall } from '../tool.ts'
import { contentOf } from './answer.ts'
import { checkAuth } from './auth.ts'
import { type Answered, exchange, placeOf } from './exchange.ts'
import type { Guard } from './guard.ts'
import { type Outgoing, outgoing, READING } from './request.ts'

export interface HttpOptions {
  readonly guard: Guard
  readonly credentials: Credentials
  readonly maxBytes: number
}

const FIELDS: FieldTable = {
  method: { types: ['text'] },
  url: { types: ['text'] },
  endpoint: { types: ['text'] },
  headers: { types: ['map'] },
  params: { types: ['map'] },
  data: { types: ['map'], hint: 'data: { query: {…}, body: {…} }' },
  payload: {},
  body: {},
  json: {},
  form: { types: ['map'] },
  auth: { types: ['map', 'text'] },
  idempotency_key: { types: ['boolean', 'text'] },
  timeout: { types: ['number', 'map'], hint: 'Seconds, or { connect: 5, read: 30 }.' },
  timeout_seconds: { types: ['number'] },
  max_bytes: { types: ['number'] },
  max_redirects: { types: ['number'] },
  follow_redirects: { types: ['boolean'] },
  verify_ssl: { types: ['boolean'] },
}
const DEFAULT_TIMEOUT_MS = 60_000
const DEFAULT_REDIRECTS = 5

export function httpTool(options: HttpOptions): Tool {
  return {
    kind: 'http',
    check: (config) => [
      ...checkFields(config, FIELDS),
      ...checkOneOf(config, ['url', 'endpoint'], { hint: 'url: https://example.com/items' }),
      ...checkOneOf(config, ['json', 'form', 'payload', 'body'], null),
      ...checkTimeout(config),
      ...checkAuth(config['auth']),
      ...checkUrl(config),
      ...checkData(config),
    ],
    run: (call) => enveloped(() => run(call, options)),
  }
}

function checkUrl(config: Fields): Problem[] {
  const name = isGiven(config, 'url') ? 'url' : 'endpoint'
  const url = config[name]
  if (typeof url !== 'string' || hasTemplate(url) || /^https?:\/\/./i.test(url.trim())) return []
  return [
    { path: [name], message: `${name} is not an http:// or https:// URL`, hint: `${name}: https://example.com/items` },
  ]
}

function checkData(config: Fields): Problem[] {
  const data = config['data']
  const other = ['json', 'form', 'payload', 'body'].find((name) => isGiven(config, name))
  if (!isMap(data) || other === undefined) return []
  const reading = READING.has(String(config['method'] ?? 'GET').toUpperCase())
  const takesBody = isGiven(data, 'body') || (!isGiven(data, 'query') && !reading && !hasTemplate(config['method']))
  if (!takesBody) return []
  return [{ path: [other], message: `data and ${other} both give the body`, hint: 'Keep one of them.' }]
}

async function run(call: ToolCall, options: HttpOptions): Promise<Envelope> {
  const { config } = call
  const time = timesOf(call)
  const request = await outgoing(call, options.credentials)
  const maxBytes = Math.min(wholeNumber(config, 'max_bytes') ?? options.maxBytes, options.maxBytes)
  const mostRedirects =
    config['follow_redirects'] === false ? 0 : (wholeNumber(config, 'max_redirects') ?? DEFAULT_REDIRECTS)
  const began = performance.now()
  const deadline = AbortSignal.timeout(time.totalMs)
  const signal = AbortSignal.any([call.signal, deadline])
  try {
    const verifyTls = config['verify_ssl'] !== false
    const answered = await exchange(request, {
      guard: options.guard,
      signal,
      connectMs: time.connectMs,
      mostRedirects,
      verifyTls,
    })
    const content = await contentOf(answered.message, maxBytes)
    return envelopeOf(request, answered, content, Math.round(performance.now() - began) / 1000)
  } catch (error) {
    if (error instanceof ToolFault) throw error
    if (call.signal.aborted) throw new ToolFault(aborted('http'))
    const place = placeOf(request.url)
    if (deadline.aborted) {
      const message = `${place} did not answer within ${spokenMs(time.totalMs)}`
      throw new ToolFault({ kind: 'timeout', code: 'TIMEOUT', message })
    }
    throw new ToolFault(broken(error as NodeJS.ErrnoException, place))
  }
}

interface Times {
  readonly totalMs: number
  /** null: only the total counts. */
  readonly connectMs: number | null
}

/** { connect, read }: `read` is measured from the start, too, otherwise an answer that trickles would never end. */
function timesOf({ config, timeoutMs }: ToolCall): Times {
  const value = given(config, 'timeout')
  if (!isMap(value)) return { totalMs: timeLimit(config, timeoutMs, DEFAULT_TIMEOUT_MS), connectMs: null }
  const connectMs = isGiven(value, 'connect') ? secondsToMs(value['connect'], 'timeout.connect') : null
  const readMs = isGiven(value, 'read') ? secondsToMs(value['read'], 'timeout.read') : DEFAULT_TIMEOUT_MS
  return { totalMs: Math.min((connectMs ?? 0) + readMs, timeoutMs ?? Number.POSITIVE_INFINITY), connectMs }
}

function wholeNumber(config: Fields, name: string): number | null {
  const value = given(config, name)
  if (value === undefined) return null
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 0) throw misfit(`${name} must be a whole number`)
  return value
}

function envelopeOf(
  request: Outgoing,
  { message, url }: Answered,
  content: Awaited<ReturnType<typeof contentOf>>,
  elapsed: number,
): Envelope {
  const status = message.statusCode ?? 0
  const headers = headersOf(message)
  const result: Json = {
    status_code: status,
    headers,
    url: url.href,
    elapsed,
    data: content.data,
    body: content.data,
    ...(content.base64 ? { encoding: 'base64' } : {}),
  }
  const http = { status, headers }
  const asked = `${request.method} ${placeOf(url)}`
  if (status >= 400) return { ...fault({ ...refusal(status, message, asked), result }), http }
  if (content.malformed) {
    // The parser's message would quote a piece of the answer, which is complete in the result.
    const text = `${asked} answered with invalid JSON`
    return { ...fault({ kind: 'parse', code: 'INVALID_JSON', message: text, result }), http }
  }
  return { ...ok(result), http }
}

function headersOf(message: IncomingMessage): { readonly [name: string]: string } {
  return Object.fromEntries(
    Object.entries(message.headers).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.join(', ') : (value ?? ''),
    ]),
  )
}

function refusal(status: number, message: IncomingMessage, asked: string): Fault {
  const wait = Number(message.headers['retry-after'])
  const text = `${asked} answered ${status} ${message.statusMessage ?? ''}`.trimEnd()
  const details =
    Number.isFinite(wait) && message.headers['retry-after'] !== undefined ? { retry_after: wait } : undefined
  return { kind: kindOf(status), code: `HTTP_${status}`, message: text, ...(details === undefined ? {} : { details }) }
}

function kindOf(status: number): ErrorKind {
  if (status === 429) return 'rate_limit'
  if (status === 401 || status === 403) return 'auth'
  if (status === 404) return 'not_found'
  return status >= 500 ? 'server_error' : 'client_error'
}

/** Why there was no complete answer. */
function broken({ code = '', message }: NodeJS.ErrnoException, place: string): Fault {
  const text = `${place}: ${message || code}`
  if (code === 'ECONNREFUSED') return { kind: 'connection', code: 'CONN_REFUSED', message: text }
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return { kind: 'connection', code: 'DNS_ERROR', message: text }
  if (code === 'ETIMEDOUT') return { kind: 'timeout', code: 'CONN_TIMEOUT', message: text }
  if (/CERT|TLS|SSL|SIGNATURE/.test(code))
    return { kind: 'connection', code: 'TLS_ERROR', message: text, retryable: false }
  if (/^(HPE_|Z_|ERR_(_BROTLI|BROTLI|ZLIB)|ERR__)/.test(code))
    return { kind: 'parse', code: 'MALFORMED_ANSWER', message: text }
  return { kind: 'connection', code: 'CONN_ERROR', message: text }
}
