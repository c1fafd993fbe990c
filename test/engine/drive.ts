/** Drives an engine by hand: a session that claims and reports on request, and a clock that the test moves. */

import type { EngineOptions } from '../../src/engine/api.ts'
import { Engine } from '../../src/engine/engine.ts'
import type { StartParams } from '../../src/model/start.ts'
import type { Entries, Failure } from '../../src/net/marking.ts'
import type { Json, Net, Node, RunWork } from '../../src/net/net.ts'
import { SLOT } from '../../src/net/slots.ts'
import { VOCABULARIES } from '../../src/notations/vocabularies.ts'
import { openStore } from '../../src/store/open.ts'
import type { Store } from '../../src/store/store.ts'
import type { Delivery, Reply, Report, Session } from '../../src/worker/port.ts'
import { freshDatabase, postgresUrl } from '../services.ts'

export interface Place {
  readonly name: string
  readonly open: () => Promise<{ readonly url: string; readonly drop: () => Promise<void> }>
}

/** Both stores; Postgres is left out only if no server is available, which the test run reports. */
export const PLACES: readonly Place[] = [
  { name: 'sqlite', open: async () => ({ url: 'sqlite::memory:', drop: async () => {} }) },
  ...(postgresUrl() === null ? [] : [{ name: 'postgres', open: freshDatabase }]),
]

let reports = 0

export class Drive {
  readonly engine: Engine
  readonly store: Store
  session: Session
  readonly stopped: string[] = []
  readonly delivered: Delivery[] = []
  /** Claimed or delivered; a driver never forgets the runs it holds. */
  readonly held = new Set<string>()
  room = 0
  #offset = 0
  readonly #drop: () => Promise<void>

  private constructor(engine: Engine, store: Store, drop: () => Promise<void>) {
    this.engine = engine
    this.store = store
    this.session = undefined as unknown as Session
    this.#drop = drop
  }

  static async open(place: Place, options: Partial<EngineOptions> = {}): Promise<Drive> {
    const { url, drop } = await place.open()
    const store = await openStore(url)
    await store.migrate()
    const engine = await Engine.open({
      vocabularies: VOCABULARIES,
      store,
      sweep: false,
      random: () => 0.5,
      pollMs: 50,
      ...options,
    })
    const drive = new Drive(engine, store, drop)
    drive.session = await drive.newSession()
    return drive
  }

  newSession(options: { queues?: string[]; types?: string[]; name?: string } = {}): Promise<Session> {
    return this.engine.workers.open(
      {
        name: options.name ?? 'driver',
        runtime: 'node',
        queues: options.queues ?? null,
        types: options.types ?? null,
        concurrency: 10,
        tenant: null,
      },
      {
        room: () => this.room,
        deliver: (deliveries) => {
          this.room -= deliveries.length
          this.delivered.push(...deliveries)
          for (const { runId } of deliveries) this.held.add(runId)
        },
        wake: () => {},
        holding: () => [...this.held],
        stop: (runs) => this.stopped.push(...runs.map((r) => r.runId)),
      },
    )
  }

  async close(): Promise<void> {
    await this.engine.close()
    await this.store.close()
    await this.#drop()
  }

  /** Moves the clock and runs everything that becomes due. */
  async pass(ms: number): Promise<void> {
    this.#offset += ms
    await this.store.moveClock(this.#offset)
    await this.engine.sweep()
  }

  async claim(limit = 100): Promise<readonly Delivery[]> {
    const deliveries = await this.session.claim(limit)
    for (const { runId } of deliveries) this.held.add(runId)
    return deliveries
  }

  async claimOne(): Promise<Delivery> {
    const [one] = await this.claim(1)
    if (one === undefined) throw new Error('nothing to claim')
    return one
  }

  succeed(delivery: Delivery, result: Json = null, wantNext = false, set?: Entries): Promise<Reply> {
    const outcome = { kind: 'succeeded' as const, result: JSON.stringify(result) }
    return this.#settle(delivery, outcome, wantNext, set)
  }

  fail(delivery: Delivery, error: Partial<Failure> = {}, set?: Entries): Promise<Reply> {
    const outcome = { kind: 'failed' as const, error: { code: 'boom', message: 'it broke', ...error } }
    return this.#settle(delivery, outcome, false, set)
  }

  #settle(delivery: Delivery, outcome: Report['outcome'], wantNext: boolean, set?: Entries): Promise<Reply> {
    const entries = set === undefined ? {} : { set: JSON.stringify(set) }
    const report = { delivery, reportId: `r${++reports}`, startedAt: Date.now(), outcome, wantNext }
    return this.session.settle({ ...report, ...entries })
  }

