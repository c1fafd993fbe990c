/**
 * What a schedule of the engine does when it is due, and when it is run on request.
 *
 * One transaction locks the schedule, creates its work, advances it and records the fire, so that a process that dies leaves
 * all of this or nothing. Any number of processes may fire the same row: the transaction admits it only while the schedule is
 * due at the same time and its last work is the one that was looked at. A run on request does not change when the schedule is
 * due; its work becomes the last one, so that the overlap policy covers it.
 */
import { nextAfter } from '../../kernel/cron.ts'
import { missing, PetrelError } from '../../kernel/errors.ts'
import { MAX_REASON_CHARACTERS } from '../../kernel/limits.ts'
import type { Logger } from '../../kernel/logger.ts'
import { EngineKey } from '../../kernel/scoped-names.ts'
import { StoreConflictError } from '../../kernel/store-errors.ts'
import type { EnqueueParams } from '../../model/enqueue.ts'
import { storeEvent } from '../../model/events/events.ts'
import type { ScheduleRow } from '../../model/rows.ts'
import { type Fired, type FireRow, type RunRequest, scheduleKey } from '../../model/schedules/fires.ts'
import type { StartParams } from '../../model/start.ts'
import type { Store } from '../../store/store.ts'
import type { WorkingSet } from '../fold/working-set.ts'
import type { DefinitionStarts } from '../intake/definitions.ts'
import type { Intake } from '../intake/intake.ts'
import type { Made, SameTransaction } from '../intake/same-transaction.ts'
import type { Transactor } from '../transaction/transactor.ts'
import { blankFire, firedBefore, runKey } from './fire-entries.ts'
import type { PreviousWork } from './previous-work.ts'
import type { Template } from './schedules.ts'

export interface ScheduleFireDeps {
  readonly store: Store
  readonly transactor: Transactor
  readonly intake: Intake
  readonly definitions: DefinitionStarts
  readonly previous: PreviousWork
  readonly newId: () => string
  readonly logger: Logger
}

interface Firing {
  readonly schedule: ScheduleRow
  /** Its work is created once under this key. */
  readonly key: string
  readonly at: number
  /** Who requested it; null: the clock. */
  readonly actor: string | null
}

/** How often a request starts again because another process has fired the schedule meanwhile. */
const TRIES = 5

export class ScheduleFires {
  readonly #deps: ScheduleFireDeps

  constructor(deps: ScheduleFireDeps) {
    this.#deps = deps
  }

  async fire(schedule: ScheduleRow): Promise<void> {
    const { name, nextAt, overlap, lastId } = schedule
    if (nextAt === null) return
    const { previous } = this.#deps
    const busy = overlap !== 'allow' && (await previous.isLive(lastId))
    // `enqueue`: it stays due until the previous one has ended.
    if (busy && overlap === 'enqueue') return
    if (busy && overlap === 'skip') return this.#skip(schedule, nextAt, { skipped: 'overlap', reason: null })
    if (busy) await previous.cancel(lastId as string, `schedule ${name}`)
    const firing = { schedule, key: `petrel:cron:${name}:${nextAt}`, at: nextAt, actor: null }
    try {
      await this.#create(firing, this.#whenDue(schedule, nextAt))
    } catch (error) {
      // A definition that cannot be started does not prevent other schedules from firing.
      const { definition } = JSON.parse(schedule.template) as Template
      if (definition === undefined || !(error instanceof PetrelError) || error.code === 'unavailable') throw error
      this.#deps.logger.warn({ schedule: name }, `schedule '${name}' could not fire: ${error.message}`)
      await this.#skip(schedule, nextAt, { skipped: 'refused', reason: error.message.slice(0, MAX_REASON_CHARACTERS) })
    }
  }

  async run({ name, requestKey, overlap, actor }: RunRequest & { readonly name: string }): Promise<Fired> {
    const { store, previous } = this.#deps
    for (let tries = 0; tries < TRIES; tries++) {
      const schedule = await store.read.schedule(name)
      if (schedule === null) throw missing('schedule', name)
      const before = await firedBefore(store, scheduleKey({ table: 'cron', name }), requestKey)
      if (before !== null) return before
      const policy = overlap ?? schedule.overlap
      if (policy !== 'allow' && (await previous.isLive(schedule.lastId))) {
        if (policy !== 'cancel_previous') throw stillLive(schedule)
        await previous.cancel(schedule.lastId as string, actor ?? `schedule ${name}`)
      }
      const fired = await this.#request(schedule, { requestKey, overlap, actor })
      if (fired !== null) return fired
    }
    throw new PetrelError('unavailable', `schedule '${name}' is fired again and again by others; try again`)
  }

