/** Collects the loads of a transaction: turns a Need into calls whose rows fill the maps of Loaded. */

import { StoreLockedError } from '../../../kernel/store-errors.ts'
import { type DefinitionHead, definitionKey } from '../../../model/definitions.ts'
import type { PauseKey, PauseRow } from '../../../model/pauses/pauses.ts'
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
import type { Loaded, Need } from '../../../model/transaction.ts'
import * as column from '../columns.ts'
import { numberArray, textArray, uuidArray } from '../connection/batch.ts'
import type { Call, Fields } from '../connection/statement.ts'
import { type ForeignLocks, Touched } from '../foreign-locks.ts'
import { type Listings, pauseStateIn } from '../listings.ts'
import { Debounces, debouncesCall } from '../tables/debounce.ts'
import * as definition from '../tables/definitions.ts'
import { BulkLoading } from './bulk.ts'
import { candidatesCall, urgencyCalls } from './claimable.ts'
import { asked, Firings } from './firings.ts'
import * as locked from './locked.ts'
import { pausesCall } from './pauses.ts'
import * as plain from './plain.ts'

const netFrom = column.decoder(column.NET)
const queueFrom = column.decoder(column.QUEUE)

export class Loading implements Loaded {
  now = 0
  readonly locked = new Set<string>()
  readonly runs = new Map<string, RunRow>()
  readonly instances = new Map<string, InstanceRow>()
  readonly slots = new Map<string, string | null>()
  readonly slotsWith = new Map<string, SlotRow[]>()
  readonly topSlot = new Map<string, SlotRow | null>()
  readonly unstarted = new Map<string, RunRow[]>()
  readonly leased = new Map<string, RunRow[]>()
  readonly openChildren = new Map<string, InstanceRow[]>()
  readonly gates = new Map<string, GateRow>()
  readonly openGates = new Map<string, GateRow[]>()
  readonly items = new Map<string, string>()
  readonly results = new Map<string, string | null>()
  readonly resultFires = new Map<string, number>()
  readonly #firings = new Firings()
  readonly resultsAt = this.#firings.resultsAt
  readonly ran = this.#firings.ran
  readonly nextFires = this.#firings.nextFires
  readonly placesAt = this.#firings.placesAt
  readonly childPlacesAt = this.#firings.childPlacesAt
  readonly places = this.#firings.places
  readonly childPlaces = this.#firings.childPlaces
  readonly nets = new Map<string, NetRow>()
  readonly queues = new Map<string, QueueRow>()
  readonly limits = new Map<string, LimitRow>()
  readonly lockedLimits = new Set<string>()
  readonly queuedUnder = new Map<string, boolean>()
  candidates: RunRow[] = []
  readonly fairPlaces: FairPlace[] = []
  readonly urgency: (number | null)[] = []
  readonly nextUrgency: (number | null)[] = []
  readonly idempotencyKeys = new Map<string, RunRow>()
  readonly keptKeys = new Map<string, string>()
  readonly startKeys = new Map<string, InstanceRow>()
  readonly uniques = new Map<string, UniqueRow>()
  readonly sessions = new Map<string, WorkerRow>()
  readonly schedules = new Map<string, ScheduleRow>()
  readonly debounces = new Debounces()
  readonly definitions = new Map<string, DefinitionHead[]>()
  readonly pauses = new Map<string, PauseRow>()
  readonly handedBy = new Map<string, RunRow[]>()
  bulk: BulkLoading | null = null
  /** Runs as they are under this transaction's lock: an update writes only what differs from them. */
  readonly heldRuns = new Map<string, RunRow>()
  /** null: in a transaction of the caller, which hands out no work. */
  listings: Listings | null = null
  /** Roots requested with a lock: their rows come with it, or not at all. */
  readonly #roots = new Set<string>()
  /** null: in a transaction of the caller, which has its own lock timeout. */
  readonly #locks: ForeignLocks | null

  constructor(locks: ForeignLocks | null) {
    this.#locks = locks?.any === true ? locks : null
  }

  listing(type: string): Listing | null {
    if (this.listings === null) throw new Error(`the registry entry of '${type}' was not requested`)
    return this.listings.types.get(type) ?? null
  }

  pauseState(key: PauseKey): PauseRow['state'] | null | undefined {
    return this.listings === null ? undefined : pauseStateIn(this.listings, key)
  }