  async start(params: StartParams): Promise<string> {
    const [started] = await this.engine.start([params])
    return (started as { id: string }).id
  }

  async state(id: string): Promise<string> {
    const row = await this.store.read.instance(id)
    return row === null ? 'gone' : row.state
  }

  async results(id: string): Promise<Record<string, unknown>> {
    const results = await this.engine.results(id)
    return Object.fromEntries([...results].map(([k, v]) => [k, v === null ? null : JSON.parse(v)]))
  }

  /** Its current context. */
  async context(id: string): Promise<Record<string, unknown>> {
    const slots = await this.store.read.slots({ instanceId: id, prefix: SLOT.context.prefix })
    return Object.fromEntries(slots.map(({ key, value }) => [key.slice(2), JSON.parse(value)]))
  }

  /** The published events of an instance, by type. */
  async recorded(id: string, type: string): Promise<{ readonly node: string | null; readonly data: any }[]> {
    const events = await this.store.read.instanceEvents({ instanceId: id, afterSeq: 0, limit: 1000 })
    const own = events.filter((event) => event.type === type)
    return own.map(({ node, data }) => ({ node, data: data === null ? null : JSON.parse(data) }))
  }

  async error(id: string): Promise<string | null> {
    return (await this.engine.view(id))?.error?.code ?? null
  }

  /** Works until nothing is claimable; `answer` determines what each run returns or throws. */
  async work(answer: (delivery: Delivery) => Json | Error = () => null): Promise<string[]> {
    const done: string[] = []
    for (;;) {
      const batch = await this.claim()
      if (batch.length === 0) return done
      for (const delivery of batch) {
        const value = answer(delivery)
        done.push(
          delivery.node === null ? delivery.type : delivery.role === 'undo' ? `undo ${delivery.node}` : delivery.node,
        )
        if (value instanceof Error) await this.fail(delivery, { code: value.message, retryable: false })
        else await this.succeed(delivery, value)
      }
    }
  }

  async doctor(): Promise<readonly unknown[]> {
    return this.store.read.doctor()
  }
}

export function run(type: string, rest: Partial<RunWork> = {}): RunWork {
  return { kind: 'run', type, queue: 'default', priority: 100, delayMs: 0, args: null, limitKey: null, ...rest }
}

export function node(key: string, to: readonly string[] = [], rest: Partial<Node> = {}): Node {
  return {
    key,
    work: run(key),
    join: 'each',
    admit: null,
    retry: null,
    timeout: null,
    onFailure: 'net',
    undo: null,
    next: { mode: 'every', arcs: to.map((key) => ({ to: key, when: null, args: null, set: null })), scope: null },
    ...rest,
  }
}

export function net(nodes: readonly Node[], rest: Partial<Net> = {}): Net {
  return {
    version: 1,
    name: 'test',
    dialect: 'test',
    nodes,
    entry: [(nodes[0] as Node).key],
    finals: [],
    onFailure: 'abort',
    verdict: { failedOn: 'unhandled', partial: false },
    unknown: 'ignore',
    timeoutMs: null,
    undoTimeoutMs: null,
    held: 'wait',
    noMatch: 'end',
    ...rest,
  }
}

export const undoBy = (type: string): Node['undo'] => ({ work: run(type), retry: null, timeout: null })
export const ONCE = {
  maxAttempts: 1,
  backoff: 'constant',
  initialMs: 0,
  coefficient: 1,
  maxMs: 0,
  jitter: 0,
  nonRetryable: [],
  retryOn: null,
  deadLetter: false,
} as const
