/** Schedules of the engine: created, replaced, enabled, disabled and removed. schedule-fires.ts fires them. */
import { nextAfter } from '../../kernel/cron.ts'
import { PetrelError } from '../../kernel/errors.ts'
import type { EnqueueParams } from '../../model/enqueue.ts'
import type { ScheduleRow } from '../../model/rows.ts'
import type { ScheduleParams } from '../../model/schedules/schedules.ts'
import type { StartParams } from '../../model/start.ts'
import type { Json } from '../../net/net.ts'
import type { Store } from '../../store/store.ts'
import { OF_DEFINITIONS } from '../intake/definition-schedule.ts'
import type { Transactor } from '../transaction/transactor.ts'

export interface ScheduleDeps {
  readonly store: Store
  readonly transactor: Transactor
  readonly dueAt: (at: number) => void
}

export interface Template {
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
    const there = (await this.#deps.store.read.schedule(name)) !== null
    if (!there) return false
    await this.#deps.store.transact({
      roots: [],
      wait: true,
      need: {},
      decide: () => ({ delta: { schedules: { remove: [name] } }, result: null }),
    })
    return true
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
}