  roots(ids: readonly string[], wait: boolean): Call[] {
    if (ids.length === 0) return []
    const lock = wait ? locked.LOCK_ROOTS : locked.LOCK_FREE_ROOTS
    for (const id of ids) this.#roots.add(id)
    if (wait) this.#refuse(new Touched().roots(ids))
    const row = (fields: Fields): void => {
      const instance = column.instanceFrom(fields)
      this.locked.add(instance.id)
      this.instances.set(instance.id, instance)
    }
    return [{ statement: lock, values: [uuidArray(ids)], row }]
  }

  /** Locks first, in the global order; the rest reads a later snapshot. */
  calls(asked: Need): Call[] {
    const calls: Call[] = []
    const need = this.#unlocked(asked)
    for (const id of need.foreignReturns ?? []) calls.push({ statement: locked.FOREIGN_RETURNS, values: [id] })
    this.#runParts(need, calls)
    this.#ruleParts(need, calls)
    this.#namedParts(need, calls)
    this.#instanceParts(need, calls)
    this.#slotParts(need, calls)
    calls.push(...this.#firings.calls(need))
    this.#otherParts(need, calls)
    if (need.bulk !== undefined) calls.push(...(this.bulk ??= new BulkLoading()).calls(need.bulk))
    return calls
  }

  /** A row that is known to be locked is not waited for: a locked limit has no room, anything else is refused. */
  #unlocked(need: Need): Need {
    const locks = this.#locks
    if (locks === null) return need
    const { limits, ...others } = need
    this.#refuse(new Touched().loaded(others))
    if (limits === undefined) return need
    for (const key of limits) if (locks.has('limit', key)) this.lockedLimits.add(key)
    return { ...need, limits: limits.filter((key) => !this.lockedLimits.has(key)) }
  }

