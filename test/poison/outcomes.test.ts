/** One outcome that cannot be stored, in a batch of 500 reports settled together: the other 499 are recorded. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { EngineApi } from '../../src/engine/api.ts'
import { Engine } from '../../src/engine/engine.ts'
import { StoreDataError } from '../../src/kernel/store-errors.ts'
import type { RunRow } from '../../src/model/rows.ts'
import type { Net } from '../../src/net/net.ts'
import { openStore } from '../../src/store/open.ts'
import type { Store, Transaction } from '../../src/store/store.ts'
import type { Delivery, Reply, Report, Session } from '../../src/worker/port.ts'
import { type StoreKind, TestDatabase } from '../crash/database.ts'
import { postgresUrl } from '../services.ts'

const BATCH = 500

type Outcome = Report['outcome']
const succeeded = (result: string): Outcome => ({ kind: 'succeeded', result })
const failed = (message: string): Outcome => ({
  kind: 'failed',
  error: { code: 'handler_error', message, retryable: false },
})

/** Outcomes that no database, or not both, can store; and how the run then ends. */
const POISONS: readonly { readonly name: string; readonly outcome: Outcome; readonly code: RegExp }[] = [
  { name: 'NUL in a string', outcome: succeeded('{"text":"a\\u0000b"}'), code: /^unstorable$/ },
  { name: 'a raw NUL', outcome: succeeded('"a\u0000b"'), code: /^unstorable$/ },
  { name: 'half of a surrogate pair', outcome: succeeded('["\\ud800"]'), code: /^unstorable$/ },
  { name: 'a raw half of a surrogate pair', outcome: succeeded('["\ud800"]'), code: /^unstorable$/ },
  { name: '10,000 levels deep', outcome: succeeded('['.repeat(10_000) + ']'.repeat(10_000)), code: /^unstorable$/ },
  { name: 'over the size limit', outcome: succeeded(`"${'x'.repeat(1024 * 1024)}"`), code: /^payload_too_large$/ },
  { name: 'no JSON at all', outcome: succeeded('{"half":'), code: /^unstorable$/ },
  // As much of the error as possible is kept: SQLite stores what Postgres refuses.
  { name: 'NUL in an error message', outcome: failed('a\u0000b'), code: /^(unstorable|handler_error)$/ },
  {
    name: 'half of a surrogate pair in an error message',
    outcome: failed('\ud800'),
    code: /^(unstorable|handler_error)$/,
  },
]

describe('a poisoned outcome among 500 (sqlite)', { timeout: 90_000 }, () => poisonSuite('sqlite'))
describe.skipIf(postgresUrl() === null)('a poisoned outcome among 500 (postgres)', { timeout: 90_000 }, () =>
  poisonSuite('postgres'),
)

