/**
 * Handles of enqueued runs and started workflows: the id, and all operations on it. They hold no state of their own.
 */

import type { EngineApi } from '../engine/api.ts'
import { PetrelError } from '../kernel/errors.ts'
import type { PausedTimeouts } from '../model/pauses/pauses.ts'
import type { Preview, RepeatAsked } from '../model/queries/repeats.ts'
import type { GateRow, InstanceRow, RunRow, RunStatus, StoredEvent } from '../model/rows.ts'
import type { Failure, InstanceState } from '../net/marking.ts'
import type { Json } from '../net/net.ts'
import type { Execution } from '../notations/playbook/project/execution.ts'
import type { Marking, MarkingAsked } from '../views/pictures/marking.ts'
import type { Timeline, TimelineAsked } from '../views/pictures/timeline.ts'
import type { InstanceView, ViewPage } from '../views/view.ts'
import type { Why } from '../views/why.ts'
import { readResults, type Shape } from '../worker/shape.ts'
import { WorkflowFailed } from './errors.ts'
import { type LogAsked, type LogLines, readLog } from './logs.ts'

export interface WaitOptions {
  /** Ends the waiting, not the work. */
  readonly signal?: AbortSignal
}

/** A retry or a fork. */
export interface Repeat extends Omit<RepeatAsked, 'id' | 'fork'> {
  readonly startKey?: string
  readonly actor?: string | null
}

/** Which steps a preview shows. `fork`: that of a fork. */
export interface RepeatPage {
  readonly fork?: boolean
  readonly after?: string | null
  readonly limit?: number
}

export interface PauseOptions {
  /** Shown to everyone who asks why it waits. */
  readonly reason?: string
  /** `stop`, the default: deadlines and delays stand still. `run`: they run on. */
  readonly timeouts?: PausedTimeouts
  readonly actor?: string
}

/** A bare run, outside any workflow. */
export class RunHandle<Result = unknown> {
  readonly id: string
  /** false: the key was taken, and this is the run that holds it. */
  readonly created: boolean
  readonly #engine: EngineApi

  constructor(engine: EngineApi, id: string, created: boolean) {
    this.#engine = engine
    this.id = id
    this.created = created
  }

  /** Its result once it has succeeded; rejects with WorkflowFailed when it ended otherwise. */
  async result(options: WaitOptions = {}): Promise<Result> {
    const state = await this.#engine.ended({ id: this.id, kind: 'run', ...options })
    const row = await this.row()
    if (row.status === 'succeeded') return (row.result === null ? null : JSON.parse(row.result)) as Result
    const error = row.error === null ? null : (JSON.parse(row.error) as Failure)
    throw new WorkflowFailed({ id: this.id, kind: 'run', state: state as RunStatus, outcome: null, node: null, error })
  }

  async status(): Promise<RunStatus> {
    return (await this.row()).status
  }

  async row(): Promise<RunRow> {
    const row = await this.#engine.queries.run(this.id)
    if (row === null) throw new PetrelError('not_found', `there is no run ${this.id}`)
    return row
  }

  /** Lines that its executions have logged, a page at a time. */
  log(asked: LogAsked = {}): Promise<LogLines> {
    return readLog(this.#engine, { runId: this.id }, asked)
  }

  async cancel(actor: string | null = null): Promise<RunStatus> {
    return (await this.#engine.cancelRun({ id: this.id, actor })).status
  }

  /** It waits for its time, or between two attempts: now it is due. */
  async retryNow(actor: string | null = null): Promise<RunStatus> {
    return (await this.#engine.retryNow({ id: this.id, actor })).status
  }

  /** It failed for good or was cancelled, and is done again. In an ended workflow that is a new run, which is returned. */
  async redrive(actor: string | null = null): Promise<RunHandle<Result>> {
    const { id } = await this.#engine.redrive({ runId: this.id, actor })
    return new RunHandle<Result>(this.#engine, id, id !== this.id)
  }

  /** Its history from the beginning, followed until it has ended. */
  async *watch(options: WaitOptions = {}): AsyncGenerator<StoredEvent, void, undefined> {
    const { signal } = options
    for (let shown = 0; ; ) {
      // The state is read first: the history then contains everything up to the terminal state.
      const { status } = await this.row()
      const history = await this.#engine.queries.runHistory(this.id)
      yield* history.slice(shown)
      shown = history.length
      if (status !== 'pending' && status !== 'leased') return
      signal?.throwIfAborted()
      await this.#endOrPause(signal)
    }
  }

  /** Waits a moment, or less if the run ends. */
  async #endOrPause(signal: AbortSignal | undefined): Promise<void> {
    const pause = AbortSignal.any([AbortSignal.timeout(WATCH_PAUSE_MS), ...(signal === undefined ? [] : [signal])])
    await this.#engine.ended({ id: this.id, kind: 'run', signal: pause }).catch((error: unknown) => {
      signal?.throwIfAborted()
      if (!pause.aborted) throw error
    })
  }
}

const WATCH_PAUSE_MS = 250

/** One execution of a workflow. */
export class InstanceHandle<Result = unknown> {
  readonly id: string
  /** false: the start key was taken, and this is the instance that holds it. */
  readonly created: boolean
  readonly #engine: EngineApi
  /** undefined: determined when it is needed. */
  readonly #shape: Shape | undefined

