/**
 * The sweeper: what time does to the store. Any number of processes sweep; each finding is checked again under its
 * lock, so two that find the same thing do it once. It sleeps until the next thing is due, at most a poll interval.
 */
import type { Store } from '../store/store.ts'
import type { Logger, Retention } from './api.ts'
import type { Change } from './change.ts'
import { PetrelError } from './errors.ts'
import { ripenGate } from './gates.ts'
import type { Offer } from './handoff.ts'
import type { InboxScheduleDesk } from './inbox-schedules.ts'
import { type Chance, leaseExpired, lost, overdue } from './outcomes.ts'
import { finishedOutside } from './outside.ts'
import type { Schedules } from './schedules.ts'
import type { Settler } from './settle.ts'
import type { SlotDesk } from './slot-desk.ts'
import type { Transactor } from './transactor.ts'

const CHUNK = 500
const PRUNE_EVERY_MS = 60_000
/** Something due already (a retry that another process will take, say) must not make us spin. */
const AHEAD_MS = 20
const LOOK_AHEAD_EVERY_MS = 100
const CATCH_UP_MS = 2_000

export interface SweeperDeps {
  readonly store: Store
  readonly transactor: Transactor
  readonly settler: Settler
  readonly schedules: Schedules
  readonly inboxSchedules: InboxScheduleDesk
  readonly slots: SlotDesk
  readonly offers: () => readonly Offer[]
  readonly wake: () => void
  /** These runs have begun: their instances do not know yet. */
  readonly noteStarts: (runIds: readonly string[]) => Promise<void>
  readonly chance: Chance
  readonly logger: Logger
  readonly pollMs: number
  readonly retention: Retention
  readonly probe: (point: string) => void
}

type Key = { readonly id: string; readonly rootId: string | null; readonly instanceId: string | null }

export class Sweeper {
  readonly #deps: SweeperDeps
  #timer: NodeJS.Timeout | null = null
  #nextAt = Number.POSITIVE_INFINITY
  #sweeping: Promise<void> | null = null
  #again = false
  #looking: Promise<void> | null = null
  #lookAgain = false
  #ahead: NodeJS.Timeout | null = null
  /** false: another process does it. */
  #started = false
  #closed = false
  #prunedAt = 0

  constructor(deps: SweeperDeps) {
    this.#deps = deps
  }

