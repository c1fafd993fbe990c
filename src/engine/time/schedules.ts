/** Cron: when a schedule fires next, and what firing does. Croner handles time zones and daylight saving. */
import { nextAfter } from '../../kernel/cron.ts'
import { PetrelError } from '../../kernel/errors.ts'
import type { Logger } from '../../kernel/logger.ts'
import { EngineKey } from '../../kernel/scoped-names.ts'
import { StoreConflictError } from '../../kernel/store-errors.ts'
import type { EnqueueParams } from '../../model/enqueue.ts'
import { storeEvent } from '../../model/events/events.ts'
import type { ScheduleRow } from '../../model/rows.ts'
import type { ScheduleParams } from '../../model/schedules.ts'
import type { StartParams } from '../../model/start.ts'
import { TERMINAL } from '../../net/marking.ts'
import type { Json } from '../../net/net.ts'
import type { Store } from '../../store/store.ts'
import type { Control } from '../control/instances.ts'
import type { RunControl } from '../control/runs.ts'
import { OF_DEFINITIONS } from '../intake/definition-schedule.ts'
import type { DefinitionStarts } from '../intake/definitions.ts'
import type { Intake } from '../intake/intake.ts'
import type { Transactor } from '../transaction/transactor.ts'

export interface ScheduleDeps {
  readonly store: Store
  readonly transactor: Transactor
  readonly intake: Intake
  readonly control: Control
  readonly runControl: RunControl
  readonly definitions: DefinitionStarts
  readonly logger: Logger
  readonly dueAt: (at: number) => void
}

interface Template {
  readonly run?: EnqueueParams
  readonly start?: StartParams
  readonly about?: Json
  /** A definition of the schedule's tenant; the version that is the latest when it fires is started. */
  readonly definition?: string
}

export class Schedules {
  readonly #deps: ScheduleDeps

  constructor(deps: ScheduleDeps) {
    this.#deps = deps
  }

