/**
 * A minimal in-memory store for the pure part of the engine: everything is loaded before it is requested, and the
 * changes of one fold are visible to the next. No database, and no clock but `now`.
 */
import { Admission } from '../../src/engine/fold/admission.ts'
import { deltaOf } from '../../src/engine/fold/delta.ts'
import { Evaluators } from '../../src/engine/fold/evaluators.ts'
import { foldPending } from '../../src/engine/fold/happenings.ts'
import { createInstance } from '../../src/engine/fold/instance/instance-creation.ts'
import { NeedMore } from '../../src/engine/fold/need.ts'
import { leased } from '../../src/engine/fold/run/runs.ts'
import { WorkingSet } from '../../src/engine/fold/working-set.ts'
import type { EventRow } from '../../src/model/events/events.ts'
import type { Listing } from '../../src/model/registry.ts'
import type { GateRow, InstanceRow, LimitRow, QueueRow, RunRow, WorkerRow } from '../../src/model/rows.ts'
import type { Delta, Loaded } from '../../src/model/transaction.ts'
import { type CompiledNet, compileNet } from '../../src/net/compile.ts'
import type { Net } from '../../src/net/net.ts'
import { T0 } from '../store/rows.ts'

/** Answers for every key. */
class Answers<V> extends Map<string, V> {
  readonly #answer: (key: string) => V

  constructor(answer: (key: string) => V) {
    super()
    this.#answer = answer
  }

  override get(key: string): V {
    return this.#answer(key)
  }

  override has(): boolean {
    return true
  }
}

export class FoldStage {
  now = T0
  readonly instances = new Map<string, InstanceRow>()
  readonly runs = new Map<string, RunRow>()
  readonly gates = new Map<string, GateRow>()
  readonly limits = new Map<string, LimitRow>()
  readonly queues = new Map<string, QueueRow>()
  readonly listings = new Map<string, Listing>()
  readonly sessions = new Map<string, WorkerRow>()
  readonly slots = new Map<string, string>()
  readonly events: EventRow[] = []
  readonly #nets = new Map<string, CompiledNet>()
  readonly #evaluators = new Evaluators(new Map())
  #ids = 0