function poisonSuite(kind: StoreKind): void {
  let database: TestDatabase
  let store: Store
  let engine: EngineApi

  beforeAll(async () => {
    database = await TestDatabase.create(kind)
    store = await openStore(database.url)
  }, 120_000)

  afterEach(() => engine.close())

  afterAll(async () => {
    await store.close()
    await database.drop()
  }, 120_000)

  async function open(wrap: (store: Store) => Store = (s) => s): Promise<BatchWorker> {
    engine = await Engine.open({ store: wrap(store), sweep: false })
    return BatchWorker.open(engine)
  }

  it.for(POISONS)('$name, among the jobs of one group', async ({ outcome, code }) => {
    const worker = await open()
    const id = await worker.startGroup()
    const { replies, poisoned } = await worker.settleAll(outcome)
    expect(replies.filter((reply) => reply.status === 'recorded')).toHaveLength(BATCH)
    const runs = await allRuns(store, id)
    expect(runs.filter((run) => run.status === 'succeeded')).toHaveLength(BATCH - 1)
    expect(errorCode(runs, poisoned)).toMatch(code)
    const instance = await store.read.instance(id)
    expect(instance).toMatchObject({ state: 'failed', succeeded: BATCH - 1, failed: 1 })
    expect(await store.read.doctor()).toEqual([])
  })

  // SQLite keeps the text as it is.
  if (kind === 'postgres')
    it('a number that is JSON but too large for Postgres, among the jobs of one group', async () => {
      const worker = await open()
      const id = await worker.startGroup()
      const { poisoned } = await worker.settleAll(succeeded(`1e${'9'.repeat(200)}`))
      const runs = await allRuns(store, id)
      expect(runs.filter((run) => run.status === 'succeeded')).toHaveLength(BATCH - 1)
      expect(errorCode(runs, poisoned)).toBe('unstorable')
    })

  it('each kind of unstorable value at once, among 500 separate workflows', async () => {
    const worker = await open()
    const ids = await worker.startChains()
    const replies = await worker.settle((i) => (i % 50 === 25 ? (POISONS[Math.floor(i / 50)]?.outcome ?? null) : null))
    expect(replies.filter((reply) => reply.status === 'recorded')).toHaveLength(BATCH)
    const states = await Promise.all(ids.map(async (id) => (await store.read.instance(id))?.state))
    expect(states.filter((state) => state === 'completed')).toHaveLength(BATCH - POISONS.length)
    expect(states.filter((state) => state === 'failed')).toHaveLength(POISONS.length)
    expect(await store.read.doctor()).toEqual([])
  })

  it('a guard after it that cannot be evaluated fails only its own instance', async () => {
    const worker = await open()
    const ids = await worker.start(GUARDED)
    const { replies, poisoned } = await worker.settleAll(
      succeeded('{"total":1,"parts":"none"}'),
      '{"total":1,"parts":2}',
    )
    expect(replies.filter((reply) => reply.status === 'recorded')).toHaveLength(BATCH)
    const offender = poisoned.instanceId as string
    const view = await engine.view(offender)
    expect(view).toMatchObject({ instance: { state: 'failed' }, error: { code: 'guard_error' } })
    expect(view?.error?.message).toContain('first')
    // The second step of every other instance was created.
    const others = ids.filter((id) => id !== offender)
    const states = await Promise.all(others.map(async (id) => (await store.read.instance(id))?.state))
    expect(states).toEqual(others.map(() => 'running'))
    expect(await store.read.doctor()).toEqual([])
  })

  it('a value that only the database refuses is found by halving the batch', async () => {
    let refusals = 0
    const worker = await open((inner) => refusing(inner, MARKER, () => refusals++))
    const id = await worker.startGroup()
    const { replies, poisoned } = await worker.settleAll(succeeded(JSON.stringify(MARKER)))
    expect(replies.filter((reply) => reply.status === 'recorded')).toHaveLength(BATCH)
    const runs = await allRuns(store, id)
    expect(runs.filter((run) => run.status === 'succeeded')).toHaveLength(BATCH - 1)
    expect(errorCode(runs, poisoned)).toBe('unstorable')
    // 500, 250, … 1: found with as many refusals as halvings, not one by one.
    expect(refusals).toBeGreaterThan(1)
    expect(refusals).toBeLessThanOrEqual(12)
    expect(await store.read.doctor()).toEqual([])
  })

  it('five such values are each found, and the other 495 are recorded', async () => {
    const worker = await open((inner) => refusing(inner, MARKER, () => {}))
    const id = await worker.startGroup()
    await worker.settle((i) => (i % 100 === 7 ? succeeded(JSON.stringify(MARKER)) : null))
    const runs = await allRuns(store, id)
    expect(runs.filter((run) => run.status === 'succeeded')).toHaveLength(BATCH - 5)
    const codes = runs.filter((run) => run.status === 'failed').map((run) => JSON.parse(run.error as string).code)
    expect(codes).toEqual(Array.from({ length: 5 }, () => 'unstorable'))
    expect(await store.read.doctor()).toEqual([])
  })
}

const MARKER = 'the database will not have this'

