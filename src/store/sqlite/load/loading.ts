/** Everything one transaction has loaded, as requested by `decide`; the rows are also the base of updates. */
import { type DefinitionHead, definitionKey } from '../../../model/definitions.ts'
import type { PauseKey, PauseRow } from '../../../model/pauses/pauses.ts'
import type { NodeRan, ResultText } from '../../../model/queries/firings.ts'
import type { FairPlace } from '../../../model/queues/fair.ts'
import type { Listing } from '../../../model/registry.ts'
import type {
  GateRow,
  InstanceRow,
  LimitRow,
  NetRow,
  QueueRow,
  RunRow,
  ScheduleRow,
  SlotRow,
  UniqueRow,
  WorkerRow,
} from '../../../model/rows.ts'
import type { ClaimFilter, Loaded, Need } from '../../../model/transaction.ts'
import type { Connection } from '../connection.ts'
import type { Cells } from '../driver.ts'
import { INSTANCE_CELLS, instanceOf } from '../row/instance.ts'
import {
  GATE_CELLS,
  gateOf,
  LIMIT_CELLS,
  limitOf,
  NET_CELLS,
  netOf,
  QUEUE_CELLS,
  queueOf,
  SCHEDULE_CELLS,
  scheduleOf,
  UNIQUE_CELLS,
  uniqueOf,
  WORKER_CELLS,
  workerOf,
} from '../row/narrow-rows.ts'
import { RUN_CELLS, runOf } from '../row/run.ts'
import { DEBOUNCE_OF_KEY, Debounces, debounceOf } from '../tables/debounce.ts'
import { loadVersions } from '../tables/definitions.ts'
import { loadPauses, pauseStateOf } from '../tables/pauses.ts'
import { BulkLoading } from './bulk.ts'
import { candidates, urgency } from './claimable.ts'
import { childAt, latestChild, latestRun, nextFire, OPEN_CHILDREN, ranOf, runAt } from './firings.ts'
import { LEASED, UNATTENDED, WAITING } from './held.ts'
import { isQueuedUnder } from './queued.ts'
import { resultAt, resultOf } from './results.ts'
import { loadItems, slotsWith, slotValue, topSlot } from './slots.ts'

const RUN = `SELECT ${RUN_CELLS} FROM workflow_run WHERE id = ?`
const INSTANCE = `SELECT ${INSTANCE_CELLS} FROM workflow_instance WHERE id = ?`
const QUEUE = `SELECT ${QUEUE_CELLS} FROM workflow_queue WHERE name = ?`
const LIMIT = `SELECT ${LIMIT_CELLS} FROM workflow_limit WHERE key = ?`
const LISTING = 'SELECT runtime, is_enabled FROM workflow_registry WHERE workflow_name = ? AND deleted_at IS NULL'
const GATE = `SELECT ${GATE_CELLS} FROM workflow_gate WHERE id = ?`
const OPEN_GATES = `SELECT ${GATE_CELLS} FROM workflow_gate WHERE state = 'open' AND instance_id = ? ORDER BY id LIMIT ? + 0`
const HANDED = `SELECT ${RUN_CELLS} FROM workflow_run INDEXED BY idx_workflow_run_leased
  WHERE status = 'leased' AND session_id = ? AND report_id = ? ORDER BY id`
const KEPT = 'SELECT run_id FROM workflow_kept_key WHERE idempotency_key = ?'

type Loader<Wanted> = (to: Loading, wanted: Wanted) => void

