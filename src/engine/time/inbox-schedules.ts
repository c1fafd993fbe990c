/**
 * Schedules in the table that foreign clients use. Firing takes two commits: the run is inserted, together with the entry in
 * the history, under a key made of the schedule and its due time, then the schedule advances. If the process dies in between, the schedule is still due, and the
 * key prevents a second run, whether it is inserted by this engine, by another one or by a foreign ticker, which makes the
 * same key. All times that passed while no process was running are one firing.
 */

import { Cron } from 'croner'
import { nextAfter } from '../../kernel/cron.ts'
import { inputError, PetrelError } from '../../kernel/errors.ts'
import { storableText } from '../../kernel/json-limits.ts'
import { MAX_INBOX_ATTEMPTS, MAX_TYPE_LENGTH } from '../../kernel/limits.ts'
import type { Logger } from '../../kernel/logger.ts'
import { EngineKey } from '../../kernel/scoped-names.ts'
import { StoreConflictError, StoreDataError } from '../../kernel/store-errors.ts'
import { VERSIONED } from '../../model/inbox.ts'
import { type Fired, type FireRow, type RunRequest, scheduleKey } from '../../model/schedules/fires.ts'
import type { InboxScheduleParams, InboxScheduleRow, InboxScheduling } from '../../model/schedules/schedules.ts'
import type { Json } from '../../net/net.ts'
import type { Store } from '../../store/store.ts'
import { addRun } from '../fold/run/changed-runs.ts'
import { newRun } from '../fold/run/runs.ts'
import type { Intake } from '../intake/intake.ts'
import type { SameTransaction } from '../intake/same-transaction.ts'
import type { Offer } from '../transaction/handoff.ts'
import type { Transactor } from '../transaction/transactor.ts'
import { blankFire, firedBefore, runKey } from './fire-entries.ts'

export interface InboxScheduleDeps {
  readonly store: Store
  readonly transactor: Transactor
  readonly intake: Intake
  readonly newId: () => string
  readonly maxPayloadBytes: number
  readonly offers: () => readonly Offer[]
  readonly dueAt: (at: number) => void
  readonly logger: Logger
  readonly probe: (point: string) => void
}

type Rules = Pick<InboxScheduleRow, 'type' | 'schedule' | 'timezone' | 'priority' | 'maxAttempts'>

const INT32 = 2 ** 31

export class InboxScheduler implements InboxScheduling {
  readonly #deps: InboxScheduleDeps

  constructor(deps: InboxScheduleDeps) {
    this.#deps = deps
  }