  async put(p: ScheduleParams): Promise<ScheduleRow> {
    if ((p.run === undefined) === (p.start === undefined)) {
      throw new PetrelError('invalid_request', `schedule '${p.name}': give either run or start`)
    }
    if (p.name.startsWith(OF_DEFINITIONS)) {
      const message = `schedule '${p.name}': names that begin with ${OF_DEFINITIONS} belong to deployed definitions; deploy one with this trigger`
      throw new PetrelError('invalid_request', message)
    }
    const timezone = p.timezone ?? 'UTC'
    const { value } = await this.#deps.transactor.run({
      roots: [],
      wait: true,
      need: { schedules: [p.name] },
      fold: (change) => {
        const before = change.loaded.schedules.get(p.name)
        if (before !== undefined && before.tenant !== (p.tenant ?? null)) {
          throw new PetrelError('duplicate', `the name '${p.name}' is taken by a schedule of another tenant`, {
            field: 'name',
          })
        }
        const row: ScheduleRow = {
          name: p.name,
          expression: p.expression,
          timezone,
          overlap: p.overlap ?? 'skip',
          enabled: p.enabled ?? true,
          template: JSON.stringify({ run: p.run, start: p.start, about: p.about } as Template),
          nextAt: p.enabled === false ? null : nextAfter(p.name, p.expression, timezone, change.now),
          lastAt: before?.lastAt ?? null,
          lastId: before?.lastId ?? null,
          fireCount: before?.fireCount ?? 0,
          tenant: p.tenant ?? null,
          createdAt: before?.createdAt ?? change.now,
        }
        change.schedules.set(p.name, row)
        return row
      },
    })
    if (value.nextAt !== null) this.#deps.dueAt(value.nextAt)
    return value
  }

  async enable(p: { readonly name: string; readonly enabled: boolean }): Promise<ScheduleRow> {
    const { value } = await this.#deps.transactor.run({
      roots: [],
      wait: true,
      need: { schedules: [p.name] },
      fold: (change) => {
        const before = change.loaded.schedules.get(p.name)
        if (before === undefined) {
          throw new PetrelError('not_found', `there is no schedule '${p.name}'`, { kind: 'schedule', id: p.name })
        }
        if (before.enabled === p.enabled) return before
        const { name, expression, timezone } = before
        const nextAt = p.enabled ? nextAfter(name, expression, timezone, change.now) : null
        const row: ScheduleRow = { ...before, enabled: p.enabled, nextAt }
        change.schedules.set(p.name, row)
        return row
      },
    })
    if (value.nextAt !== null) this.#deps.dueAt(value.nextAt)
    return value
  }

  async remove(name: string): Promise<boolean> {
    const there = (await this.#deps.store.read.schedules()).some((s) => s.name === name)
    if (!there) return false
    await this.#deps.store.transact({
      roots: [],
      wait: true,
      need: {},
      decide: () => ({ delta: { schedules: { remove: [name] } }, result: null }),
    })
    return true
  }

  /** Any number of processes may call this with the same row: the key of a firing allows only one to create it. */
  async fire(schedule: ScheduleRow): Promise<void> {
    if (schedule.nextAt === null) return
    const busy = schedule.overlap === 'allow' ? false : await this.#previousIsLive(schedule)
    // `enqueue`: it stays due until the previous one has ended.
    if (busy && schedule.overlap === 'enqueue') return
    if (busy && schedule.overlap === 'skip') return this.#advance(schedule, null)
    if (busy && schedule.overlap === 'cancel_previous') await this.#cancelPrevious(schedule)
    const id = await this.#create(schedule, schedule.nextAt)
    if (id === null) return this.#advance(schedule, null, 'refused')
    await this.#advance(schedule, id)
  }

  /**
   * After the clock was set back: no next time is later than the expression allows. Times that fired are not repeated.
   */
  async reschedule(now: number): Promise<void> {
    for (const { name, expression, timezone, nextAt } of await this.#deps.store.read.schedules()) {
      const next = nextAt === null ? null : nextAfter(name, expression, timezone, now)
      if (nextAt === null || next === null || nextAt <= next) continue
      await this.#deps.transactor.run({
        roots: [],
        wait: true,
        need: { schedules: [name] },
        fold: (change) => {
          const row = change.loaded.schedules.get(name)
          if (row !== undefined && row.nextAt === nextAt) change.schedules.set(name, { ...row, nextAt: next })
        },
      })
      this.#deps.dueAt(next)
    }
  }

  /** null: its work cannot be started. */
  async #create(schedule: ScheduleRow, at: number): Promise<string | null> {
    const { run, start, definition } = JSON.parse(schedule.template) as Template
    const key = `petrel:cron:${schedule.name}:${at}`
    if (definition !== undefined) return this.#trigger(schedule, definition, key, at)
    const tenant = schedule.tenant === null ? {} : { tenant: schedule.tenant }
    if (run !== undefined) {
      const [made] = await this.#deps.intake.enqueue([{ ...run, ...tenant, idempotencyKey: new EngineKey(key) }])
      return made?.id as string
    }
    const [made] = await this.#deps.intake.start([
      { ...(start as StartParams), ...tenant, startKey: new EngineKey(key) },
    ])
    return made?.id as string
  }

  /** Starts the latest version. One that cannot be started must not prevent other schedules from firing. */
  async #trigger(schedule: ScheduleRow, name: string, key: string, at: number): Promise<string | null> {
    try {
      const started = await this.#deps.definitions.trigger({
        of: { tenant: schedule.tenant, name },
        key,
        input: null,
        trigger: { kind: 'schedule', schedule: schedule.name, at: new Date(at).toISOString() },
        actor: `schedule ${schedule.name}`,
      })
      return started[0]?.id ?? null
    } catch (error) {
      if (!(error instanceof PetrelError) || error.code === 'unavailable') throw error
      this.#deps.logger.warn(
        { schedule: schedule.name },
        `schedule '${schedule.name}' could not fire: ${error.message}`,
      )
      return null
    }
  }

  async #advance(schedule: ScheduleRow, id: string | null, why: 'overlap' | 'refused' = 'overlap'): Promise<void> {
    await this.#deps.transactor
      .run({
        roots: [],
        wait: false,
        need: { schedules: [schedule.name] },
        fold: (change) => {
          const row = change.loaded.schedules.get(schedule.name)
          // Deleted, changed or advanced by another process meanwhile.
          if (row === undefined || row.nextAt !== schedule.nextAt) return
          const nextAt = nextAfter(row.name, row.expression, row.timezone, Math.max(change.now, row.nextAt ?? 0))
          change.schedules.set(row.name, {
            ...row,
            nextAt,
            lastAt: id === null ? row.lastAt : row.nextAt,
            lastId: id ?? row.lastId,
            fireCount: row.fireCount + (id === null ? 0 : 1),
          })
          const about = { actor: null, tenant: row.tenant, at: change.now }
          const fired = { schedule: row.name, at: row.nextAt }
          change.events.push(
            id === null
              ? storeEvent('cron.skipped', { ...fired, id, reason: why }, about)
              : storeEvent('cron.triggered', { ...fired, id }, about),
          )
        },
      })
      .catch((error: unknown) => {
        if (!(error instanceof StoreConflictError)) throw error
      })
  }

  async #previousIsLive(schedule: ScheduleRow): Promise<boolean> {
    if (schedule.lastId === null) return false
    const instance = await this.#deps.store.read.instance(schedule.lastId)
    if (instance !== null) return !TERMINAL.has(instance.state)
    const run = await this.#deps.store.read.run(schedule.lastId)
    return run !== null && (run.status === 'pending' || run.status === 'leased')
  }

  async #cancelPrevious(schedule: ScheduleRow): Promise<void> {
    const id = schedule.lastId as string
    const actor = `schedule ${schedule.name}`
    const instance = await this.#deps.store.read.instance(id)
    const cancel =
      instance === null ? this.#deps.runControl.cancel({ id, actor }) : this.#deps.control.cancelInstance({ id, actor })
    await cancel.catch((error: unknown) => {
      if (!(error instanceof PetrelError && error.code === 'conflict')) throw error
    })
  }
}
