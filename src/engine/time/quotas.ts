/** Starts queued instances where their quota has room: after commits that made room, and with every sweep. */

import { isStoreAway, StoreLockedError } from '../../kernel/store-errors.ts'
import { limitKeys } from '../../model/limits.ts'
import type { Need } from '../../model/transaction.ts'
import type { Store } from '../../store/store.ts'
import { happen } from '../fold/happenings.ts'
import { leaveQueue } from '../fold/instance/idle-start.ts'
import { memberOf } from '../fold/members.ts'
import type { Faults } from '../transaction/faults.ts'
import { Findings } from '../transaction/findings.ts'
import type { Offer } from '../transaction/handoff.ts'
import type { Nets } from '../transaction/nets.ts'
import type { Transactor } from '../transaction/transactor.ts'

/** How many instances one transaction starts. */
const CHUNK = 20
/** Codes of faults: for the queue under a key, and for an instance in it. */
const KEY = 'sweep_queue_of_instances'
const QUEUED = 'sweep_queued_instance'

export interface QuotaDeps {
  readonly store: Store
  readonly transactor: Transactor
  readonly nets: Nets
  readonly offers: () => readonly Offer[]
  readonly faults: Faults
  readonly probe: (point: string) => void
}

interface Look {
  /** More room was reported meanwhile. */
  again: boolean
  ended: Promise<void>
}

type Queued = { readonly id: string; readonly netHash: string }

export class Quotas {
  readonly #deps: QuotaDeps
  /** Keys whose queue is being started. */
  readonly #busy = new Map<string, Look>()
  readonly #looks = new Set<Promise<void>>()

  constructor(deps: QuotaDeps) {
    this.#deps = deps
  }

  /** There may be room under these keys now. The caller does not wait: if this fails, a sweep finds the queue. */
  freed(keys: Iterable<string>): void {
    for (const key of keys) {
      const look = this.#look(key)
        .catch((error: unknown) => {
          this.#deps.faults.note(KEY, key, error)
        })
        .finally(() => this.#looks.delete(look))
      this.#looks.add(look)
    }
  }

  async sweep(): Promise<void> {
    const { store, faults } = this.#deps
    const findings = new Findings(faults, () => false)
    await findings.each(
      KEY,
      (p) => store.sweep.freeQuotas(p),
      (key) => key,
      (key) => this.#look(key),
    )
  }

  /** Resolves when no queue is being started. */
  async idle(): Promise<void> {
    while (this.#looks.size > 0) await Promise.all(this.#looks)
  }

  /** Resolves when a look has ended that saw everything committed before the call. */
  #look(key: string): Promise<void> {
    const current = this.#busy.get(key)
    if (current !== undefined) {
      current.again = true
      return current.ended
    }
    const look: Look = { again: false, ended: Promise.resolve() }
    this.#busy.set(key, look)
    look.ended = this.#serveAgain(key, look)
    return look.ended
  }

  async #serveAgain(key: string, look: Look): Promise<void> {
    try {
      do {
        look.again = false
        await this.#serve(key)
      } while (look.again)
    } finally {
      // In the turn in which `again` was read: a report after it begins a look of its own.
      this.#busy.delete(key)
    }
  }

  /**
   * Until the queue is empty or the limit is reached. An instance that was cancelled meanwhile does not stop the rest.
   */
  async #serve(key: string): Promise<void> {
    const { store, faults, probe } = this.#deps
    probe('before-dequeue')
    // Instances that another transaction holds keep their place, and the others do not wait for them.
    const locked = new Set<string>()
    for (;;) {
      const skip = [...faults.resting(QUEUED), ...locked]
      const next = await store.sweep.nextQueued({ key, limit: CHUNK, skip })
      if (next.length === 0 || !(await this.#begin(key, next, locked))) return
    }
  }

  /** false: there is no room left. */
  async #begin(key: string, next: readonly Queued[], locked: Set<string>): Promise<boolean> {
    const { faults } = this.#deps
    try {
      return await this.#act(key, next, leaveQueue, locked)
    } catch (error) {
      if (isStoreAway(error)) throw error
      if (error instanceof StoreLockedError && next.length === 1) {
        for (const { id } of next) locked.add(id)
        return true
      }
      if (next.length > 1) {
        for (const one of next) if (!(await this.#begin(key, [one], locked))) return false
        return true
      }
      // It fails every time, so it must not block the others permanently.
      const failure = { code: 'unstorable', message: `its first runs cannot be stored: ${(error as Error).message}` }
      const [{ id }] = next as readonly [Queued]
      try {
        const end: typeof leaveQueue = (change, { row }) =>
          happen(change, row.id, { kind: 'engine_error', error: failure })
        return await this.#act(key, next, end, locked)
      } catch (again) {
        if (isStoreAway(again)) throw again
        // Skipped until its rest is over.
        faults.note(QUEUED, id, again)
        return true
      }
    }
  }

  async #act(key: string, next: readonly Queued[], begin: typeof leaveQueue, locked: Set<string>): Promise<boolean> {
    const { transactor, offers } = this.#deps
    const ids = next.map((one) => one.id)
    const { value } = await transactor.run({
      roots: ids,
      wait: false,
      need: { instances: ids, ...(await this.#rules(key, next)) },
      offers,
      // In the order of the queue; each takes its room before the next is considered.
      fold: (change) => {
        for (const id of ids) {
          if (!change.loaded.locked.has(id)) {
            locked.add(id)
            continue
          }
          const member = memberOf(change, id)
          if (member.row.state !== 'queued' || member.row.paused !== null) continue
          if (!change.admission.hasRoom(key)) return false
          begin(change, member)
        }
        return true
      },
    })
    return value
  }

  /**
   * Queues and limits of the first runs are loaded with the quota itself, because locks are taken in order, not one by
   * one.
   */
  async #rules(key: string, next: readonly Queued[]): Promise<Need> {
    const queues = new Set<string>()
    const limits = new Set([key])
    for (const hash of new Set(next.map((one) => one.netHash))) {
      const net = await this.#net(hash)
      for (const entry of net?.net.entry ?? []) {
        const work = net?.byKey.get(entry)?.work
        if (work?.kind !== 'run') continue
        queues.add(work.queue)
        for (const limit of limitKeys(work)) limits.add(limit)
      }
    }
    return { queues: [...queues], limits: [...limits] }
  }

  async #net(hash: string): Promise<ReturnType<Nets['get']>> {
    const { store, nets } = this.#deps
    const known = nets.get(hash)
    if (known !== undefined) return known
    const row = await store.read.net(hash)
    return row === null ? undefined : nets.load(row)
  }
}
