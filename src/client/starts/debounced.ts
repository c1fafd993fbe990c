import type { EngineApi } from '../../engine/api.ts'
import { PetrelError } from '../../kernel/errors.ts'
import { type DebounceParams, type DebounceRow, debounceKeyGiven } from '../../model/schedules/debounce.ts'
import type { Json } from '../../net/net.ts'
import { type Job, job } from '../builders.ts'
import { type EnqueueOptions, enqueueParams } from '../enqueue.ts'
import type { AnyTask } from '../task.ts'
import type { DeployedOptions } from './options.ts'

export interface Debounce {
  /** Unique within the tenant and the workflow, or the type of run. */
  readonly key: string
  /** It starts when no other start has followed for this long. */
  readonly delayMs: number
  /** It starts this long after the first one at the latest. */
  readonly maxMs?: number
}

/** A start that waits. */
export interface DebouncedStart extends Omit<DebounceRow, 'start' | 'firstAt' | 'dueAt'> {
  /** As it was given. */
  readonly key: string
  /** The first start of the series. */
  readonly firstAt: Date
  readonly dueAt: Date
}

export type DebouncedDefinitionOptions = Omit<DeployedOptions, 'id' | 'idempotencyKey'>
export type DebouncedRunOptions = Omit<EnqueueOptions, 'id' | 'idempotencyKey' | 'runAt' | 'tx'>

/**
 * Of starts that follow one another under a key, the last one starts, when none has followed for a while. `id` of the answer is
 * that of the instance or run to come; it is the same throughout a series.
 */
export class Debounced {
  readonly #engine: EngineApi
  readonly #checkArgs: (args: Json, path: string | null) => void

  constructor(engine: EngineApi, checkArgs: (args: Json, path: string | null) => void) {
    this.#engine = engine
    this.#checkArgs = checkArgs
  }

  /** A deployed definition, of any notation. */
  async start(debounce: Debounce, name: string, options: DebouncedDefinitionOptions = {}): Promise<DebouncedStart> {
    const { version = null, input = null, tenant = null, initiator: actor = null, meta, tags, fairKey } = options
    this.#checkArgs(input, 'the input')
    const more = {
      ...(meta === undefined ? {} : { meta }),
      ...(tags === undefined ? {} : { tags }),
      ...(fairKey === undefined ? {} : { fairKey }),
    }
    const asked = { name, version, input, tenant, actor, ...more }
    return shown(await this.#engine.debounceStart(asked, given(debounce)))
  }

  /** A run: of a task, of a type, or of a `job(…)`. */
  enqueue(debounce: Debounce, job: Job<null>, options?: DebouncedRunOptions): Promise<DebouncedStart>
  enqueue(
    debounce: Debounce,
    task: AnyTask | string,
    args?: unknown,
    options?: DebouncedRunOptions,
  ): Promise<DebouncedStart>
  async enqueue(
    debounce: Debounce,
    what: AnyTask | Job<null> | string,
    second?: unknown,
    third?: DebouncedRunOptions,
  ): Promise<DebouncedStart> {
    const isJob = typeof what === 'object' && 'tree' in what
    const made = isJob ? what : job(typeof what === 'string' ? what : what.type, second)
    const options = (isJob ? (second as DebouncedRunOptions | undefined) : third) ?? {}
    const run = enqueueParams(made, options, '')
    this.#checkArgs(run.payload, null)
    return shown(await this.#engine.debounceRun(run, given(debounce)))
  }

  /** Those that wait, the newest series first. `before`: continues after the last one of the previous page. */
  async list({
    limit = 50,
    before,
    tenant = null,
  }: {
    readonly limit?: number
    readonly before?: DebouncedStart
    /** Default: those of all. */
    readonly tenant?: string | null
  } = {}): Promise<readonly DebouncedStart[]> {
    const rows = await this.#engine.queries.debounces.list({ tenant, limit, before: before?.id ?? null })
    return rows.map(shown)
  }

  /** Starts it before it is due. */
  async startNow(id: string): Promise<DebouncedStart> {
    return shown(await this.#engine.startDebounced(id))
  }

  /** Nothing is started. */
  async cancel(id: string): Promise<DebouncedStart> {
    return shown(await this.#engine.cancelDebounced(id))
  }
}

function given({ key, delayMs, maxMs }: Debounce): DebounceParams {
  if (key === '') throw new PetrelError('invalid_request', 'debounce.key: a text of at least one character')
  for (const [name, ms] of Object.entries({ delayMs, maxMs })) {
    if (ms === undefined || ms > 0) continue
    throw new PetrelError('invalid_request', `debounce.${name}: a number of milliseconds, more than 0, not ${ms}`)
  }
  return { key, delayMs, maxMs: maxMs ?? null }
}

function shown(row: DebounceRow): DebouncedStart {
  const { start: _, firstAt, dueAt, ...rest } = row
  return { ...rest, key: debounceKeyGiven(row), firstAt: new Date(firstAt), dueAt: new Date(dueAt) }
}