  constructor(engine: EngineApi, id: string, created: boolean, shape?: Shape) {
    this.#engine = engine
    this.id = id
    this.created = created
    this.#shape = shape
  }

  /**
   * Its result once it has completed: of a chain the result of its last step, of a group or batch the list of its jobs'
   * results, of anything else the results by node. Rejects with WorkflowFailed when it did not complete.
   */
  async result(options: WaitOptions = {}): Promise<Result> {
    const state = await this.#engine.ended({ id: this.id, kind: 'instance', ...options })
    if (state !== 'completed') throw await this.#failure()
    // A taken start key may belong to a workflow of another shape.
    const shape = this.#shape !== undefined && this.created ? this.#shape : await shapeOfInstance(this.#engine, this.id)
    const nodes = shape === null ? undefined : ['last' in shape ? shape.last : shape.each]
    const byNode = await this.#engine.results(this.id, nodes)
    if (shape !== null) return readResults(shape, byNode) as Result
    return Object.fromEntries(
      [...byNode].map(([node, text]) => [node, text === null ? null : JSON.parse(text)]),
    ) as Result
  }

  async #failure(): Promise<WorkflowFailed> {
    const { instance, error, runs, children } = await this.view()
    const run = runs.findLast((r) => r.status === 'failed')
    const child = children.findLast((c) => c.state !== 'completed')
    const own = run === undefined || run.error === null ? null : (JSON.parse(run.error) as Failure)
    return new WorkflowFailed({
      id: this.id,
      kind: 'instance',
      state: instance.state,
      outcome: instance.outcome,
      node: run?.node ?? child?.parentNode ?? null,
      error: error ?? own,
    })
  }

  async status(): Promise<InstanceState> {
    return (await this.row()).state
  }

  async row(): Promise<InstanceRow> {
    const row = await this.#engine.queries.instance(this.id)
    if (row === null) throw new PetrelError('not_found', `there is no workflow ${this.id}`)
    return row
  }

