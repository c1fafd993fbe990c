/**
 * A client with the types of routes: `const api = clientOf<typeof V1_ROUTES>(url, { token })`, then
 * `await api('GET /v1/runs/:id', { params: { id } })`.
 */
import type { PathParams, Shaped } from './route.ts'

// biome-ignore lint/suspicious/noExplicitAny: of any shape
type AnyRoute = Shaped<any, any, any, any>

/** A route that is described for several methods at once is each of them. */
type Named<R extends AnyRoute, W> = R extends { readonly where: infer V } ? (W extends V ? R : never) : never
type QueryOf<R> = R extends Shaped<string, infer Q extends string, unknown, unknown> ? Q : never
type BodyOf<R> = R extends Shaped<string, string, infer B, unknown> ? B : never
type ReplyOf<R> = R extends Shaped<string, string, unknown, infer T> ? T : never

type Word = string | number | boolean

/** What is left out: `params` of a path without, `body` of a route without. */
type Sent<R extends AnyRoute> = {
  readonly query?: { readonly [K in QueryOf<R>]?: Word | readonly Word[] }
  readonly signal?: AbortSignal
} & (PathParams<R['where']> extends infer P ? (unknown extends P ? unknown : { readonly params: P }) : never) &
  (BodyOf<R> extends null ? unknown : { readonly body: BodyOf<R> })

/** The body of a success; any other answer is thrown. */
export type Client<R extends AnyRoute> = <W extends R['where']>(
  where: W,
  // biome-ignore lint/complexity/noBannedTypes: nothing is required
  ...[sent]: {} extends Sent<Named<R, W>> ? [sent?: Sent<Named<R, W>>] : [sent: Sent<Named<R, W>>]
) => Promise<ReplyOf<Named<R, W>>>

/** An answer that is no success. */
export class AnswerError extends Error {
  readonly status: number
  readonly code: string
  /** What would be right; '' if the answer does not say. */
  readonly hint: string
  readonly details: Readonly<Record<string, unknown>>

  constructor(status: number, { code = '', message = '', hint = '', details = {} }: Partial<AnswerError>) {
    super(message === '' ? `HTTP ${status}` : message)
    this.name = 'AnswerError'
    this.status = status
    this.code = code
    this.hint = hint
    this.details = details
  }
}

export function clientOf<R extends readonly AnyRoute[]>(
  url: string,
  { token, fetch = globalThis.fetch }: { readonly token?: string; readonly fetch?: typeof globalThis.fetch } = {},
): Client<R[number]> {
  const call = async (where: string, sent: Partial<Sent<AnyRoute>> & { readonly body?: unknown } = {}) => {
    const [method = '', path = ''] = where.split(' ')
    const { signal } = sent
    const { params = {}, query = {}, body } = sent as { readonly [part: string]: Readonly<Record<string, unknown>> }
    const place = path.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(String(params[name])))
    const words = Object.entries(query).map(([name, value]): [string, string] => [name, String(value)])
    const response = await fetch(`${url}${place}${words.length === 0 ? '' : `?${new URLSearchParams(words)}`}`, {
      method,
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    })
    const reply = read(await response.text())
    if (response.ok) return reply
    throw new AnswerError(response.status, (reply as { readonly error?: Partial<AnswerError> } | null)?.error ?? {})
  }
  return call as Client<R[number]>
}

/** null: empty, or not from Petrel, such as the error page of a proxy. */
function read(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
