import type { EngineApi } from '../engine/api.ts'
import { missing, PetrelError } from '../kernel/errors.ts'
import type { ScheduleRow } from '../model/rows.ts'
import type { Fired, FireRow, ListedSchedule, Overlap } from '../model/schedules/fires.ts'
import type { Json } from '../net/net.ts'
import { buildWorkflow } from '../notations/ojs/compile/builder.ts'
import type { Step } from './builders.ts'
import { enqueueParams } from './enqueue.ts'

export interface ScheduleOptions {
  /** Cron, such as `0 9 * * mon`, or `@every 30m`. */
  readonly expression: string
  /** IANA name. Default UTC. */
  readonly timezone?: string
  /** What happens if the previous one has not ended. Default skip. */
  readonly overlap?: ScheduleRow['overlap']
  /** Default true. */
  readonly enabled?: boolean
  readonly tenant?: string
}

export interface RunScheduleOptions {
  /** A second run under the same key makes nothing, and answers with the first. */
  readonly idempotencyKey?: string
  /** Instead of the policy of the schedule, if its last work has not ended. */
  readonly overlap?: Exclude<Overlap, 'enqueue'>
  /** Recorded in the history. */
  readonly by?: string
}

/** Loaded when needed: most programs do not look at a timetable. */
const timetables = () => import('../operations/schedules/timetable.ts')

/**
 * Start a job or a workflow by the clock. `list`, `next`, `history` and `run` also know the triggers of deployed
 * definitions (`workflow:NAME`) and the schedules of the inbox, by their id.
 */
export class Schedules {
  readonly #engine: EngineApi
  readonly #checkArgs: (args: Json, path: string | null) => void

  constructor(engine: EngineApi, checkArgs: (args: Json, path: string | null) => void) {
    this.#engine = engine
    this.#checkArgs = checkArgs
  }

  /** Replaces a schedule of the same name. */
  async put(name: string, work: Step<null, unknown>, options: ScheduleOptions): Promise<ScheduleRow> {
    const { tree } = work
    if (tree.kind !== 'job') {
      const { start } = buildWorkflow(tree, { checkArgs: this.#checkArgs })
      return this.#engine.putSchedule({ name, ...options, start })
    }
    const run = enqueueParams({ tree }, {}, '')
    this.#checkArgs(run.payload, null)
    return this.#engine.putSchedule({ name, ...options, run })
  }

  /** By name, then those of the inbox by id. `after`: continues after a schedule of the previous page. */
  async list({
    limit = 1_000,
    after,
  }: {
    readonly limit?: number
    readonly after?: ListedSchedule
  } = {}): Promise<readonly ListedSchedule[]> {
    const { withLast } = await timetables()
    const { timetable } = this.#engine.queries
    const rows = await timetable.page({ tenant: null, withInbox: true, after: after?.ref ?? null, limit })
    return withLast(timetable, rows)
  }

  /** Its next times, by the clock of the store. */
  async next(id: string, { count = 5 }: { readonly count?: number } = {}): Promise<readonly Date[]> {
    const { timesFrom } = await timetables()
    const row = await this.#find(id)
    return timesFrom(row, await this.#engine.queries.now(), count).map(({ at }) => new Date(at))
  }

  /** What it did, newest first. `before`: continues after the last fire of the previous page. */
  async history(
    id: string,
    { limit = 50, before }: { readonly limit?: number; readonly before?: FireRow } = {},
  ): Promise<readonly FireRow[]> {
    const { scheduleKey } = await import('../model/schedules/fires.ts')
    const schedule = scheduleKey((await this.#find(id)).ref)
    return this.#engine.queries.timetable.fires({ schedule, before: before?.id ?? null, limit })
  }

  /** Runs it now. Its next time stays as it is. */
  async run(id: string, { idempotencyKey, overlap, by }: RunScheduleOptions = {}): Promise<Fired> {
    const { ref } = await this.#find(id)
    const request = { requestKey: idempotencyKey ?? null, overlap: overlap ?? null, actor: by ?? null }
    return this.#engine.runSchedule(ref, request)
  }

  async get(name: string): Promise<ScheduleRow> {
    const row = await this.#engine.queries.schedule(name)
    if (row === null) throw new PetrelError('not_found', `there is no schedule '${name}'`)
    return row
  }

  /** It fires at its next time; times that have passed meanwhile are left out. */
  enable(name: string): Promise<ScheduleRow> {
    return this.#engine.setSchedule({ name, enabled: true })
  }

  disable(name: string): Promise<ScheduleRow> {
    return this.#engine.setSchedule({ name, enabled: false })
  }

  /** false: there was none. */
  remove(name: string): Promise<boolean> {
    return this.#engine.removeSchedule(name)
  }

  async #find(id: string): Promise<ListedSchedule> {
    const { scheduleNamed } = await timetables()
    const row = await scheduleNamed(this.#engine.queries.timetable, id, [id])
    if (row === null) throw missing('schedule', id)
    return row
  }
}