/** A store that refuses a marked value the way a database does: the whole transaction, without naming the row. */
function refusing(inner: Store, marker: string, refused: () => void): Store {
  const transact = <T>(transaction: Transaction<T>): Promise<T> =>
    inner.transact({
      ...transaction,
      decide: (loaded) => {
        const decision = transaction.decide(loaded)
        if ('delta' in decision && decision.delta.runs?.update?.some((run) => run.result?.includes(marker))) {
          refused()
          throw new StoreDataError('unstorable', 'invalid byte sequence')
        }
        return decision
      },
    })
  return new Proxy(inner, {
    get: (target, name) => {
      if (name === 'transact') return transact
      const value = target[name as keyof Store] as unknown
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

/** A session that holds 500 runs and reports them all in one turn of the event loop. */
class BatchWorker {
  readonly #engine: EngineApi
  readonly #session: Session
  readonly #held: Delivery[]

  private constructor(engine: EngineApi, session: Session, held: Delivery[]) {
    this.#engine = engine
    this.#session = session
    this.#held = held
  }

  static async open(engine: EngineApi): Promise<BatchWorker> {
    const held: Delivery[] = []
    const inbox = { room: () => 0, holding: () => held.map((d) => d.runId), deliver() {}, wake() {}, stop() {} }
    const options = { name: 'worker', runtime: 'node', queues: null, types: ['part'], concurrency: BATCH, tenant: null }
    return new BatchWorker(engine, await engine.workers.open(options, inbox), held)
  }

  /** One instance: an each of 500 items. */
  async startGroup(): Promise<string> {
    const items = Array.from({ length: BATCH }, (_, n) => ({ run: { type: 'part', args: n } }))
    const [started] = await this.#engine.start([{ net: GROUP, items: { jobs: items } }])
    return started?.id as string
  }

  /** 500 instances of one step. */
  startChains(): Promise<readonly string[]> {
    return this.start(SINGLE)
  }

  async start(net: Net): Promise<readonly string[]> {
    const literals = Object.fromEntries(net.nodes.map(({ key }) => [key, { args: null }]))
    const started = await this.#engine.start(Array.from({ length: BATCH }, () => ({ net, literals })))
    return started.map(({ id }) => id)
  }

  async settleAll(
    poison: Outcome,
    sound = '1',
  ): Promise<{ readonly replies: readonly Reply[]; readonly poisoned: Delivery }> {
    const replies = await this.settle((i) => (i === 321 ? poison : null), sound)
    return { replies, poisoned: this.#held[321] as Delivery }
  }

  async settle(poisonAt: (index: number) => Outcome | null, sound = '1'): Promise<readonly Reply[]> {
    this.#held.push(...(await this.#session.claim(BATCH)))
    expect(this.#held).toHaveLength(BATCH)
    return Promise.all(
      this.#held.map((delivery, i) =>
        this.#session.settle({
          delivery,
          reportId: `report.${i}`,
          startedAt: Date.now(),
          outcome: poisonAt(i) ?? succeeded(sound),
          wantNext: false,
        }),
      ),
    )
  }
}

async function allRuns(store: Store, instanceId: string): Promise<readonly RunRow[]> {
  return store.read.instanceRuns({ instanceId, limit: 1000, after: null })
}

function errorCode(runs: readonly RunRow[], poisoned: Delivery): string {
  const run = runs.find(({ id }) => id === poisoned.runId)
  expect(run?.status).toBe('failed')
  return JSON.parse(run?.error as string).code as string
}

const RUN = {
  kind: 'run',
  type: 'part',
  queue: 'default',
  priority: 100,
  delayMs: 0,
  args: null,
  limitKey: null,
} as const
const NODE = { join: 'each', admit: null, retry: null, timeout: null, onFailure: 'net', undo: null } as const
const END = { mode: 'every', arcs: [], scope: null } as const
const NET = {
  version: 1,
  dialect: 'dag',
  finals: [],
  onFailure: 'abort',
  verdict: { failedOn: 'any', partial: false },
  unknown: 'ignore',
  timeoutMs: null,
  undoTimeoutMs: null,
  held: 'wait',
  noMatch: 'end',
} as const

const EACH = { kind: 'each', items: null, body: null, maxInFlight: null, failFast: false } as const
const GROUP: Net = { ...NET, name: 'group', nodes: [{ ...NODE, key: 'jobs', work: EACH, next: END }], entry: ['jobs'] }
const SINGLE: Net = {
  ...NET,
  name: 'single',
  nodes: [{ ...NODE, key: 'first', work: RUN, next: END }],
  entry: ['first'],
}
const ARC = { to: 'second', when: 'first.total / first.parts < 10', args: null, set: null }
/** Continues where total / parts is small; a text cannot be a divisor. */
const GUARDED: Net = {
  ...NET,
  name: 'guarded',
  nodes: [
    { ...NODE, key: 'first', work: RUN, next: { mode: 'every', arcs: [ARC], scope: null } },
    { ...NODE, key: 'second', work: { ...RUN, type: 'later' }, next: END },
  ],
  entry: ['first'],
}
