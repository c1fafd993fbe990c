/**
 * Callers that wait for an end, notified by the commits of this process, by wake-ups from other processes, and by a
 * slow poll.
 */

import { PetrelError } from '../../kernel/errors.ts'
import type { RunStatus } from '../../model/rows.ts'
import { type InstanceState, TERMINAL } from '../../net/marking.ts'
import type { Store } from '../../store/store.ts'

type End = InstanceState | RunStatus

interface Waiter {
  readonly kind: 'instance' | 'run'
  readonly resolve: (end: End) => void
  readonly reject: (error: unknown) => void
}

const ENDED_RUN: ReadonlySet<RunStatus> = new Set(['succeeded', 'failed', 'cancelled'])

/** Ends that are permanent. A failed run may be redriven, and a stopped instance resumed, by any process. */
const FOR_GOOD: ReadonlySet<End> = new Set(['completed', 'compensated', 'succeeded'])

/** Remembered beginnings and ends; older ones are looked up. */
const REMEMBERED = 20_000
/** How long results are kept at most. */
const RESULTS_KEPT_MS = 100
/** Looked up per poll, which replaces lost wake-ups. */
const LOOKS_PER_POLL = 200

export class Waiters {
  readonly #store: Store
  /** Work that began in this process and has not ended here: it need not be looked up. */
  readonly #created = new Set<string>()
  readonly #ended = new Map<string, End>()
  /**
   * Results that were recorded by the transaction that ended an instance, because a waiting caller will read them next.
   */
  readonly #results = new Map<string, ReadonlyMap<string, string | null>>()
  readonly #waiting = new Map<string, Set<Waiter>>()
  #checking = false
  #forgetting: NodeJS.Timeout | null = null

  constructor(store: Store) {
    this.#store = store
  }

  async ended(p: {
    readonly id: string
    readonly kind: 'instance' | 'run'
    readonly signal?: AbortSignal
  }): Promise<End> {
    const { id, kind, signal } = p
    signal?.throwIfAborted()
    const known = this.#ended.get(id)
    if (known !== undefined) return known
    return await new Promise<End>((resolve, reject) => {
      const waiter: Waiter = { kind, resolve, reject }
      const all = this.#waiting.get(id) ?? new Set()
      all.add(waiter)
      this.#waiting.set(id, all)
      signal?.addEventListener(
        'abort',
        () => {
          all.delete(waiter)
          reject(signal.reason)
        },
        { once: true },
      )
      // If it began in another process, it may have ended before this call.
      if (!this.#created.has(id)) this.#check(id).catch(reject)
    })
  }

  created(id: string): void {
    if (this.#created.size >= REMEMBERED) this.#created.clear()
    this.#created.add(id)
  }

  /** Announces an end that this process committed. */
  announce(id: string, end: End, results?: ReadonlyMap<string, string | null>): void {
    if (results !== undefined && this.#waiting.has(id)) {
      this.#results.set(id, results)
      this.#forgetting ??= setTimeout(() => this.#forgetResults(), RESULTS_KEPT_MS).unref()
    }
    if (this.#created.delete(id) && FOR_GOOD.has(end)) {
      if (this.#ended.size >= REMEMBERED) this.#ended.clear()
      this.#ended.set(id, end)
    }
    const all = this.#waiting.get(id)
    if (all === undefined) return
    this.#waiting.delete(id)
    for (const waiter of all) waiter.resolve(end)
  }

  /** Forgets all of them; later they are read from the store. */
  #forgetResults(): void {
    this.#forgetting = null
    this.#results.clear()
  }

  /** Results of these nodes, if all of them were recorded with an end a moment ago. */
  recentResults(id: string, nodes: readonly string[]): ReadonlyMap<string, string | null> | null {
    const recent = this.#results.get(id)
    return recent !== undefined && nodes.every((node) => recent.has(node)) ? recent : null
  }

  /**
   * Looks up work that may have ended in another process. It is no longer remembered as running, since no other wake-up
   * will follow.
   */
  async look(ids: readonly string[]): Promise<void> {
    for (const id of ids) this.#created.delete(id)
    for (const id of ids) if (this.#waiting.has(id)) await this.#check(id)
  }

  /** Looks up everything, because any of it may have ended in another process. */
  async lookAnew(): Promise<void> {
    this.#created.clear()
    await this.lookAll()
  }

  async lookAll(): Promise<void> {
    if (this.#checking) return
    this.#checking = true
    try {
      // The longest waiting come first; an entry that was looked up moves to the end.
      const ids = [...this.#waiting.keys()].slice(0, LOOKS_PER_POLL)
      for (const id of ids) {
        await this.#check(id)
        const all = this.#waiting.get(id)
        if (all === undefined) continue
        this.#waiting.delete(id)
        this.#waiting.set(id, all)
      }
    } finally {
      this.#checking = false
    }
  }

  close(): void {
    const gone = new PetrelError('unavailable', 'the engine was closed while waiting')
    for (const all of this.#waiting.values()) for (const waiter of all) waiter.reject(gone)
    this.#waiting.clear()
  }

  async #check(id: string): Promise<void> {
    const [first] = this.#waiting.get(id) ?? []
    if (first === undefined) return
    if (first.kind === 'instance') {
      const row = await this.#store.read.instance(id)
      if (row === null) this.#refuse(id, `there is no instance ${id}`)
      else if (TERMINAL.has(row.state)) this.announce(id, row.state)
    } else {
      const row = await this.#store.read.run(id)
      if (row === null) this.#refuse(id, `there is no run ${id}`)
      else if (ENDED_RUN.has(row.status)) this.announce(id, row.status)
      else if (row.deletedAt !== null && row.status === 'pending') this.#refuse(id, `run ${id} was deleted`)
    }
  }

  /** Refuses a wait for work that does not exist. */
  #refuse(id: string, why: string): void {
    const all = this.#waiting.get(id) ?? []
    this.#waiting.delete(id)
    for (const waiter of all) waiter.reject(new PetrelError('not_found', why))
  }
}