  /** Its runs, gates and nested workflows; at most 1,000 runs and nested workflows a page. */
  async view(page?: Partial<ViewPage>): Promise<InstanceView> {
    const asked = page === undefined ? undefined : { after: null, limit: 1_000, ...page }
    return present(await this.#engine.view(this.id, asked), this.id)
  }

  /** Gates that wait for an answer: `petrel.gates.approve(gate.id)`. */
  async gates(): Promise<readonly GateRow[]> {
    return await this.#engine.queries.openGates({ instanceId: this.id, limit: 1_000 })
  }

  /** What its context holds, by name. A value that is too long to be shown is a marker with its size. */
  async context(): Promise<{ readonly [name: string]: Json }> {
    const [{ SLOT }, { PAGE_BYTES }] = await Promise.all([import('../net/slots.ts'), import('../model/shown.ts')])
    const slots = await this.#engine.queries.slots({
      instanceId: this.id,
      prefix: SLOT.context.prefix,
      maxBytes: PAGE_BYTES,
    })
    return Object.fromEntries(slots.map(({ key, value }) => [SLOT.context.nameIn(key), JSON.parse(value) as Json]))
  }

  /** What each node that has not ended waits for. */
  async why(): Promise<Why> {
    const why = await this.#engine.why({ instanceId: this.id })
    if (why === null) throw new PetrelError('not_found', `there is no workflow ${this.id}`)
    return why
  }

  /** What each of its runs, children and gates did and when: segments of waiting and running. A page at a time. */
  async timeline(page: Partial<TimelineAsked> = {}): Promise<Timeline> {
    return present(await this.#engine.timeline({ instanceId: this.id, ...page }), this.id)
  }

  /** The state of each node; with `after`, the `seq` of an earlier answer, of those that may have changed since. */
  async marking(asked: Partial<MarkingAsked> = {}): Promise<Marking> {
    return present(await this.#engine.marking({ instanceId: this.id, ...asked }), this.id)
  }

  /** Lines that the executions of its runs have logged, a page at a time. */
  log(asked: LogAsked = {}): Promise<LogLines> {
    return readLog(this.#engine, { instanceId: this.id }, asked)
  }

  /** Writes into its context; null removes a name. Held steps of a playbook are evaluated again. */
  async patch(set: { readonly [name: string]: Json }, actor: string | null = null): Promise<InstanceState> {
    return (await this.#engine.patchContext({ instanceId: this.id, set, actor })).state
  }

  /** The state of a playbook in the terms of its notation; null: it is of another notation. */
  async execution(): Promise<Execution | null> {
    const [row, { projectionOf }] = await Promise.all([this.row(), notations()])
    const own = (await projectionOf(row).own?.(this.#engine, row)) ?? null
    return (own?.json['execution'] ?? null) as Execution | null
  }

  /** Cancels it. A saga rolls back: completed steps are undone. */
  async cancel(actor: string | null = null): Promise<InstanceState> {
    const [row, { cancelAsNotation }] = await Promise.all([this.row(), import('../operations/instances/change.ts')])
    return (await cancelAsNotation(this.#engine, row, actor)).state
  }

  /**
   * Starts a new workflow that adopts what this failed one had finished, or goes back to `from`: that step, with `args` if
   * there are any, and what follows from it is done again.
   */
  retry(options: Repeat = {}): Promise<InstanceHandle<Result>> {
    return this.#repeat(options, false)
  }

  /** Starts a copy of this workflow, which has ended: from the beginning, or from a step. */
  fork(options: Repeat = {}): Promise<InstanceHandle<Result>> {
    return this.#repeat(options, true)
  }

  /** What a retry, or a fork, would do again and what it would take over: a page of steps. */
  async previewRetry(options: Repeat & RepeatPage = {}): Promise<Preview> {
    const { actor: _, startKey: __, ...asked } = options
    return this.#engine.previewRetry({ ...asked, id: this.id })
  }

  async #repeat({ actor = null, ...asked }: Repeat, fork: boolean): Promise<InstanceHandle<Result>> {
    const { id, created } = await this.#engine.retryInstance({ ...asked, id: this.id, fork, actor })
    return new InstanceHandle<Result>(this.#engine, id, created, this.#shape)
  }

  /** Its runs that wait for a time are due at once; returns how many there were. */
  retryNow(actor: string | null = null): Promise<number> {
    return this.#engine.retryInstanceNow({ id: this.id, actor })
  }

  /** Pauses it, with everything nested in it: active work ends as usual, nothing new begins. */
  async pause(options: PauseOptions = {}): Promise<InstanceState> {
    const { reason = null, timeouts = 'stop', actor = null } = options
    return (await this.#engine.pauseInstance({ id: this.id, reason, timeouts, actor })).row.state
  }

  /** Ends its pause; otherwise continues in place after it stopped (saga policy stop). */
  async resume(actor: string | null = null): Promise<InstanceState> {
    const { paused } = await this.row()
    if (paused !== null) return (await this.#engine.unpauseInstance({ id: this.id, actor })).row.state
    return (await this.#engine.resumeInstance({ id: this.id, actor })).state
  }

  /** Its events from the beginning, followed until it has ended. */
  watch(options: WaitOptions = {}): AsyncIterable<StoredEvent> {
    return this.#engine.watch(this.id, options.signal)
  }
}

/** Loaded when needed: a program that only starts workflows and awaits those does without. */
const notations = () => import('../notations/notations.ts')

function present<T>(found: T | null, id: string): T {
  if (found === null) throw new PetrelError('not_found', `there is no workflow ${id}`)
  return found
}

/** The shape of the value of a workflow in the terms of its notation; null: its results by node. */
async function shapeOfInstance(engine: EngineApi, id: string): Promise<Shape> {
  const [row, { projectionOf }] = await Promise.all([engine.queries.instance(id), notations()])
  if (row === null) throw new PetrelError('not_found', `there is no workflow ${id}`)
  return (await projectionOf(row).result?.(engine, row)) ?? null
}
