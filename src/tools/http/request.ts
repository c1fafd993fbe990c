/** The request that a task's rendered fields describe. */
import type { Json } from '../../net/net.ts'
import type { Credentials } from '../credentials.ts'
import { misfit } from '../envelope.ts'
import { given, isGiven, isMap, kindOf } from '../fields.ts'
import type { ToolCall } from '../tool.ts'
import { authHeader } from './auth.ts'
import { asForm, asJson, type Body, encoded, pairs } from './body.ts'

export interface Outgoing {
  readonly method: string
  readonly url: URL
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer | null
}

/** Methods whose `data` is a query. */
export const READING: ReadonlySet<string> = new Set(['GET', 'HEAD', 'DELETE'])

/** Set by the connection, not by the task. */
const OURS: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'keep-alive',
  'transfer-encoding',
  'upgrade',
])

export async function outgoing(call: ToolCall, credentials: Credentials): Promise<Outgoing> {
  const { config, key } = call
  const method = methodOf(given(config, 'method'))
  const data = given(config, 'data')
  if (data !== undefined && !isMap(data)) throw misfit(`data must be a map, not ${kindOf(data)}`)
  const routed = route(data ?? {}, method)
  const url = urlOf(given(config, 'url', 'endpoint'))
  for (const source of [given(config, 'params'), routed.query]) {
    if (source === undefined) continue
    if (!isMap(source)) throw misfit(`params must be a map, not ${kindOf(source)}`)
    for (const [name, value] of pairs(source)) url.searchParams.append(name, value)
  }
  const headers: Record<string, string> = {
    accept: '*/*',
    'accept-encoding': 'gzip, deflate, br',
    'user-agent': 'petrel',
    ...headersOf(given(config, 'headers')),
  }
  takeUserInfo(url, headers)
  const auth = given(config, 'auth')
  if (auth !== undefined) {
    const [name, value] = await authHeader(auth, call, credentials)
    headers[name] = value
  }
  const idempotency = given(config, 'idempotency_key')
  if (idempotency !== undefined && idempotency !== false) {
    headers['idempotency-key'] = idempotency === true ? key : String(idempotency)
  }
  const body = await bodyOf(config, routed.body, headers['content-type'] ?? null)
  if (body !== null) headers['content-type'] = body.contentType
  return { method, url, headers, body: body?.bytes ?? null }
}

function methodOf(value: Json | undefined): string {
  if (value === undefined) return 'GET'
  const method = typeof value === 'string' ? value.trim().toUpperCase() : ''
  // CONNECT turns the connection into a tunnel, TRACE sends credentials back.
  if (!/^[A-Z]{2,20}$/.test(method) || method === 'CONNECT' || method === 'TRACE') {
    throw misfit(`method must be GET, POST, PUT, PATCH, DELETE, HEAD or the like, not ${JSON.stringify(value)}`)
  }
  return method
}

/** The keys of `data` separate query and body; without them the method decides. */
function route(
  data: { readonly [name: string]: Json },
  method: string,
): { readonly query?: Json; readonly body?: Json } {
  if (isGiven(data, 'query') || isGiven(data, 'body')) {
    const [query, body] = [given(data, 'query'), given(data, 'body')]
    return { ...(query === undefined ? {} : { query }), ...(body === undefined ? {} : { body }) }
  }
  if (Object.keys(data).length === 0) return {}
  return READING.has(method) ? { query: data } : { body: data }
}

function urlOf(value: Json | undefined): URL {
  const url = typeof value === 'string' ? parsedUrl(value) : null
  // Without its query, which may hold a key.
  const shown = typeof value === 'string' ? `"${value.replace(/\?.*/s, '').slice(0, 200)}"` : kindOf(value)
  if (url === null) throw misfit(`url must be a whole URL (https://…), not ${shown}`)
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw misfit(`url must begin with http:// or https://, not ${url.protocol}`)
  }
  url.hash = ''
  return url
}

function parsedUrl(text: string): URL | null {
  try {
    return new URL(text.trim())
  } catch {
    return null
  }
}

function headersOf(value: Json | undefined): Record<string, string> {
  if (value === undefined) return {}
  if (!isMap(value)) throw misfit(`headers must be a map, not ${kindOf(value)}`)
  const headers: Record<string, string> = {}
  for (const [name, each] of Object.entries(value)) {
    if (each === null || OURS.has(name.toLowerCase())) continue
    if (typeof each === 'object') throw misfit(`header ${name} must be text, not ${kindOf(each)}`)
    const text = String(each)
    if (!/^[!#$%&'*+.^_`|~0-9a-z-]+$/i.test(name) || /[^\t\x20-\x7e\x80-\xff]/.test(text)) {
      throw misfit(`header ${JSON.stringify(name)} has characters that no header may have`)
    }
    headers[name.toLowerCase()] = text
  }
  return headers
}

/** user:password@host is sent as basic authentication and never shown. */
function takeUserInfo(url: URL, headers: Record<string, string>): void {
  if (url.username === '' && url.password === '') return
  const pair = `${unescaped(url.username)}:${unescaped(url.password)}`
  headers['authorization'] ??= `Basic ${Buffer.from(pair).toString('base64')}`
  url.username = ''
  url.password = ''
}

function unescaped(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

async function bodyOf(
  config: ToolCall['config'],
  routed: Json | undefined,
  contentType: string | null,
): Promise<Body | null> {
  if (routed !== undefined) return encoded(routed, contentType)
  if (isGiven(config, 'json')) return asJson(config['json']!, contentType)
  if (isGiven(config, 'form')) return asForm(config['form']!, contentType)
  const payload = given(config, 'payload', 'body')
  return payload === undefined ? null : encoded(payload, contentType)
}