  /** One transaction, folded again when more rows are requested, as the engine does. */
  act<T>(work: (change: WorkingSet) => T): { readonly value: T; readonly change: WorkingSet } {
    const asked = new Set<string>()
    const leases = new Map<string, readonly RunRow[]>()
    for (let rounds = 0; rounds < 10; rounds++) {
      const change = this.#workingSet(asked, leases)
      try {
        const value = work(change)
        if (change.lacking.length > 0) throw new Error(`not loaded: ${JSON.stringify(change.lacking)}`)
        this.#apply(deltaOf(change))
        return { value, change }
      } catch (error) {
        if (!(error instanceof NeedMore)) throw error
        for (const { instanceId, held } of error.need.leased ?? [])
          leases.set(instanceId, this.#leased(instanceId, held))
      }
    }
    throw new Error('it asks for something again and again')
  }

  #workingSet(asked: Set<string>, leases: ReadonlyMap<string, readonly RunRow[]>): WorkingSet {
    const { limits, queues, now } = this
    const loaded: Loaded = { ...this.#loaded(), leased: leases }
    const admission = new Admission({ queues, limits, now, listing: loaded.listing, isPaused: () => false })
    const nets = { get: (hash: string) => this.#nets.get(hash), load: unexpected, remember() {} }
    const newId = (): string => `id-${String(++this.#ids).padStart(4, '0')}`
    return new WorkingSet(loaded, admission, { nets, evaluators: this.#evaluators, newId, maxDepth: 10 }, asked)
  }

  #leased(instanceId: string, held: 'all' | 'unattended'): readonly RunRow[] {
    const rows = [...this.runs.values()].filter((run) => run.instanceId === instanceId && run.status === 'leased')
    return held === 'all' ? rows : rows.filter((run) => run.sessionId === null)
  }

  start(net: Net, rest: { readonly quotaKey?: string } = {}): string {
    this.#nets.set(net.name, compileNet(net, this.#evaluators.of(net.dialect)))
    const { value } = this.act((change) => {
      const { row } = createInstance(change, {
        id: change.deps.newId(),
        netHash: net.name,
        parent: null,
        tenant: null,
        startKey: null,
        retryOf: null,
        actor: null,
        input: null,
        meta: null,
        literals: null,
        items: null,
        ...rest,
      })
      foldPending(change)
      return row.id
    })
    return value
  }

  add(run: RunRow): RunRow {
    this.runs.set(run.id, run)
    return run
  }

  /** The pending run of a node, leased to session s. */
  lease(node: string, role: RunRow['role'] = 'work'): RunRow {
    const run = this.runAt(node, role)
    if (run?.status !== 'pending') throw new Error(`no pending ${role} of ${node}`)
    return this.add(leased(run, { id: 's', name: 'worker' }, this.now, null))
  }

  /** The latest run of a node. */
  runAt(node: string, role: RunRow['role'] = 'work'): RunRow | undefined {
    return [...this.runs.values()].findLast((run) => run.node === node && run.role === role)
  }

  run(id: string): RunRow {
    return this.runs.get(id) as RunRow
  }

  instance(id: string): InstanceRow {
    return this.instances.get(id) as InstanceRow
  }

  /** Types of events, of a node or of all. */
  eventTypes(node?: string): readonly string[] {
    return this.events.filter((event) => node === undefined || event.node === node).map(({ type }) => type)
  }

  #loaded(): Omit<Loaded, 'leased'> {
    const of = <R extends { readonly instanceId: string | null }>(rows: Map<string, R>, id: string): R[] =>
      [...rows.values()].filter((row) => row.instanceId === id)
    const none = new Answers(() => null)
    const slotsWith = (key: string): { instanceId: string; key: string; value: string }[] => {
      const [instanceId = ''] = key.split('/', 1)
      return [...this.slots]
        .filter(([slot]) => slot.startsWith(key))
        .map(([slot, value]) => ({ instanceId, key: slot.slice(instanceId.length + 1), value }))
        .sort((a, b) => (a.key < b.key ? -1 : 1))
    }
    return {
      now: this.now,
      listing: (type) => this.listings.get(type) ?? null,
      pauseState: () => null,
      locked: new Set(this.instances.keys()),
      runs: new Map(this.runs),
      instances: new Map(this.instances),
      slots: new Answers((key) => this.slots.get(key) ?? null),
      slotsWith: new Answers(slotsWith),
      topSlot: new Answers((key) => slotsWith(key).at(-1) ?? null),
      unstarted: new Answers((id) => of(this.runs, id).filter(({ status }) => status === 'pending')),
      openChildren: new Answers(() => []),
      gates: new Map(this.gates),
      openGates: new Answers((id) => of(this.gates, id).filter(({ state }) => state === 'open')),
      items: new Map(),
      results: new Answers((key) => this.#result(key)),
      resultFires: new Map(),
      resultsAt: none,
      ran: new Answers(() => []),
      nextFires: none as Answers<never>,
      places: none as Answers<never>,
      placesAt: new Answers((key) => this.#placeAt(key)),
      childPlaces: none as Answers<never>,
      childPlacesAt: none as Answers<never>,
      nets: new Map(),
      queues: new Map(this.queues),
      limits: new Map(this.limits),
      queuedUnder: new Answers((key) => [...this.instances.values()].some((row) => isQueued(row, key))),
      candidates: [],
      urgency: [],
      nextUrgency: [],
      idempotencyKeys: new Map(),
      startKeys: new Map(),
      uniques: new Map(),
      sessions: new Map(this.sessions),
      schedules: new Map(),
      debounces: new Map(),
      definitions: new Map(),
      pauses: new Map(),
      handedBy: new Map(),
    }
  }

  #result(key: string): string | null {
    const runs = [...this.runs.values()].filter((run) => run.role === 'work' && run.status === 'succeeded')
    return runs.findLast((run) => `${run.instanceId}/${run.node}` === key)?.result ?? null
  }

  #placeAt(key: string): RunRow | null {
    const runs = [...this.runs.values()].filter((run) => run.role === 'work')
    return runs.findLast((run) => `${run.instanceId}/${run.node}/${run.fire}/${run.item}` === key) ?? null
  }

  #apply(delta: Delta): void {
    for (const row of [...(delta.instances?.insert ?? []), ...(delta.instances?.update ?? [])]) {
      this.instances.set(row.id, row)
    }
    for (const row of [...(delta.runs?.insert ?? []), ...(delta.runs?.update ?? [])]) this.runs.set(row.id, row)
    for (const id of delta.runs?.remove ?? []) this.runs.delete(id)
    for (const row of [...(delta.gates?.insert ?? []), ...(delta.gates?.update ?? [])]) this.gates.set(row.id, row)
    for (const { instanceId, key, value } of delta.slots?.put ?? []) this.slots.set(`${instanceId}/${key}`, value)
    for (const { instanceId, key } of delta.slots?.remove ?? []) this.slots.delete(`${instanceId}/${key}`)
    for (const row of delta.limits ?? []) this.limits.set(row.key, row)
    this.events.push(...(delta.events ?? []))
  }
}

function isQueued(row: InstanceRow, key: string): boolean {
  return row.state === 'queued' && row.quotaKey === key
}

function unexpected(): never {
  throw new Error('a net was asked for that this stage does not have')
}
