/**
 * Runs a fold as one transaction of the store: loads what it requests, folds, hands off, writes, and reports the commit.
 * Settle, intake, control and the sweeper all use it.
 */

import type { BulkNeed } from '../../model/bulk/work.ts'
import { limitKeys } from '../../model/limits.ts'
import type { RunRow } from '../../model/rows.ts'
import type { Loaded, Need } from '../../model/transaction.ts'
import type { Store } from '../../store/store.ts'
import { Admission } from '../fold/admission.ts'
import { deltaOf } from '../fold/delta.ts'
import { NeedMore } from '../fold/need.ts'
import { parkWaiting } from '../fold/parking.ts'
import type { FoldDeps } from '../fold/working-set.ts'
import { WorkingSet } from '../fold/working-set.ts'
import { type Handed, handOff, type Offer } from './handoff.ts'

export interface Act<T> {
  readonly roots: readonly string[]
  readonly wait: boolean
  readonly need: Need
  /** Workers that could take the new runs. */
  offers?(): readonly Offer[]
  /** Folds into the working set. May throw NeedMore, or collect several with pass.each. */
  fold(change: WorkingSet, pass: Pass): T
}

/** One attempt to fold everything; discarded if anything was missing. */
export class Pass {
  readonly needs: Need[] = []
  /** Reports that this transaction does not answer: a hand-off must not go to their replies. */
  readonly unanswered = new Set<string>()

  /** Continues with the next one if something is missing, so that a batch requests everything it lacks at once. */
  each<T>(things: Iterable<T>, work: (thing: T) => void): void {
    for (const thing of things) {
      try {
        work(thing)
      } catch (error) {
        if (!(error instanceof NeedMore)) throw error
        this.needs.push(error.need)
      }
    }
  }
}

export interface Committed<T> {
  readonly value: T
  readonly change: WorkingSet
  readonly handed: readonly Handed[]
}

export class Transactor {
  readonly #store: Store
  readonly #deps: FoldDeps
  readonly #afterCommit: (committed: Committed<unknown>) => void
  /** The store's clock minus the clock of this process, as of the last transaction. */
  clockOffsetMs = 0

  constructor(store: Store, deps: FoldDeps, afterCommit: (committed: Committed<unknown>) => void) {
    this.#store = store
    this.#deps = deps
    this.#afterCommit = afterCommit
  }

  get nowMs(): number {
    return Date.now() + this.clockOffsetMs
  }