  async add(params: InboxScheduleParams): Promise<InboxScheduleRow> {
    const { type, payload = {}, schedule, timezone = 'UTC', priority = 100, maxAttempts = 3 } = params
    const rules = { type, schedule, timezone, priority, maxAttempts }
    const nextRunAt = this.#nextOf(rules, await this.#deps.store.now())
    const text = storableText(payload, 'payload', this.#deps.maxPayloadBytes, { path: 'payload' })
    const id = this.#deps.newId()
    const row = await this.#deps.store.inboxSchedules.add({ id, ...rules, payload: text, nextRunAt })
    this.#deps.dueAt(nextRunAt)
    return row
  }

  list(): Promise<readonly InboxScheduleRow[]> {
    return this.#deps.store.inboxSchedules.list()
  }

  get(id: string): Promise<InboxScheduleRow | null> {
    return this.#deps.store.inboxSchedules.get(id)
  }

  async pause(id: string): Promise<InboxScheduleRow> {
    return (await this.#deps.store.inboxSchedules.disable({ id, reason: null })) ?? missing(id)
  }

  async resume(id: string): Promise<InboxScheduleRow> {
    const { store, dueAt } = this.#deps
    const before = (await store.inboxSchedules.get(id)) ?? missing(id)
    if (before.enabled) return before
    const nextRunAt = this.#nextOf(before, await store.now())
    dueAt(nextRunAt)
    return (await store.inboxSchedules.enable({ id, nextRunAt })) ?? missing(id)
  }

  remove(id: string): Promise<boolean> {
    return this.#deps.store.inboxSchedules.remove(id)
  }

  /** Its next time stays as it is. */
  async run(id: string, { requestKey, overlap, actor }: RunRequest): Promise<Fired> {
    const { store, intake, newId } = this.#deps
    const row = (await store.inboxSchedules.get(id)) ?? missing(id)
    if (overlap !== null && overlap !== 'allow') {
      throw inputError(
        'invalid_request',
        'overlap',
        'must be allow, since fires of a schedule of the inbox may overlap',
      )
    }
    const before = await firedBefore(store, keyOf(row), requestKey)
    if (before !== null) return before
    const broken = brokenRule(row)
    if (broken !== null) throw refused(broken)
    const fireId = newId()
    let fire: FireRow | null = null
    const same: SameTransaction = {
      need: {},
      admits: () => true,
      write: (change, [made]) => {
        fire = null
        if (made === undefined || !made.created) return
        fire = { ...blankFire(keyOf(row), fireId, change.now), ...madeBy(made.id), actor, requestKey }
        change.fires.push(fire)
      },
    }
    const { type, priority, maxAttempts } = row
    const payload = JSON.parse(row.payload) as Json
    const idempotencyKey = new EngineKey(runKey(keyOf(row), requestKey ?? fireId))
    const by = actor === null ? {} : { actor }
    const order = { type, payload, priority, maxAttempts, inbox: true, idempotencyKey, ...by }
    const made = await intake.enqueueWith(order, same)
    if (made === null) throw missing(id)
    return { created: fire !== null, made: 'run', id: made.id, fire }
  }

  /** Any number of processes may call this with the same row. */
  async fire(row: InboxScheduleRow): Promise<void> {
    const { store, dueAt, probe } = this.#deps
    const broken = row.nextRunAt < 0 ? BEFORE_1970 : brokenRule(row)
    if (broken !== null) return this.#disable(row, `${broken.field}: ${broken.rule}`)
    try {
      const now = await this.#putIn(row)
      probe('schedule-fired')
      const nextRunAt = nextOf(row, Math.max(now, row.nextRunAt))
      if (nextRunAt === null) return await this.#disable(row, 'schedule: names no later time')
      await store.inboxSchedules.advance({ id: row.id, from: row.nextRunAt, nextRunAt })
      dueAt(nextRunAt)
    } catch (error) {
      // The fault is in the row, so every sweep would find it again.
      if (!(error instanceof StoreDataError)) throw error
      await this.#disable(row, error.message)
    }
  }

  /**
   * After the clock was set back: schedules that fired or advanced beyond the clock are due by their expression. A
   * chosen first time stays.
   */
  async reschedule(now: number): Promise<void> {
    const { store, dueAt } = this.#deps
    for (const row of await store.inboxSchedules.list()) {
      if (!row.enabled || brokenRule(row) !== null) continue
      const counted = row.updatedAt > now && row.nextRunAt === nextOf(row, row.updatedAt)
      if (!counted && (row.lastRunAt === null || row.lastRunAt <= now)) continue
      const nextRunAt = nextOf(row, now)
      if (nextRunAt === null || row.nextRunAt <= nextRunAt) continue
      await store.inboxSchedules.enable({ id: row.id, nextRunAt })
      dueAt(nextRunAt)
    }
  }

  /** The time at which the run existed. */
  async #putIn(row: InboxScheduleRow): Promise<number> {
    const { transactor, newId, offers } = this.#deps
    // The same key as that of other tickers on this table, so that each firing is inserted only once.
    const shared = `schedule:${row.id}:${Math.floor(row.nextRunAt / 1000)}`
    const own = `petrel:${shared}`
    const { type, payload, priority, maxAttempts } = row
    const [id, fireId] = [newId(), newId()]
    try {
      const { change } = await transactor.run({
        roots: [],
        wait: false,
        need: { idempotencyKeys: [shared, own] },
        offers,
        fold: (change) => {
          const { idempotencyKeys, keptKeys, now } = change.loaded
          const holder = idempotencyKeys.get(shared)
          if (holder?.type === type || keptKeys?.has(shared)) return
          if (idempotencyKeys.has(own) || keptKeys?.has(own)) return
          // A run of another type under this key is not this firing.
          const idempotencyKey = holder === undefined ? shared : own
          const about = { priority, maxAttempts, idempotencyKey, inbox: true }
          addRun(change, newRun({ id, type, payload, now }, about))
          change.fires.push({ ...blankFire(keyOf(row), fireId, now), plannedAt: row.nextRunAt, ...madeBy(id) })
        },
      })
      return change.now
    } catch (error) {
      // Another process inserted it between our read and our write.
      if (error instanceof StoreConflictError) return transactor.nowMs
      throw error
    }
  }

  async #disable(row: InboxScheduleRow, reason: string): Promise<void> {
    const disabled = await this.#deps.store.inboxSchedules.disable({ id: row.id, reason })
    if (disabled === null) return
    this.#deps.logger.warn({ schedule: row.id }, `schedule ${row.id} of ${row.type} is disabled: ${reason}`)
  }

