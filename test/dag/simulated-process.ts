/** A simulated process that can die: an engine on a store that stops answering from one moment on. */

import type * as engines from '../../src/engine/engine.ts'
import type * as definitions from '../../src/operations/definitions/read.ts'
import type * as stores from '../../src/store/open.ts'
import type { Store } from '../../src/store/store.ts'
import type { Delivery, Reply, Session } from '../../src/worker/port.ts'

/** The code under test: src, or a copy of it with a mutation. */
export interface Implementation {
  readonly Engine: typeof engines.Engine
  readonly openStore: typeof stores.openStore
  readonly readDefinition: typeof definitions.readDefinition
}

/** Claims and reports on request. */
export interface HandWorker {
  readonly types: readonly string[]
  /** Ids of the runs it holds and has not reported. */
  readonly holding: () => readonly string[]
}

export type CommitPoint = 'before-commit' | 'after-commit'
export const DIED = Symbol('the process died')

export const SESSION_TTL_MS = 20_000
/** No timers: the test decides when a session sends a heartbeat and when the engine sweeps. */
const NEVER_MS = 86_400_000
const silence = new Promise<never>(() => {})
let reports = 0

export class SimulatedProcess {
  readonly engine: engines.Engine
  /** Of the living processes; one of them may be lost alone. */
  session: Session
  readonly #inner: Store
  readonly #fate: Fate
  readonly #worker: HandWorker

  private constructor(engine: engines.Engine, inner: Store, fate: Fate, worker: HandWorker) {
    this.engine = engine
    this.session = undefined as unknown as Session
    this.#inner = inner
    this.#fate = fate
    this.#worker = worker
  }

  static async open(from: Implementation, url: string, worker: HandWorker): Promise<SimulatedProcess> {
    const fate = new Fate()
    const inner = await from.openStore(url, { probe: (point) => fate.pass(point) })
    const store = simulateProcess(inner, fate)
    const quiet = { sweep: false, pollMs: NEVER_MS, heartbeatMs: NEVER_MS, sessionTtlMs: SESSION_TTL_MS }
    const engine = await from.Engine.open({ store, random: () => 0.5, ...quiet })
    const process = new SimulatedProcess(engine, inner, fate, worker)
    await process.openSession()
    return process
  }

  async openSession(): Promise<void> {
    const { types, holding } = this.#worker
    const options = { name: 'hand', runtime: 'node', queues: null, types, concurrency: 10, tenant: null }
    const inbox = { room: () => 0, holding, deliver() {}, wake() {}, stop() {} }
    this.session = await this.engine.workers.open(options, inbox)
  }

  /** Time passes for all; living processes send heartbeats, then one of them sweeps. */
  async pass(toOffsetMs: number): Promise<void> {
    await this.#inner.moveClock(toOffsetMs)
    await (this.session as Session & { beat(): Promise<void> }).beat()
    await this.engine.sweep()
  }

  async report(p: {
    readonly delivery: Delivery
    /** `failed`: an error of its agent, which is not retried. The others name their category. */
    readonly outcome: 'succeeded' | 'failed' | 'transient' | 'governance'
    readonly result: string
    readonly wantNext: boolean
  }): Promise<Reply | typeof DIED> {
    const category = p.outcome === 'failed' ? 'agent' : p.outcome
    const settling = this.session.settle({
      delivery: p.delivery,
      reportId: `undo ${++reports}`,
      startedAt: Date.now(),
      outcome:
        p.outcome === 'succeeded'
          ? { kind: 'succeeded', result: p.result }
          : { kind: 'failed', error: { code: 'boom', message: 'as the script says', category } },
      wantNext: p.wantNext,
    })
    return Promise.race([settling, this.#fate.death])
  }

  /** Its next commit is its last operation: everything before it is lost, and its success is not reported. */
  dieAt(point: CommitPoint): void {
    this.#fate.point = point
  }

  /** It does not shut down: its sessions stay listed, its leases stay held. */
  async die(): Promise<void> {
    this.#fate.die()
    await this.#inner.close()
  }

  async close(): Promise<void> {
    await this.engine.close()
    await this.#inner.close()
  }
}

class Fate {
  point: CommitPoint | null = null
  dead = false
  die: () => void = () => {}
  readonly death = new Promise<typeof DIED>((resolve) => {
    this.die = () => {
      this.dead = true
      resolve(DIED)
    }
  })

  pass(point: CommitPoint): void {
    if (point === this.point) this.die()
    if (this.dead && point === 'before-commit') throw new Error('the process died before the commit')
  }
}

function simulateProcess<T extends object>(inner: T, fate: Fate): T {
  return new Proxy(inner, {
    get(target, name) {
      const value = target[name as keyof T] as unknown
      if (typeof value === 'object' && value !== null) return simulateProcess(value, fate)
      if (typeof value !== 'function') return value
      return (...args: unknown[]): unknown => {
        if (fate.dead) return silence
        const answer = value.apply(target, args) as unknown
        if (!(answer instanceof Promise)) return answer
        return answer.then(
          (result) => (fate.dead ? silence : result),
          (error) => (fate.dead ? silence : Promise.reject(error as Error)),
        )
      }
    },
  })
}