export class Loading implements Loaded {
  readonly now: number
  readonly locked = new Set<string>()
  readonly runs = new Map<string, RunRow>()
  readonly instances = new Map<string, InstanceRow>()
  readonly slots = new Map<string, string | null>()
  readonly slotsWith = new Map<string, readonly SlotRow[]>()
  readonly topSlot = new Map<string, SlotRow | null>()
  readonly unstarted = new Map<string, readonly RunRow[]>()
  readonly leased = new Map<string, readonly RunRow[]>()
  readonly openChildren = new Map<string, readonly InstanceRow[]>()
  readonly gates = new Map<string, GateRow>()
  readonly openGates = new Map<string, readonly GateRow[]>()
  readonly items = new Map<string, string>()
  readonly results = new Map<string, string | null>()
  readonly resultFires = new Map<string, number>()
  readonly resultsAt = new Map<string, ResultText>()
  readonly ran = new Map<string, readonly NodeRan[]>()
  readonly nextFires = new Map<string, number | null>()
  readonly placesAt = new Map<string, RunRow | null>()
  readonly childPlacesAt = new Map<string, InstanceRow | null>()
  readonly places = new Map<string, RunRow | null>()
  readonly childPlaces = new Map<string, InstanceRow | null>()
  readonly nets = new Map<string, NetRow>()
  readonly queues = new Map<string, QueueRow>()
  readonly limits = new Map<string, LimitRow>()
  readonly queuedUnder = new Map<string, boolean>()
  candidates: readonly RunRow[] = []
  readonly fairPlaces: FairPlace[] = []
  urgency: readonly (number | null)[] = []
  nextUrgency: readonly (number | null)[] = []
  readonly idempotencyKeys = new Map<string, RunRow>()
  readonly keptKeys = new Map<string, string>()
  readonly startKeys = new Map<string, InstanceRow>()
  readonly uniques = new Map<string, UniqueRow>()
  readonly sessions = new Map<string, WorkerRow>()
  readonly schedules = new Map<string, ScheduleRow>()
  readonly debounces = new Debounces()
  readonly definitions = new Map<string, readonly DefinitionHead[]>()
  readonly pauses = new Map<string, PauseRow>()
  readonly handedBy = new Map<string, readonly RunRow[]>()
  bulk: BulkLoading | null = null

  /** Every row seen in this transaction, by whatever load: an update writes what differs from it. */
  readonly knownRuns = new Map<string, RunRow>()
  readonly knownInstances = new Map<string, InstanceRow>()
  readonly #listings = new Map<string, Listing>()
  readonly #connection: Connection

  constructor(connection: Connection, now: number) {
    this.#connection = connection
    this.now = now
  }

