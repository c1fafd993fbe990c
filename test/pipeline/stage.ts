/** Real steps: engine, worker and tools on a separate store; each step is a workflow of one node. */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Engine } from '../../src/engine/engine.ts'
import type { RunRow } from '../../src/model/rows.ts'
import type { Json, Net } from '../../src/net/net.ts'
import { SLOT } from '../../src/net/slots.ts'
import { makeStepHandler, type StepHandlerOptions } from '../../src/notations/playbook/runtime/handler.ts'
import { type Program, STEP_TYPE, type StepPayload } from '../../src/notations/playbook/runtime/program.ts'
import { VOCABULARIES } from '../../src/notations/vocabularies.ts'
import { openStore } from '../../src/store/open.ts'
import type { Store } from '../../src/store/store.ts'
import { Tools } from '../../src/tools/tools.ts'
import { Handlers } from '../../src/worker/handlers.ts'
import { Worker } from '../../src/worker/worker.ts'
import { net, node, type Place, run } from '../engine/drive.ts'
import { payload } from './fakes.ts'

export function stepNet(program: Program, given: StepPayload = payload(), timeoutMs: number | null = null): Net {
  const work = run(STEP_TYPE, { args: given as unknown as Json, program: program as unknown as Json })
  const retry = { maxAttempts: 5, backoff: 'constant', initialMs: 0, coefficient: 1, maxMs: 0, jitter: 0 } as const
  return net([
    node('step', [], {
      work,
      onFailure: 'route',
      retry: { ...retry, nonRetryable: [], retryOn: null, deadLetter: false },
      timeout: timeoutMs === null ? null : { ms: timeoutMs, per: 'attempt' },
    }),
  ])
}

export class Stage {
  readonly engine: Engine
  readonly store: Store
  readonly #worker: Worker
  readonly #drop: () => Promise<void>
  #offsetMs = 0

  private constructor(engine: Engine, store: Store, worker: Worker, drop: () => Promise<void>) {
    this.engine = engine
    this.store = store
    this.#worker = worker
    this.#drop = drop
  }

  static async open(
    place: Place,
    options: Partial<StepHandlerOptions> & { concurrency?: number } = {},
  ): Promise<Stage> {
    const { concurrency = 10, ...handlerOptions } = options
    const { url, drop } = await place.open()
    const store = await openStore(url)
    await store.migrate()
    const engine = await Engine.open({
      vocabularies: VOCABULARIES,
      store,
      pollMs: 20,
      sessionTtlMs: 1e9,
      heartbeatMs: 1_000,
    })
    const handlers = new Handlers()
    const tools = options.tools ?? Tools.standard({ allowPrivate: ['127.0.0.1'] })
    handlers.add(STEP_TYPE, makeStepHandler({ ...handlerOptions, tools }))
    const worker = await Worker.start(engine.workers, { handlers, concurrency, pollMs: 20, prefetchMs: 0 })
    return new Stage(engine, store, worker, drop)
  }

  async close(): Promise<void> {
    await this.#worker.stop({ graceMs: 2_000 })
    await this.engine.close()
    await this.store.close()
    await this.#drop()
  }

  async start(program: Program, given?: StepPayload, timeoutMs: number | null = null): Promise<string> {
    const [started] = await this.engine.start([{ net: stepNet(program, given, timeoutMs) }])
    return (started as { readonly id: string }).id
  }

  /** Time passes for the store. */
  async pass(ms: number): Promise<void> {
    this.#offsetMs += ms
    await this.store.moveClock(this.#offsetMs)
    await this.engine.sweep()
  }

  /** The run of its one node, once it has the required state. */
  async runWhen(id: string, wanted: (run: RunRow) => boolean): Promise<RunRow> {
    for (const end = Date.now() + 20_000; Date.now() < end; ) {
      const [found] = await this.store.read.instanceRuns({ instanceId: id, limit: 1, after: null })
      if (found !== undefined && wanted(found)) return found
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
    throw new Error('the run did not become what was waited for')
  }

  async ended(id: string): Promise<string> {
    await this.engine.ended({ id, kind: 'instance', signal: AbortSignal.timeout(30_000) })
    const row = await this.store.read.instance(id)
    return `${row?.state}: ${row?.outcome}`
  }

  async result(id: string): Promise<unknown> {
    const text = (await this.engine.results(id)).get('step') ?? null
    return text === null ? null : JSON.parse(text)
  }

  async context(id: string): Promise<Record<string, unknown>> {
    const slots = await this.store.read.slots({ instanceId: id, prefix: SLOT.context.prefix })
    return Object.fromEntries(slots.map(({ key, value }) => [key.slice(2), JSON.parse(value)]))
  }
}

/** A local service. */
export class Service {
  readonly requests: { readonly method: string; readonly url: string; readonly headers: IncomingMessage['headers'] }[] =
    []
  readonly #server: Server

  private constructor(server: Server) {
    this.#server = server
  }

  static async open(answer: (url: URL, n: number, response: ServerResponse) => void): Promise<Service> {
    const server = createServer((request, response) => {
      service.requests.push({ method: request.method ?? '', url: request.url ?? '', headers: request.headers })
      answer(new URL(request.url ?? '/', service.url), service.requests.length, response)
    })
    const service = new Service(server)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return service
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }
}

export function json(response: ServerResponse, status: number, body: Json): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}
