/** A server on an empty store, for both stores, and a client that returns complete replies. */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe } from 'vitest'
import type { EngineOptions } from '../../src/engine/api.ts'
import { Engine } from '../../src/engine/engine.ts'
import { VOCABULARIES } from '../../src/notations/vocabularies.ts'
import { type Server, type ServerOptions, startServer } from '../../src/server/server.ts'
import { openStore } from '../../src/store/open.ts'
import type { Store } from '../../src/store/store.ts'
import { freshDatabase, postgresUrl } from '../services.ts'

export interface Reply {
  readonly status: number
  readonly headers: Headers
  /** Parsed if it is JSON. */
  readonly body: any
  readonly text: string
}

export interface Asking {
  readonly headers?: Record<string, string>
  /** A text is sent as it is, anything else as JSON. */
  readonly body?: unknown
  readonly signal?: AbortSignal
}

export interface Serving {
  readonly server: Server
  readonly engine: Engine
  readonly store: Store
  ask(method: string, path: string, asking?: Asking): Promise<Reply>
  get(path: string, headers?: Record<string, string>): Promise<Reply>
  post(path: string, body?: unknown, headers?: Record<string, string>): Promise<Reply>
}

/** Sends a request to a server by its address, however it was started. */
export type Client = Pick<Serving, 'ask' | 'get' | 'post'>

export function client(url: string): Client {
  const ask: Client['ask'] = (method, path, asking) => request(url + path, method, asking)
  return {
    ask,
    get: (path, headers = {}) => ask('GET', path, { headers }),
    post: (path, body, headers = {}) => ask('POST', path, { headers, body }),
  }
}

export type ServeOptions = Omit<Partial<ServerOptions>, 'engine'> & { readonly engine?: Omit<EngineOptions, 'store'> }

export interface Stage {
  readonly kind: 'sqlite' | 'postgres'
  /** The URL of this suite's database. */
  url(): Promise<string>
  /** Starts a server on it; all are closed at the end. */
  serve(options?: ServeOptions): Promise<Serving>
}

export function onBothStores(name: string, suite: (stage: Stage) => void): void {
  describe(`${name} (sqlite)`, () => suite(stageOn('sqlite')))
  describe.skipIf(postgresUrl() === null)(`${name} (postgres)`, () => suite(stageOn('postgres')))
}

interface Place {
  readonly url: string
  drop(): Promise<void>
}

async function sqliteFile(): Promise<Place> {
  const folder = mkdtempSync(join(tmpdir(), 'petrel-server-'))
  return {
    url: `sqlite:${join(folder, 'petrel.db')}`,
    drop: async () => rmSync(folder, { recursive: true, force: true }),
  }
}

function stageOn(kind: Stage['kind']): Stage {
  const open: Serving[] = []
  let place: Promise<Place> | null = null
  const url = async (): Promise<string> => {
    place ??= kind === 'sqlite' ? sqliteFile() : freshDatabase()
    return (await place).url
  }
  afterAll(async () => {
    for (const { server, engine, store } of open) {
      await server.close({ graceMs: 500 })
      await engine.close()
      await store.close()
    }
    await (await place)?.drop()
  })
  return {
    kind,
    url,
    async serve(options = {}) {
      const serving = await serveOn(await url(), options)
      open.push(serving)
      return serving
    },
  }
}

export async function serveOn(url: string, options: ServeOptions = {}): Promise<Serving> {
  const store = await openStore(url)
  await store.migrate()
  const engine = await Engine.open({ vocabularies: VOCABULARIES, store, ...options.engine })
  let server: Server
  try {
    server = await startServer({ version: '1.2.3', port: 0, ...options, engine })
  } catch (error) {
    await engine.close()
    await store.close()
    throw error
  }
  return { server, engine, store, ...client(server.url) }
}

export async function request(url: string, method: string, asking: Asking = {}): Promise<Reply> {
  const { headers = {}, body, signal } = asking
  const given = Object.keys(headers).some((name) => name.toLowerCase() === 'content-type')
  const response = await fetch(url, {
    method,
    headers: body === undefined || given ? headers : { 'content-type': 'application/openjobspec+json', ...headers },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    ...(signal === undefined ? {} : { signal }),
  })
  const text = await response.text()
  return { status: response.status, headers: response.headers, text, body: parsed(text) }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Polls until the reply is as required; returns the last one in any case. */
export async function until<T>(look: () => Promise<T>, wanted: (found: T) => boolean, withinMs = 10_000): Promise<T> {
  const giveUpAt = performance.now() + withinMs
  for (;;) {
    const found = await look()
    if (wanted(found) || performance.now() > giveUpAt) return found
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