  #refuse(touched: Touched): void {
    const rows = this.#locks?.among(touched) ?? []
    if (rows.length > 0) throw new StoreLockedError(rows)
  }

  #hold(fields: Fields): RunRow {
    const run = column.runFrom(fields)
    this.heldRuns.set(run.id, run)
    return run
  }

  #runParts({ runs, unstarted, leased, candidates }: Need, calls: Call[]): void {
    if (runs !== undefined && runs.length > 0) {
      const row = (fields: Fields): void => {
        const run = this.#hold(fields)
        this.runs.set(run.id, run)
      }
      calls.push({ statement: locked.RUNS, values: [uuidArray(runs)], row })
    }
    if (unstarted !== undefined && unstarted.length > 0) {
      for (const { instanceId } of unstarted) this.unstarted.set(instanceId, [])
      const row = (fields: Fields): void => {
        const run = this.#hold(fields)
        this.unstarted.get(run.instanceId as string)?.push(run)
      }
      const values = [uuidArray(unstarted.map((n) => n.instanceId)), numberArray(unstarted.map((n) => n.limit))]
      calls.push({ statement: locked.UNSTARTED_RUNS, values, row })
    }
    if (leased !== undefined && leased.length > 0) {
      const ids = leased.map((n) => n.instanceId)
      const whole = leased.filter((n) => n.held === 'all').map((n) => n.instanceId)
      for (const id of ids) this.leased.set(id, [])
      const row = (fields: Fields): void => {
        const run = this.#hold(fields)
        this.leased.get(run.instanceId as string)?.push(run)
      }
      calls.push({ statement: locked.LEASED_RUNS, values: [uuidArray(ids), uuidArray(whole)], row })
    }
    if (candidates !== undefined) {
      this.candidates = []
      let left = candidates.maxBytes ?? Number.POSITIVE_INFINITY
      const row = (fields: Fields): void => {
        if (left < 0) return
        const run = this.#hold(fields)
        left -= Buffer.byteLength(run.payload)
        this.candidates.push(run)
      }
      calls.push(candidatesCall(candidates, row, this.fairPlaces))
    }
  }

  #ruleParts({ limits, heldLimits, uniques }: Need, calls: Call[]): void {
    const limitRow = (fields: Fields): void => {
      const limit = column.limitFrom(fields)
      this.limits.set(limit.key, limit)
    }
    if (limits !== undefined && limits.length > 0) {
      calls.push({ statement: locked.LIMITS, values: [textArray(limits)], row: limitRow })
    }
    if (heldLimits !== undefined && heldLimits.length > 0) {
      const values = [textArray(heldLimits)]
      calls.push({ statement: locked.MAKE_LIMITS, values }, { statement: locked.LIMITS, values, row: limitRow })
    }
    if (uniques !== undefined && uniques.length > 0) {
      const row = (fields: Fields): void => {
        const unique = column.uniqueFrom(fields)
        this.uniques.set(unique.key, unique)
      }
      calls.push({ statement: locked.UNIQUES, values: [textArray(uniques)], row })
    }
  }

  #namedParts({ definitions, schedules, debounces, pauses }: Need, calls: Call[]): void {
    if (debounces !== undefined && debounces.length > 0) calls.push(debouncesCall(debounces, this.debounces))
    if (pauses !== undefined && pauses.length > 0) calls.push(pausesCall(pauses, this.pauses))
    if (definitions !== undefined && definitions.length > 0) {
      for (const key of definitions.map(definitionKey).sort()) {
        this.definitions.set(key, [])
        calls.push({ statement: definition.LOCK_NAME, values: [key] })
      }
      const row = (fields: Fields): void => {
        const head = definition.headFrom(fields)
        this.definitions.get(definitionKey(head))?.push(head)
      }
      const values = [textArray(definitions.map((d) => d.tenant ?? '')), textArray(definitions.map((d) => d.name))]
      calls.push({ statement: definition.VERSIONS, values, row })
    }
    if (schedules !== undefined && schedules.length > 0) calls.push(locked.schedulesCall(schedules, this.schedules))
  }

  #instanceParts(need: Need, calls: Call[]): void {
    const { openChildren, gates, openGates, startKeys } = need
    const instances = (need.instances ?? []).filter((id) => !this.#roots.has(id))
    if (instances.length > 0) {
      const row = (fields: Fields): void => {
        const instance = column.instanceFrom(fields)
        this.instances.set(instance.id, instance)
      }
      calls.push({ statement: plain.INSTANCES, values: [uuidArray(instances)], row })
    }
    if (openChildren !== undefined && openChildren.length > 0) {
      for (const { instanceId } of openChildren) this.openChildren.set(instanceId, [])
      const row = (fields: Fields): void => {
        const child = column.instanceFrom(fields)
        this.openChildren.get(child.parentId as string)?.push(child)
      }
      const values = [uuidArray(openChildren.map((n) => n.instanceId)), numberArray(openChildren.map((n) => n.limit))]
      calls.push({ statement: plain.OPEN_CHILDREN, values, row })
    }
    if (gates !== undefined && gates.length > 0) {
      const row = (fields: Fields): void => {
        const gate = column.gateFrom(fields)
        this.gates.set(gate.id, gate)
      }
      calls.push({ statement: plain.GATES, values: [uuidArray(gates)], row })
    }
    if (openGates !== undefined && openGates.length > 0) {
      for (const { instanceId } of openGates) this.openGates.set(instanceId, [])
      const row = (fields: Fields): void => {
        const gate = column.gateFrom(fields)
        this.openGates.get(gate.instanceId)?.push(gate)
      }
      const values = [uuidArray(openGates.map((n) => n.instanceId)), numberArray(openGates.map((n) => n.limit))]
      calls.push({ statement: plain.OPEN_GATES, values, row })
    }
    if (startKeys !== undefined && startKeys.length > 0) {
      const row = (fields: Fields): void => {
        const instance = column.instanceFrom(fields)
        this.startKeys.set(instance.startKey as string, instance)
      }
      calls.push({ statement: plain.BY_START_KEY, values: [textArray(startKeys)], row })
    }
  }

  #slotParts(need: Need, calls: Call[]): void {
    const { slots, slotsWith, topSlot, items, results } = need
    if (slots !== undefined && slots.length > 0) {
      const ids: string[] = []
      const keys: string[] = []
      for (const { instanceId, keys: wanted } of slots) {
        for (const key of wanted) {
          ids.push(instanceId)
          keys.push(key)
          this.slots.set(`${instanceId}/${key}`, null)
        }
      }
      const row = (fields: Fields): void => {
        this.slots.set(`${fields[0]}/${fields[1]}`, fields[2] as string)
      }
      if (ids.length > 0) calls.push({ statement: plain.SLOTS, values: [uuidArray(ids), textArray(keys)], row })
    }
    if (slotsWith !== undefined && slotsWith.length > 0) {
      for (const { instanceId, prefix } of slotsWith) this.slotsWith.set(`${instanceId}/${prefix}`, [])
      const row = (fields: Fields): void => {
        const { instanceId, prefix } = asked(slotsWith, fields)
        this.slotsWith
          .get(`${instanceId}/${prefix}`)
          ?.push({ instanceId, key: fields[1] as string, value: fields[2] as string })
      }
      const values = [uuidArray(slotsWith.map((n) => n.instanceId)), textArray(slotsWith.map((n) => n.prefix))]
      calls.push({ statement: plain.SLOTS_WITH, values, row })
    }
    if (topSlot !== undefined && topSlot.length > 0) {
      for (const { instanceId, prefix } of topSlot) this.topSlot.set(`${instanceId}/${prefix}`, null)
      const row = (fields: Fields): void => {
        const { instanceId, prefix } = asked(topSlot, fields)
        this.topSlot.set(`${instanceId}/${prefix}`, {
          instanceId,
          key: fields[1] as string,
          value: fields[2] as string,
        })
      }
      const values = [uuidArray(topSlot.map((n) => n.instanceId)), textArray(topSlot.map((n) => n.prefix))]
      calls.push({ statement: plain.TOP_SLOT, values, row })
    }
    if (items !== undefined && items.length > 0) {
      const row = (fields: Fields): void => {
        const { instanceId, node, fire } = asked(items, fields)
        this.items.set(`${instanceId}/${node}/${fire}/${fields[1]}`, fields[2] as string)
      }
      const values = [
        uuidArray(items.map((n) => n.instanceId)),
        textArray(items.map((n) => n.node)),
        numberArray(items.map((n) => n.fire)),
        numberArray(items.map((n) => n.from)),
        numberArray(items.map((n) => n.count)),
      ]
      calls.push({ statement: plain.ITEMS, values, row })
    }
    if (results !== undefined && results.length > 0) {
      const row = (fields: Fields): void => {
        const { instanceId, node } = asked(results, fields)
        this.results.set(`${instanceId}/${node}`, fields[1] as string | null)
        if (fields[2] != null) this.resultFires.set(`${instanceId}/${node}`, Number(fields[2]))
      }
      const values = [uuidArray(results.map((n) => n.instanceId)), textArray(results.map((n) => n.node))]
      calls.push({ statement: plain.RESULTS, values, row })
    }
  }

  #otherParts(need: Need, calls: Call[]): void {
    const { nets, queues, sessions, urgency = [], nextUrgency = [], idempotencyKeys, handedBy } = need
    if (nets !== undefined && nets.length > 0) {
      const row = (fields: Fields): void => {
        const net = netFrom(fields)
        this.nets.set(net.hash, net)
      }
      calls.push({ statement: plain.NETS, values: [textArray(nets)], row })
    }
    if (queues !== undefined && queues.length > 0) {
      const row = (fields: Fields): void => {
        const queue = queueFrom(fields)
        this.queues.set(queue.name, queue)
      }
      calls.push({ statement: plain.QUEUES, values: [textArray(queues)], row })
    }
    if (need.queuedUnder !== undefined && need.queuedUnder.length > 0) {
      for (const key of need.queuedUnder) this.queuedUnder.set(key, false)
      const row = (fields: Fields): void => void this.queuedUnder.set(fields[0] as string, true)
      calls.push({ statement: plain.QUEUED_UNDER, values: [textArray(need.queuedUnder)], row })
    }
    if (sessions !== undefined && sessions.length > 0) {
      const row = (fields: Fields): void => {
        const worker = column.workerFrom(fields)
        this.sessions.set(worker.id, worker)
      }
      calls.push({ statement: plain.SESSIONS, values: [textArray(sessions)], row })
    }
    if (urgency.length > 0) calls.push(...urgencyCalls(urgency, this.urgency))
    if (nextUrgency.length > 0) calls.push(...urgencyCalls(nextUrgency, this.nextUrgency))
    if (idempotencyKeys !== undefined && idempotencyKeys.length > 0) {
      const row = (fields: Fields): void => {
        const run = column.runFrom(fields)
        this.idempotencyKeys.set(run.idempotencyKey as string, run)
      }
      const kept = (fields: Fields): void => void this.keptKeys.set(fields[0] as string, fields[1] as string)
      const values = [textArray(idempotencyKeys)]
      calls.push(
        { statement: plain.BY_IDEMPOTENCY_KEY, values, row },
        { statement: plain.KEPT_KEYS, values, row: kept },
      )
    }
    if (handedBy !== undefined && handedBy.length > 0) {
      for (const { sessionId, reportId } of handedBy) this.handedBy.set(`${sessionId}/${reportId}`, [])
      const row = (fields: Fields): void => {
        const { sessionId, reportId } = asked(handedBy, fields)
        this.handedBy.get(`${sessionId}/${reportId}`)?.push(column.runFrom(fields, 1))
      }
      const values = [textArray(handedBy.map((n) => n.sessionId)), textArray(handedBy.map((n) => n.reportId))]
      calls.push({ statement: plain.HANDED_BY, values, row })
    }
  }
}
