import type { EngineApi } from '../engine/api.ts'
import { PetrelError } from '../kernel/errors.ts'
import type { ScheduleRow } from '../model/rows.ts'
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

/** Start a job or a workflow by the clock. */
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

  /** By name. */
  list(): Promise<readonly ScheduleRow[]> {
    return this.#engine.queries.schedules()
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
}