  /**
   * What ran out while no process was there has ended before this one gives out work: a step must not begin after the
   * deadline of its workflow. A store that is slow to answer keeps nobody waiting for long.
   */
  async start(): Promise<void> {
    this.#started = true
    const first = this.#tick()
    let timer: NodeJS.Timeout | undefined
    const enough = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, CATCH_UP_MS)
    })
    await Promise.race([first, enough])
    clearTimeout(timer)
  }

  /** Something will be due then (store clock). */
  dueAt(at: number): void {
    if (at < this.#nextAt) this.#sleepUntil(at)
  }

  async close(): Promise<void> {
    this.#closed = true
    if (this.#timer !== null) clearTimeout(this.#timer)
    if (this.#ahead !== null) clearTimeout(this.#ahead)
    await this.#sweeping
    await this.#looking
  }

  /**
   * Foreign clients may have ended runs, or put in what is due soon. What they ended is settled now, not with the next
   * pass; if there is nothing, this is one look at an empty index. Calls that come while it looks make it look once more.
   */
  outside(): void {
    if (!this.#started || this.#closed) return
    this.#lookAgain = true
    this.#looking ??= this.#lookOutside()
  }

  async #lookOutside(): Promise<void> {
    try {
      while (this.#lookAgain && !this.#closed) {
        this.#lookAgain = false
        await this.#outside()
      }
      this.#lookAheadSoon()
    } catch (error) {
      // The next pass finds them.
      this.#deps.logger.warn({}, `settling what ended outside: ${(error as Error).message}`)
    } finally {
      this.#looking = null
    }
  }

  /** When the next thing is due costs more to find out, so it is not asked after every wake. */
  #lookAheadSoon(): void {
    if (this.#ahead !== null || this.#closed) return
    const look = async (): Promise<void> => {
      const due = await this.#nextDueAt()
      if (due !== null) this.dueAt(Math.max(due, this.#deps.transactor.nowMs + AHEAD_MS))
    }
    this.#ahead = setTimeout(() => {
      this.#ahead = null
      // The next pass asks again.
      look().catch(() => undefined)
    }, LOOK_AHEAD_EVERY_MS).unref()
  }

  /** Only what lies ahead is found. What fell due up to this moment is for the workers, who look after it, not before. */
  async #nextDueAt(): Promise<number | null> {
    const due = await this.#deps.store.sweep.nextDueAt()
    this.#deps.wake()
    return due
  }

  #outside(): Promise<void> {
    return this.#runs(
      () => this.#deps.store.sweep.unsettledRuns({ limit: CHUNK }),
      (c, id) => finishedOutside(c, id),
    )
  }

  /** One full pass now; tests and dry runs call it after moving the clock. */
  async sweep(): Promise<void> {
    await this.#swept()
    this.#deps.wake()
  }

  async #swept(): Promise<void> {
    if (this.#sweeping !== null) {
      this.#again = true
      return this.#sweeping
    }
    this.#sweeping = this.#passes().finally(() => {
      this.#sweeping = null
    })
    return this.#sweeping
  }

  async #passes(): Promise<void> {
    do {
      this.#again = false
      await this.#pass()
    } while (this.#again && !this.#closed)
  }

  #sleepUntil(at: number): void {
    if (this.#closed) return
    this.#nextAt = at
    if (this.#timer !== null) clearTimeout(this.#timer)
    const delay = Math.min(Math.max(at - this.#deps.transactor.nowMs, 0), this.#deps.pollMs)
    this.#timer = setTimeout(() => void this.#tick(), delay).unref()
  }

  async #tick(): Promise<void> {
    const { store, logger, transactor, pollMs } = this.#deps
    this.#nextAt = Number.POSITIVE_INFINITY
    let next = transactor.nowMs + pollMs
    try {
      await this.#swept()
      const now = await store.now()
      transactor.clockOffsetMs = now - Date.now()
      const due = await this.#nextDueAt()
      if (due !== null) next = Math.min(next, Math.max(due, now + AHEAD_MS))
    } catch (error) {
      if (!this.#closed) logger.warn({}, `sweep failed, trying again: ${(error as Error).message}`)
    }
    this.#sleepUntil(Math.min(next, this.#nextAt))
  }

  async #pass(): Promise<void> {
    const { store, chance } = this.#deps
    const { sweep } = store
    await this.#runs(
      () => sweep.lostRuns({ limit: CHUNK }),
      (c, id) => lost(c, id, chance),
    )
    await this.#runs(
      () => sweep.expiredLeases({ limit: CHUNK }),
      (c, id) => leaseExpired(c, id, chance),
    )
    await this.#runs(
      () => sweep.overdueRuns({ limit: CHUNK }),
      (c, id) => overdue(c, id, chance),
    )
    await this.#outside()
    const begun = await sweep.begunOutside({ limit: CHUNK })
    if (begun.length > 0) await this.#deps.noteStarts(begun.map((run) => run.id))
    for (const { id, rootId } of await sweep.overdueInstances({ limit: CHUNK })) {
      await this.#onRoot(rootId, id, (change) => {
        const { deadlineAt } = change.member(id).row
        if (deadlineAt !== null && deadlineAt <= change.now) change.happen(id, { kind: 'deadline' })
      })
    }
    for (const { id, rootId } of await sweep.unfinishedCascades({ limit: CHUNK })) {
      await this.#onRoot(rootId, id, (change) => {
        if (change.member(id).row.more) change.happen(id, { kind: 'continue' })
      })
    }
    await this.#gates()
    await this.#deps.slots.sweep()
    for (const schedule of await sweep.dueSchedules({ limit: CHUNK })) await this.#deps.schedules.fire(schedule)
    for (const row of await store.inboxSchedules.due({ limit: CHUNK })) await this.#deps.inboxSchedules.fire(row)
    await this.#prune()
  }

  /** Sweeps one kind of run until none is left, through the same settle as the workers' reports. */
  async #runs(find: () => Promise<readonly Key[]>, fold: (change: Change, runId: string) => void): Promise<void> {
    for (;;) {
      const found = await find()
      if (found.length === 0) return
      this.#deps.probe('in-sweeper')
      await Promise.all(
        found.map((key) => {
          const apply = (change: Change): 'recorded' => {
            fold(change, key.id)
            return 'recorded'
          }
          const { id: runId, rootId, instanceId } = key
          return this.#deps.settler.settle({
            runId,
            rootId,
            instanceId,
            bytes: 400,
            report: null,
            fold: apply,
            unstorable: apply,
          })
        }),
      )
      if (found.length < CHUNK) return
    }
  }

  async #onRoot(rootId: string, id: string, fold: (change: Change) => void): Promise<void> {
    const { transactor, offers } = this.#deps
    await transactor.run({ roots: [rootId], wait: true, need: { instances: [id] }, offers, fold })
  }

  async #gates(): Promise<void> {
    const { store, transactor, offers } = this.#deps
    const limit = CHUNK
    // Decisions first: a gate that is decided escalates no more.
    const ripe = [...(await store.sweep.overdueGates({ limit })), ...(await store.sweep.escalatingGates({ limit }))]
    for (const due of new Map(ripe.map((gate) => [gate.id, gate])).values()) {
      await transactor
        .run({
          roots: [due.rootId],
          wait: true,
          need: { instances: [due.instanceId], gates: [due.id] },
          offers,
          fold: (change) => {
            const gate = change.loaded.gates.get(due.id)
            if (gate !== undefined) ripenGate(change, gate)
          },
        })
        .catch((error: unknown) => {
          if (!(error instanceof PetrelError)) throw error
        })
    }
  }

  async #prune(): Promise<void> {
    const { store, retention, transactor } = this.#deps
    const now = transactor.nowMs
    if (now - this.#prunedAt < PRUNE_EVERY_MS) return
    this.#prunedAt = now
    const never = Number.NEGATIVE_INFINITY
    const endedBefore = retention.endedMs === null ? never : now - retention.endedMs
    const eventsBefore = retention.eventsMs === null ? never : now - retention.eventsMs
    if (endedBefore === never && eventsBefore === never) return
    const limit = 1000
    while (
      !this.#closed &&
      (await store.sweep.prune({
        endedBefore: Math.max(endedBefore, 0),
        eventsBefore: Math.max(eventsBefore, 0),
        limit,
      })) >= limit
    );
  }
}