  /** null: the schedule has fired or was removed since it was read. */
  async #request(schedule: ScheduleRow, { requestKey, overlap, actor }: RunRequest): Promise<Fired | null> {
    const id = this.#deps.newId()
    const { name } = schedule
    const policy = overlap ?? schedule.overlap
    const ref = scheduleKey({ table: 'cron', name })
    let fire: FireRow | null = null
    const same: SameTransaction = {
      need: { schedules: [name] },
      admits: ({ loaded }) => {
        const row = loaded.schedules.get(name)
        return row !== undefined && (policy === 'allow' || row.lastId === schedule.lastId)
      },
      write: (change, made) => {
        const [first] = made
        const row = change.loaded.schedules.get(name)
        fire = null
        if (row === undefined || first === undefined || !made.some(({ created }) => created)) return
        change.schedules.set(name, { ...row, lastAt: change.now, lastId: first.id, fireCount: row.fireCount + 1 })
        const event = { schedule: name, at: null, id: first.id }
        change.events.push(storeEvent('cron.triggered', event, { actor, tenant: row.tenant, at: change.now }))
        fire = { ...entryOf(row, change, id), ...madeBy(row, made), actor, requestKey }
        change.fires.push(fire)
      },
    }
    const key = runKey(ref, requestKey ?? id)
    const [first] = await this.#create({ schedule, key, at: this.#deps.transactor.nowMs, actor }, same)
    if (first === undefined) return null
    return { created: fire !== null, made: madeOf(schedule), id: first.id, fire }
  }

  /** Nothing if `same` does not admit it. */
  async #create({ schedule, key, at, actor }: Firing, same: SameTransaction): Promise<readonly Made[]> {
    const { intake, definitions } = this.#deps
    const { run, start, definition } = JSON.parse(schedule.template) as Template
    if (definition !== undefined) {
      const trigger = { kind: 'schedule', schedule: schedule.name, at: new Date(at).toISOString() }
      const about = {
        of: { tenant: schedule.tenant, name: definition },
        key,
        input: null,
        trigger: actor === null ? trigger : { ...trigger, by: actor },
        actor: actor ?? `schedule ${schedule.name}`,
      }
      return definitions.trigger(about, same)
    }
    const tenant = schedule.tenant === null ? {} : { tenant: schedule.tenant }
    const once = new EngineKey(key)
    if (run !== undefined) {
      const by: Partial<EnqueueParams> = actor === null ? {} : { actor }
      const made = await intake.enqueueWith({ ...run, ...tenant, ...by, idempotencyKey: once }, same)
      return made === null ? [] : [made]
    }
    const by: Partial<StartParams> = actor === null ? {} : { initiator: actor }
    const made = await intake.startWith({ ...(start as StartParams), ...tenant, ...by, startKey: once }, same)
    return made === null ? [] : [made]
  }

  #whenDue(schedule: ScheduleRow, nextAt: number): SameTransaction {
    const id = this.#deps.newId()
    const { name, lastId } = schedule
    return {
      need: { schedules: [name] },
      // Deleted, changed, advanced by another process, or run on request meanwhile.
      admits: ({ loaded }) => isStill(loaded.schedules.get(name), nextAt, lastId),
      write: (change, made) => {
        const row = change.loaded.schedules.get(name) as ScheduleRow
        const [first] = made
        const lastNow = first?.id ?? row.lastId
        this.#advance(change, { ...row, lastAt: nextAt, lastId: lastNow, fireCount: row.fireCount + 1 }, nextAt)
        const event = { schedule: name, at: nextAt, id: first?.id ?? null }
        change.events.push(storeEvent('cron.triggered', event, { actor: null, tenant: row.tenant, at: change.now }))
        change.fires.push({ ...entryOf(row, change, id), plannedAt: nextAt, ...madeBy(row, made) })
      },
    }
  }

  async #skip(
    { name, lastId }: ScheduleRow,
    nextAt: number,
    why: { readonly skipped: 'overlap' | 'refused'; readonly reason: string | null },
  ): Promise<void> {
    const id = this.#deps.newId()
    const fold = (change: WorkingSet): void => {
      const row = change.loaded.schedules.get(name)
      if (row === undefined || !isStill(row, nextAt, lastId)) return
      this.#advance(change, row, nextAt)
      const event = { schedule: name, at: nextAt, id: null, reason: why.skipped }
      change.events.push(storeEvent('cron.skipped', event, { actor: null, tenant: row.tenant, at: change.now }))
      change.fires.push({ ...entryOf(row, change, id), plannedAt: nextAt, ...why })
    }
    const act = { roots: [], wait: false, need: { schedules: [name] }, fold }
    await this.#deps.transactor.run(act).catch((error: unknown) => {
      if (!(error instanceof StoreConflictError)) throw error
    })
  }

  #advance(change: WorkingSet, row: ScheduleRow, dueAt: number): void {
    const nextAt = nextAfter(row.name, row.expression, row.timezone, Math.max(change.now, dueAt))
    change.schedules.set(row.name, { ...row, nextAt })
  }
}

function entryOf({ name }: ScheduleRow, { now }: WorkingSet, id: string): FireRow {
  return blankFire(scheduleKey({ table: 'cron', name }), id, now)
}

function madeBy(row: ScheduleRow, made: readonly Made[]): Pick<FireRow, 'made' | 'madeId' | 'madeCount'> {
  const [first] = made
  return { made: first === undefined ? null : madeOf(row), madeId: first?.id ?? null, madeCount: made.length }
}

function madeOf({ template }: ScheduleRow): 'run' | 'instance' {
  return (JSON.parse(template) as Template).run === undefined ? 'instance' : 'run'
}

function isStill(row: ScheduleRow | undefined, nextAt: number, lastId: string | null): boolean {
  return row !== undefined && row.nextAt === nextAt && row.lastId === lastId
}

function stillLive({ name, overlap, lastId }: ScheduleRow): PetrelError {
  const message = `what schedule '${name}' made last has not ended, and its overlap policy is '${overlap}'`
  const hint = 'Wait for it, or ask for overlap: allow to run both, or cancel_previous to cancel it.'
  return new PetrelError('conflict', message, { schedule: name, live: lastId, hint })
}