  #nextOf(rules: Rules, now: number): number {
    const broken = brokenRule(rules)
    if (broken !== null) throw refused(broken)
    const next = nextOf(rules, now)
    if (next === null) throw refused({ field: 'schedule', rule: `'${rules.schedule}' names no time to come` })
    return next
  }
}

function keyOf({ id }: InboxScheduleRow): string {
  return scheduleKey({ table: 'inbox', id })
}

function madeBy(id: string): Pick<FireRow, 'made' | 'madeId' | 'madeCount'> {
  return { made: 'run', madeId: id, madeCount: 1 }
}

interface Broken {
  readonly field: string
  readonly rule: string
}

/** '-infinity' or a date BC, written by plain SQL before the triggers refused such times. No key can be made of one. */
const BEFORE_1970: Broken = { field: 'next_run_at', rule: 'must be a time from 1970 to 9999' }

/**
 * Checks the rules of a schedule that was created by this API or by plain SQL; the store can check only some of them.
 */
function brokenRule({ type, schedule, timezone, priority, maxAttempts }: Rules): Broken | null {
  if (!VERSIONED.test(type) || type.length > MAX_TYPE_LENGTH) {
    return { field: 'type', rule: `must be dotted and end in a version such as .v1, not "${type.slice(0, 300)}"` }
  }
  if (!Number.isInteger(priority) || priority < -INT32 || priority >= INT32) {
    return { field: 'priority', rule: 'must be a whole number of 32 bits, smaller runs earlier' }
  }
  if (!Number.isInteger(maxAttempts) || maxAttempts < 1 || maxAttempts > MAX_INBOX_ATTEMPTS) {
    return { field: 'maxAttempts', rule: `must be a whole number from 1 to ${MAX_INBOX_ATTEMPTS}` }
  }
  if (!isZone(timezone)) return { field: 'timezone', rule: `must be the name of a time zone, not "${timezone}"` }
  if (schedule.trim().split(/\s+/).length !== 5) {
    return { field: 'schedule', rule: `must have the five fields of cron, as in '0 9 * * mon', not '${schedule}'` }
  }
  try {
    new Cron(schedule.trim(), { timezone, paused: true })
    return null
  } catch (error) {
    return { field: 'schedule', rule: `'${schedule}' is not a cron expression: ${(error as Error).message}` }
  }
}

function nextOf({ schedule, timezone }: Pick<Rules, 'schedule' | 'timezone'>, after: number): number | null {
  return nextAfter(schedule, schedule.trim(), timezone, after)
}

function isZone(timezone: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: timezone })
    return timezone !== ''
  } catch {
    return false
  }
}

function refused({ field, rule }: Broken): PetrelError {
  return inputError('invalid_request', field, rule)
}

function missing(id: string): never {
  throw new PetrelError('not_found', `there is no schedule '${id}'`, { kind: 'schedule', id })
}
