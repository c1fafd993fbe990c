/** Sets up one run for one transition: its state before, and its history after. */
import { vi } from 'vitest'
import { StoreDataError } from '../../src/kernel/store-errors.ts'
import type { RunStatus } from '../../src/model/rows.ts'
import type { Delta } from '../../src/model/transaction.ts'
import type { Json, Net } from '../../src/net/net.ts'
import type { Transaction } from '../../src/store/store.ts'
import type { Delivery, Report } from '../../src/worker/port.ts'
import type { Drive, Place } from '../engine/drive.ts'
import type { Foreign } from '../inbox/foreign.ts'
import { Stage } from '../inbox/stage.ts'

export interface Seen {
  /** null: the transition began with the creation of the run. */
  readonly from: RunStatus | null
  readonly to: RunStatus
  readonly events: readonly string[]
}

let reports = 0

export class Scene {
  readonly s: Stage
  readonly d: Drive
  readonly sql: Foreign
  #before: { readonly status: RunStatus; readonly events: number } | null = null

  private constructor(s: Stage, sql: Foreign) {
    this.s = s
    this.d = s.d
    this.sql = sql
  }

  static async open(place: Place): Promise<Scene> {
    const s = await Stage.open(place)
    return new Scene(s, await s.foreign())
  }

  /** The transition under test begins here. */
  async mark(id: string): Promise<string> {
    this.#before = { status: (await this.s.run(id)).status, events: (await this.s.history(id)).length }
    return id
  }

  async seen(id: string): Promise<Seen> {
    const { status: to } = await this.s.run(id)
    return {
      from: this.#before?.status ?? null,
      to,
      events: (await this.s.history(id)).slice(this.#before?.events ?? 0),
    }
  }

  /** A bare run, pending. */
  async enqueue(params: object = {}): Promise<string> {
    const [made] = await this.d.engine.enqueue([{ type: 'x.v1', payload: {}, ...params }])
    return (made as { id: string }).id
  }

  /** A bare run that a session holds. */
  async held(params: object = {}): Promise<Delivery> {
    await this.enqueue(params)
    return this.d.claimOne()
  }

  /** A bare run under a lease of its own. */
  async fetched(params: object = {}): Promise<string> {
    await this.enqueue(params)
    return this.fetchOne()
  }

  async fetchOne(leaseMs = 30_000): Promise<string> {
    const all = { queues: null, types: null, runtime: null, tenant: null }
    const [run] = await this.d.engine.leases.fetch({
      ...all,
      limit: 1,
      holder: 'http',
      leaseMs: () => leaseMs,
      waitMs: 0,
    })
    if (run === undefined) throw new Error('nothing to fetch')
    return run.id
  }

  /** A bare run held by a client of plain SQL. */
  async leasedBySql(columns = '', values = ''): Promise<string> {
    await this.insert(columns, values)
    return (await this.sql.claimed('go-1')).id
  }

  async insert(columns = '', values = ''): Promise<string> {
    const { rows } = await this.sql.sql(
      `INSERT INTO workflow_run (type, payload${columns}) VALUES ('x.v1', '{}'${values}) RETURNING id`,
    )
    return rows[0]?.['id'] as string
  }

  settle(delivery: Delivery, outcome: Report['outcome']): Promise<unknown> {
    return this.d.session.settle({
      ...{ delivery, outcome, reportId: `scene ${++reports}`, startedAt: Date.now(), wantNext: false },
    })
  }

  /** The id of the run at a node of a workflow that has just been started. */
  async at(net: Net, node: string, input: Json = null): Promise<string> {
    const instance = await this.d.start({ net, input })
    return (await this.s.runAt(instance, node)).id
  }

  /** A store that refuses, once, the first write that matches. */
  refuseOnce(unwritable: (delta: Delta) => boolean): void {
    const { store } = this.d
    const inner = store.transact.bind(store)
    let refused = false
    vi.spyOn(store, 'transact').mockImplementation(<T>(transaction: Transaction<T>) =>
      inner({
        ...transaction,
        decide: (loaded) => {
          const decision = transaction.decide(loaded)
          if (refused || !('delta' in decision) || !unwritable(decision.delta)) return decision
          refused = true
          throw new StoreDataError('unstorable', 'refused')
        },
      }),
    )
  }

  async close(): Promise<void> {
    vi.restoreAllMocks()
    await this.s.close()
  }
}