  /** `on`: the caller's own transaction. Its commit is not reported: only the caller knows when it happens. */
  async run<T>(act: Act<T>, on?: Store['transact']): Promise<Committed<T>> {
    const offers = act.offers?.() ?? []
    let known!: Known
    let seen: Loaded | null = null
    const asking = offers.filter((o) => o.waiting === undefined)
    const renewing = offers.filter((o) => o.renew)
    const transact = on ?? this.#store.transact.bind(this.#store)
    const committed = await transact<Committed<T>>({
      roots: act.roots,
      wait: act.wait,
      need: withLooks(act.need, asking, renewing),
      decide: (loaded) => {
        // A store that restarts the transaction loads again what earlier rounds requested.
        if (loaded !== seen) known = new Known(act.need)
        seen = loaded
        const { queues, limits, lockedLimits, now } = loaded
        const admission = new Admission({
          ...{ queues, limits, lockedLimits, now },
          listing: (type) => loaded.listing(type),
          isPaused: (key) => loaded.pauseState({ kind: 'type', key }) === 'paused',
        })
        const change = new WorkingSet(loaded, admission, this.#deps, known.things)
        const pass = new Pass()
        let value: T | undefined
        try {
          value = act.fold(change, pass)
          parkWaiting(change)
        } catch (error) {
          if (!(error instanceof NeedMore)) throw error
          pass.needs.push(error.need)
        }
        pass.needs.push(...change.lacking)
        const rules = unknownRules(change, offers.length > 0, known)
        if (rules !== null) pass.needs.push(rules)
        if (pass.needs.length > 0) return { need: merge(pass.needs) }
        const fresh = offers.map((o) => copyOf(o, pass.unanswered))
        const handed = handOff(
          change,
          fresh,
          offers.map((o) => (o.waiting === undefined ? (loaded.urgency[asking.indexOf(o)] ?? null) : o.waiting)),
        )
        return { delta: deltaOf(change), result: { value: value as T, change, handed } }
      },
    })
    this.clockOffsetMs = committed.change.now - Date.now()
    const { urgency, nextUrgency } = committed.change.loaded
    for (const [i, offer] of asking.entries()) offer.looked(urgency[i] ?? null)
    for (const [i, offer] of renewing.entries()) offer.looked(nextUrgency[i] ?? null)
    if (on === undefined) this.#afterCommit(committed)
    return committed
  }
}

/** A hand-off uses offers up, and decide may be called several times, so each call works on a copy. */
function copyOf(offer: Offer, unanswered: ReadonlySet<string>): Offer {
  const { holder, filter, accepts, reports, room, streak, waiting, renew, looked } = offer
  const answered = reports.filter((id) => !unanswered.has(id))
  return { holder, filter, accepts, reports: answered, room, streak, waiting, renew, looked }
}

/** Requests the most urgent waiting runs for offers that do not know them, or whose knowledge is old. */
function withLooks(need: Need, asking: readonly Offer[], renewing: readonly Offer[]): Need {
  if (asking.length === 0 && renewing.length === 0) return need
  const urgency = asking.map((o) => o.filter)
  const nextUrgency = renewing.map((o) => o.filter)
  return { ...need, ...(urgency.length === 0 ? {} : { urgency }), ...(nextUrgency.length === 0 ? {} : { nextUrgency }) }
}

/** What has been requested, and may not exist. */
class Known {
  readonly queues: Set<string>
  readonly limits: Set<string>
  readonly things = new Set<string>()
  constructor(need: Need) {
    this.queues = new Set(need.queues)
    this.limits = new Set(need.limits)
    for (const queue of this.queues) this.things.add(`queue ${queue}`)
    for (const key of this.limits) this.things.add(`limit ${key}`)
    for (const key of need.heldLimits ?? []) this.things.add(`limit ${key}`)
  }
}

/** Queue settings and limits that the releases and hand-offs of this pass need and that were not requested yet. */
function unknownRules(change: WorkingSet, offering: boolean, { queues, limits }: Known): Need | null {
  const more = { queues: [] as string[], limits: [] as string[] }
  const ask = (run: RunRow): void => {
    if (!queues.has(run.queue)) {
      queues.add(run.queue)
      more.queues.push(run.queue)
    }
    for (const key of limitKeys(run)) {
      if (limits.has(key)) continue
      limits.add(key)
      more.limits.push(key)
    }
  }
  for (const run of change.runs.values()) if (run.status !== 'leased') ask(run)
  if (offering) for (const run of change.newRuns.values()) if (run.status === 'pending') ask(run)
  return more.queues.length + more.limits.length === 0 ? null : more
}

type Parts = { [K in keyof Need]: Need[K] }

/** Combines needs. The same row may be requested twice, which is harmless. */
export function merge(needs: readonly Need[]): Need {
  const merged: Record<string, unknown> = {}
  for (const need of needs) {
    for (const [part, wanted] of Object.entries(need as Parts)) {
      if (!Array.isArray(wanted)) merged[part] = wanted
      else {
        const all = (merged[part] ??= []) as unknown[]
        for (const one of wanted) all.push(one)
      }
    }
  }
  const { results, bulk, ...rest } = merged as Need
  return {
    ...rest,
    ...(results === undefined ? {} : { results: onceEach(results) }),
    ...(bulk === undefined ? {} : { bulk: byOperation(bulk) }),
  }
}

/** Joins of the same branches need the same results. */
function onceEach(results: NonNullable<Need['results']>): NonNullable<Need['results']> {
  return [...new Map(results.map((one) => [`${one.instanceId}/${one.node}`, one])).values()]
}

/** Items of the same operation are locked together, and so in the order of their ids. */
function byOperation(needs: readonly BulkNeed[]): readonly BulkNeed[] {
  const ids = new Map<string, string[]>()
  for (const need of needs) {
    if (need.kind !== 'items') continue
    const known = ids.get(need.operationId)
    if (known === undefined) ids.set(need.operationId, [...need.ids])
    else known.push(...need.ids)
  }
  const others = needs.filter(({ kind }) => kind !== 'items')
  return [...others, ...[...ids].map(([operationId, of]) => ({ kind: 'items', operationId, ids: of }) as const)]
}