  listing(type: string): Listing | null {
    this.#rule(`type ${type}`, type, this.#listings, LISTING, ([runtime, enabled]) => ({
      runtime: runtime as string,
      enabled: enabled !== 0,
    }))
    return this.#listings.get(type) ?? null
  }

  pauseState(key: PauseKey): PauseRow['state'] | null {
    return pauseStateOf(this.#connection, key)
  }

  #urgency(filters: readonly ClaimFilter[]): (number | null)[] {
    return filters.map((filter) => urgency(this.#connection, filter, this.now))
  }

  /** The write lock covers the file, so every root that exists is locked at once. */
  lock(roots: readonly string[]): void {
    for (const id of roots) if (this.#instance(id)) this.locked.add(id)
  }

  load(need: Need): void {
    for (const part in need) {
      const wanted = need[part as keyof Need]
      if (wanted !== undefined) (Loading.#loaders[part as keyof Need] as Loader<unknown>)(this, wanted)
    }
  }

  /** How each part of a need is loaded. A need names few of them: checking all took longer than most loads. */
  static readonly #loaders: { readonly [K in keyof Need]-?: Loader<NonNullable<Need[K]>> } = {
    runs: (to, ids) => {
      for (const id of ids) to.#run(id)
    },
    instances: (to, ids) => {
      for (const id of ids) to.#instance(id)
    },
    nets: (to, hashes) => to.#keyed(hashes, to.nets, `SELECT ${NET_CELLS} FROM workflow_net WHERE hash = ?`, netOf),
    slots: (to, wanted) => {
      for (const { instanceId, keys } of wanted) for (const key of keys) to.#slot(instanceId, key)
    },
    slotsWith: (to, wanted) => {
      for (const { instanceId, prefix } of wanted) {
        to.slotsWith.set(`${instanceId}/${prefix}`, slotsWith(to.#connection, instanceId, prefix))
      }
    },
    topSlot: (to, wanted) => {
      for (const { instanceId, prefix } of wanted) {
        to.topSlot.set(`${instanceId}/${prefix}`, topSlot(to.#connection, instanceId, prefix))
      }
    },
    queues: (to, names) => {
      for (const name of names) to.#rule(`queue ${name}`, name, to.queues, QUEUE, queueOf)
    },
    limits: (to, keys) => to.#limitRows(keys),
    // The write lock covers the file: a limit without a row is held as well.
    heldLimits: (to, keys) => to.#limitRows(keys),
    queuedUnder: (to, keys) => {
      for (const key of keys) to.queuedUnder.set(key, isQueuedUnder(to.#connection, key))
    },
    candidates: (to, wanted) => {
      const { runs, fairPlaces } = candidates(to.#connection, wanted, to.now)
      to.candidates = to.#seen(runs)
      to.fairPlaces.push(...fairPlaces)
    },
    urgency: (to, filters) => {
      to.urgency = to.#urgency(filters)
    },
    nextUrgency: (to, filters) => {
      to.nextUrgency = to.#urgency(filters)
    },
    results: (to, wanted) => {
      for (const { instanceId, node } of wanted) {
        const { text, fire } = resultOf(to.#connection, instanceId, node)
        to.results.set(`${instanceId}/${node}`, text)
        if (fire !== null) to.resultFires.set(`${instanceId}/${node}`, fire)
      }
    },
    resultsAt: (to, wanted) => {
      for (const one of wanted)
        to.resultsAt.set(`${one.instanceId}/${one.node}/${one.fire}`, resultAt(to.#connection, one))
    },
    ran: (to, ids) => {
      for (const id of ids) to.ran.set(id, ranOf(to.#connection, id))
    },
    nextFires: (to, wanted) => {
      for (const { instanceId, node, after } of wanted) {
        to.nextFires.set(`${instanceId}/${node}/${after}`, nextFire(to.#connection, instanceId, node, after))
      }
    },
    placesAt: (to, wanted) => {
      for (const one of wanted) {
        const { instanceId, node, fire, item } = one
        to.placesAt.set(`${instanceId}/${node}/${fire}/${item}`, to.#seenRun(runAt(to.#connection, one)))
      }
    },
    childPlacesAt: (to, wanted) => {
      for (const one of wanted) {
        const { instanceId, node, fire, item } = one
        to.childPlacesAt.set(`${instanceId}/${node}/${fire}/${item}`, to.#seenChild(childAt(to.#connection, one)))
      }
    },
    places: (to, wanted) => {
      for (const one of wanted) {
        const { instanceId, node, item } = one
        to.places.set(`${instanceId}/${node}/${item}`, to.#seenRun(latestRun(to.#connection, one)))
      }
    },
    childPlaces: (to, wanted) => {
      for (const one of wanted) {
        const { instanceId, node, item } = one
        to.childPlaces.set(`${instanceId}/${node}/${item}`, to.#seenChild(latestChild(to.#connection, one)))
      }
    },
    unstarted: (to, wanted) => {
      for (const { instanceId, limit } of wanted) to.#unstarted(instanceId, limit)
    },
    leased: (to, wanted) => {
      for (const { instanceId, held, limit } of wanted) {
        const select = to.#connection.statement(held === 'all' ? LEASED : UNATTENDED)
        to.leased.set(instanceId, to.#seen(select.all(instanceId, limit).map(runOf)))
      }
    },
    openChildren: (to, wanted) => to.#openChildren(wanted),
    gates: (to, ids) => to.#keyed(ids, to.gates, GATE, gateOf),
    openGates: (to, wanted) => {
      for (const { instanceId, limit } of wanted) {
        to.openGates.set(instanceId, to.#connection.statement(OPEN_GATES).all(instanceId, limit).map(gateOf))
      }
    },
    items: (to, wanted) => {
      for (const one of wanted) loadItems(to.#connection, one, to.items)
    },
    idempotencyKeys: (to, keys) => {
      for (const key of keys) to.#idempotencyKey(key)
    },
    startKeys: (to, keys) => {
      for (const key of keys) to.#startKey(key)
    },
    uniques: (to, keys) =>
      to.#keyed(keys, to.uniques, `SELECT ${UNIQUE_CELLS} FROM workflow_unique WHERE key = ?`, uniqueOf),
    sessions: (to, ids) =>
      to.#keyed(ids, to.sessions, `SELECT ${WORKER_CELLS} FROM workflow_worker WHERE id = ?`, workerOf),
    schedules: (to, names) =>
      to.#keyed(names, to.schedules, `SELECT ${SCHEDULE_CELLS} FROM workflow_cron WHERE name = ?`, scheduleOf),
    debounces: (to, keys) => to.#keyed(keys, to.debounces, DEBOUNCE_OF_KEY, debounceOf),
    definitions: (to, names) => {
      for (const name of names) to.definitions.set(definitionKey(name), loadVersions(to.#connection, name))
    },
    pauses: (to, keys) => loadPauses(to.#connection, keys, to.pauses),
    foreignReturns: () => {},
    handedBy: (to, wanted) => to.#handedBy(wanted),
    bulk: (to, wanted) => {
      to.bulk ??= new BulkLoading(to.#connection, to.now)
      to.bulk.load(wanted)
    },
  }

  #limitRows(keys: readonly string[]): void {
    for (const key of keys) this.#rule(`limit ${key}`, key, this.limits, LIMIT, limitOf)
  }

  #run(id: string): void {
    if (this.runs.has(id)) return
    let run = this.knownRuns.get(id)
    if (run === undefined) {
      run = this.#connection.recent.runs.get(id)
      if (run !== undefined) this.knownRuns.set(id, run)
    }
    if (run === undefined) {
      const cells = this.#connection.statement(RUN).get(id)
      if (cells === undefined) return
      run = runOf(cells)
      this.knownRuns.set(id, run)
    }
    this.runs.set(id, run)
  }

  #instance(id: string): boolean {
    if (this.instances.has(id)) return true
    let instance = this.knownInstances.get(id)
    if (instance === undefined) {
      instance = this.#connection.recent.instances.get(id)
      if (instance !== undefined) this.knownInstances.set(id, instance)
    }
    if (instance === undefined) {
      const cells = this.#connection.statement(INSTANCE).get(id)
      if (cells === undefined) return false
      instance = instanceOf(cells)
      this.knownInstances.set(id, instance)
    }
    this.instances.set(id, instance)
    return true
  }

  #keyed<Row>(keys: readonly string[], into: Map<string, Row>, sql: string, rowOf: (cells: Cells) => Row): void {
    const statement = this.#connection.statement(sql)
    for (const key of keys) {
      if (into.has(key)) continue
      const cells = statement.get(key)
      if (cells !== undefined) into.set(key, rowOf(cells))
    }
  }

  #rule<Row>(known: string, key: string, into: Map<string, Row>, sql: string, rowOf: (cells: Cells) => Row): void {
    const { ruleless } = this.#connection.recent
    if (into.has(key) || ruleless.has(known)) return
    const cells = this.#connection.statement(sql).get(key)
    if (cells === undefined) ruleless.add(known)
    else into.set(key, rowOf(cells))
  }

  #slot(instanceId: string, key: string): void {
    const name = `${instanceId}/${key}`
    if (this.slots.has(name)) return
    const recent = this.#connection.recent.slots.get(name)
    if (recent !== undefined) {
      this.slots.set(name, recent)
      return
    }
    this.slots.set(name, slotValue(this.#connection, instanceId, key))
  }

  #unstarted(instanceId: string, limit: number): void {
    const waiting = this.#connection.statement(WAITING).all(instanceId, limit)
    this.unstarted.set(instanceId, this.#seen(waiting.map(runOf)))
  }

  #openChildren(wanted: NonNullable<Need['openChildren']>): void {
    for (const { instanceId, limit } of wanted) {
      const children = this.#connection.statement(OPEN_CHILDREN).all(instanceId, limit).map(instanceOf)
      for (const child of children) this.knownInstances.set(child.id, child)
      this.openChildren.set(instanceId, children)
    }
  }

  #idempotencyKey(key: string): void {
    if (this.idempotencyKeys.has(key)) return
    const cells = this.#connection.statement(`SELECT ${RUN_CELLS} FROM workflow_run WHERE idempotency_key = ?`).get(key)
    if (cells !== undefined) {
      const run = runOf(cells)
      this.knownRuns.set(run.id, run)
      this.idempotencyKeys.set(key, run)
      return
    }
    const kept = this.#connection.statement(KEPT).get(key)
    if (kept !== undefined) this.keptKeys.set(key, kept[0] as string)
  }

  #startKey(key: string): void {
    if (this.startKeys.has(key)) return
    const cells = this.#connection
      .statement(`SELECT ${INSTANCE_CELLS} FROM workflow_instance WHERE start_key = ?`)
      .get(key)
    if (cells === undefined) return
    const instance = instanceOf(cells)
    this.knownInstances.set(instance.id, instance)
    this.startKeys.set(key, instance)
  }

  #handedBy(wanted: NonNullable<Need['handedBy']>): void {
    const statement = this.#connection.statement(HANDED)
    for (const { sessionId, reportId } of wanted) {
      this.handedBy.set(`${sessionId}/${reportId}`, this.#seen(statement.all(sessionId, reportId).map(runOf)))
    }
  }

  #seenRun(run: RunRow | null): RunRow | null {
    if (run !== null) this.knownRuns.set(run.id, run)
    return run
  }

  #seenChild(child: InstanceRow | null): InstanceRow | null {
    if (child !== null) this.knownInstances.set(child.id, child)
    return child
  }

  #seen(runs: readonly RunRow[]): readonly RunRow[] {
    for (const run of runs) this.knownRuns.set(run.id, run)
    return runs
  }
}
