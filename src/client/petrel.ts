/** Petrel embedded in a program: opens a store, enqueues and starts work, runs workers. */

import { readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { EngineApi } from '../engine/api.ts'
import { PetrelError } from '../kernel/errors.ts'
import { MAX_JSON_BYTES } from '../kernel/limits.ts'
import type { EnqueueParams } from '../model/enqueue.ts'
import type { TypeRegistry } from '../model/registry.ts'
import type { InstanceRow, RunRow } from '../model/rows.ts'
import type { Failure } from '../net/marking.ts'
import type { Json } from '../net/net.ts'
import { buildWorkflow } from '../notations/ojs/compile/builder.ts'
import type { StepHandlerOptions } from '../notations/playbook/runtime/handler.ts'
import { stepTypes } from '../notations/playbook/runtime/program.ts'
import { checkSecrets } from '../notations/playbook/runtime/secret-sources.ts'
import { TEMPLATE_TYPE } from '../notations/saga/runtime/program.ts'
import type { Caller } from '../operations/caller.ts'
import type { Operation, Operations } from '../operations/operation.ts'
import { Tools } from '../tools/tools.ts'
import type { Context } from '../worker/context.ts'
import { failureOf } from '../worker/errors.ts'
import { type Handler, Handlers } from '../worker/handlers.ts'
import { checkJson } from '../worker/json.ts'
import type { WorkerOptions } from '../worker/options.ts'
import { Worker } from '../worker/worker.ts'
import { type AnyStep, type GivesOf, type Job, job, type Step } from './builders.ts'
import { BulkOperations } from './bulk.ts'
import { DeadLetters } from './dead-letters.ts'
import { keepEngine } from './engine-of.ts'
import { type EnqueueEntry, type EnqueueOptions, enqueueParams, onTransaction } from './enqueue.ts'
import { ErrorGroups } from './error-groups.ts'
import { Gates } from './gates.ts'
import { InstanceHandle, RunHandle } from './handles.ts'
import { type InstanceFilter, listedInstances, type RunFilter, runQuery } from './listing.ts'
import { type OpenOptions, openEngine } from './open.ts'
import { Limits, Pauses, Queues } from './queues.ts'
import type { Saga } from './saga.ts'
import { Schedules } from './schedules.ts'
import { Searches } from './search.ts'
import { Debounced } from './starts/debounced.ts'
import type { DefinitionOptions, DeployedOptions, SagaStartOptions, StartOptions } from './starts/options.ts'
import type { AnyTask, StepContext, Task } from './task.ts'

export type PetrelOptions = OpenOptions

export interface WorkOptions extends Omit<WorkerOptions, 'handlers'> {
  /** Only these types or prefixes such as `billing.%`; default: all that have a handler now. */
  readonly types?: readonly string[]
}

/** A Petrel on an engine that is open already. It is no part of the public API. */
export let petrelOn: (engine: EngineApi, options?: PetrelOptions) => Petrel

export class Petrel {
  readonly queues: Queues
  readonly limits: Limits
  readonly pauses: Pauses
  readonly schedules: Schedules
  /** Starts that wait until no other has followed. */
  readonly debounced: Debounced
  readonly deadLetters: DeadLetters
  readonly gates: Gates
  /** Finds instances and runs by queries. */
  readonly search: Searches
  /** One action on everything that a search finds. */
  readonly operations: BulkOperations
  /** Failures for good, grouped by their cause. */
  readonly errors: ErrorGroups
  /** Which runtime may execute a type. */
  readonly registry: TypeRegistry
  readonly #engine: EngineApi
  /** Loaded when needed: most programs perform none. */
  #operations: Operations | null = null
  readonly #handlers = new Handlers()
  readonly #workers = new Set<Worker>()
  /** For the steps of playbooks; null: not set. */
  #tools: Tools | null = null
  readonly #options: PetrelOptions
  #closing: Promise<void> | null = null

  private constructor(engine: EngineApi, options: PetrelOptions) {
    this.#engine = engine
    this.#options = options
    this.queues = new Queues(engine)
    this.pauses = new Pauses(engine)
    this.limits = new Limits(engine)
    this.schedules = new Schedules(engine, (args, path) => this.#checkArgs(args, path))
    this.debounced = new Debounced(engine, (args, path) => this.#checkArgs(args, path))
    this.deadLetters = new DeadLetters(engine)
    this.gates = new Gates(engine)
    this.search = new Searches(engine)
    this.operations = new BulkOperations(engine, (who, useCase, params) => this.#perform(who, useCase, params))
    this.errors = new ErrorGroups(engine)
    this.registry = engine.registry
    keepEngine(this, engine)
  }

  /** `sqlite:path/to/file.db`, `sqlite::memory:` or `postgres://user@host/database`. */
  static async open(url: string, options: PetrelOptions = {}): Promise<Petrel> {
    return new Petrel(await openEngine(url, options), options)
  }

  static {
    petrelOn = (engine, options = {}) => new Petrel(engine, options)
  }

  /**
   * Sets the handler for a type of work, in workers started from now on. A type may end in `%`: all with that prefix.
   */
  handle(task: AnyTask): this
  handle<Args = unknown>(type: string, handler: (args: Args, ctx: StepContext) => unknown): this
  handle(task: AnyTask | string, handler?: Handler): this {
    if (typeof task === 'string') this.#handlers.add(task, handler as Handler)
    else this.#handlers.add(task.type, task.handler)
    return this
  }

  /**
   * Lets workers started from now on execute the steps of playbooks, with these tools: those that come with Petrel, or
   * `Tools.standard().add(tool)` with custom ones. Keychains may read what `secrets` allows:
   * `{ env: ['APP_*'], dir: '/run/secrets' }`; without it what PETREL_SECRETS_ENV and PETREL_SECRETS_DIR allow.
   */
  playbooks(options: Partial<StepHandlerOptions> = {}): this {
    const { tools = Tools.standard(), ...rest } = options
    checkSecrets(rest.secrets ?? {})
    // Templates and secrets take long to load for programs that never run a playbook.
    const made = import('../notations/playbook/runtime/handler.ts').then((module) =>
      module.makeStepHandler({ ...rest, tools }),
    )
    const handler = async (args: unknown, ctx: StepContext): Promise<unknown> =>
      (await made)(args as never, ctx as Context<never>)
    for (const type of stepTypes(tools.kinds())) this.handle(type, handler)
    this.#tools = tools
    return this
  }

  /**
   * Lets workers started from now on build the commands of this saga, and deploys it under its name and version.
   * Without one: those of sagas that were deployed as files.
   */
  async saga(saga?: Saga): Promise<this> {
    const [{ makeSagaHandler }, { templateBuilders }] = await Promise.all([
      import('../notations/saga/runtime/handler.ts'),
      import('../notations/saga/runtime/builders.ts'),
    ])
    if (saga !== undefined) await this.#deploy(`${saga.name}.saga.json`, saga.text)
    const handler = makeSagaHandler({
      builders: saga?.builders ?? templateBuilders(),
      commandsOf: (instanceId) => this.#engine.commands.ofInstance({ instanceId }),
      maxBytes: this.#options.maxPayloadBytes ?? MAX_JSON_BYTES,
    })
    return this.handle(saga?.type ?? TEMPLATE_TYPE, handler as Handler as never)
  }

  async #deploy(file: string, text: string): Promise<void> {
    const { deployDefinition } = await import('../operations/definitions/definitions.ts')
    await this.#perform({ subject: null, tenant: null }, deployDefinition, { file, text })
  }

  async #perform<P, R>(
    { subject, tenant }: Pick<Caller, 'subject' | 'tenant'>,
    operation: Operation<P, R>,
    params: P,
  ): Promise<R> {
    const [{ Operations }, { operator }] = await Promise.all([
      import('../operations/operation.ts'),
      import('../operations/caller.ts'),
    ])
    this.#operations ??= new Operations({ engine: this.#engine, logger: this.#options.logger ?? null })
    return this.#operations.perform({ ...operator(subject), tenant }, operation, params)
  }

  /** Starts a deployed saga by its name. */
  async startSaga(name: string, request: Json, options: SagaStartOptions = {}): Promise<InstanceHandle> {
    this.#assertOpen()
    const { idempotencyKey, initiator = null, version = null, tenant = null, ...rest } = options
    this.#checkArgs(request, 'the request')
    const { startSaga } = await import('../operations/sagas/sagas.ts')
    const asked = { ...rest, name, version, request }
    const started = await this.#perform(
      { subject: initiator, tenant },
      startSaga,
      idempotencyKey === undefined ? asked : { ...asked, startKey: idempotencyKey },
    )
    return new InstanceHandle(this.#engine, started.id, started.created)
  }

  /** Starts a deployed definition of any notation by its name. */
  async startDefinition(name: string, options: DeployedOptions = {}): Promise<InstanceHandle> {
    this.#assertOpen()
    const { idempotencyKey: startKey, initiator = null, version = null, tenant = null, input = null, ...rest } = options
    this.#checkArgs(input, 'the input')
    const { startDefinition } = await import('../operations/instances/change.ts')
    const asked = { ...rest, name, version, input, ...(startKey === undefined ? {} : { startKey }) }
    const { id, created } = await this.#perform({ subject: initiator, tenant }, startDefinition, asked)
    return new InstanceHandle(this.#engine, id, created)
  }

  /** Starts a worker in this process for the types handled so far. */
  async work(options: WorkOptions = {}): Promise<Worker> {
    this.#assertOpen()
    const { types = null, ...rest } = options
    const { logger, maxPayloadBytes } = this.#options
    const worker = await Worker.start(this.#engine.workers, {
      ...(logger !== undefined && { logger }),
      ...(maxPayloadBytes !== undefined && { maxResultBytes: maxPayloadBytes }),
      ...rest,
      handlers: this.#handlers.select(types),
    })
    this.#workers.add(worker)
    return worker
  }

  /** Adds one run: of a task, of a type, or of a `job(…)`. */
  enqueue<Args, Result, Previous>(
    task: null extends Previous ? Task<Args, Result, Previous> : never,
    ...rest: undefined extends Args ? [args?: Args, options?: EnqueueOptions] : [args: Args, options?: EnqueueOptions]
  ): Promise<RunHandle<Result>>
  enqueue<Result>(job: Job<null, Result>, options?: EnqueueOptions): Promise<RunHandle<Result>>
  enqueue<Result = unknown>(type: string, args?: unknown, options?: EnqueueOptions): Promise<RunHandle<Result>>
  async enqueue(what: AnyTask | Job | string, second?: unknown, third?: EnqueueOptions): Promise<RunHandle> {
    const isJob = typeof what === 'object' && 'tree' in what
    const given = isJob ? (what as Job) : job(typeof what === 'string' ? what : what.type, second)
    const options = (isJob ? (second as EnqueueOptions | undefined) : third) ?? {}
    const [handle] = await this.enqueueMany([given as Job<null>], options)
    return handle as RunHandle
  }

  /**
   * Adds runs in one transaction. `options` apply to all, and each job's own take precedence; keys and ids are per
   * entry.
   */
  async enqueueMany<const J extends readonly (Job<null> | EnqueueEntry)[]>(
    jobs: J,
    options: EnqueueOptions = {},
  ): Promise<{ -readonly [K in keyof J]: RunHandle<GivesOf<J[K] extends EnqueueEntry ? J[K]['job'] : J[K]>> }> {
    this.#assertOpen()
    const { tx, ...shared } = options
    const params = jobs.map((entry, i): EnqueueParams => {
      const { job: given, ...own } = 'job' in entry ? entry : { job: entry }
      const params = enqueueParams(given, { ...shared, ...own }, jobs.length === 1 ? '' : `jobs[${i}]: `)
      this.#checkArgs(params.payload, jobs.length === 1 ? null : `jobs[${i}]`)
      return params
    })
    const enqueued = await this.#engine.enqueue(params, onTransaction(tx))
    return enqueued.map(({ id, created }) => new RunHandle(this.#engine, id, created)) as never
  }

  /** Starts a chain, group or batch. */
  async start<Result>(workflow: Step<null, Result>, options: StartOptions = {}): Promise<InstanceHandle<Result>> {
    const [handle] = await this.startMany([workflow], options)
    return handle as InstanceHandle<Result>
  }

  /** Starts several in one transaction. */
  async startMany<const S extends readonly Step<null, unknown>[]>(
    workflows: S,
    options: StartOptions = {},
  ): Promise<{ -readonly [K in keyof S]: InstanceHandle<GivesOf<S[K]>> }> {
    this.#assertOpen()
    const { tx, name, idempotencyKey, ...rest } = options
    if (workflows.length > 1 && (rest.id !== undefined || idempotencyKey !== undefined)) {
      throw new PetrelError('invalid_request', 'id and idempotencyKey name one workflow: start them one by one')
    }
    const built = workflows.map((workflow) =>
      buildWorkflow(named(workflow, name), { checkArgs: (args, path) => this.#checkArgs(args, path) }),
    )
    const given = idempotencyKey === undefined ? rest : { ...rest, startKey: idempotencyKey }
    const plain = Object.keys(given).length === 0
    const params = built.map(({ start }) => (plain ? start : { ...start, ...given }))
    const started = await this.#engine.start(params, onTransaction(tx))
    return started.map(({ id, created }, i) => new InstanceHandle(this.#engine, id, created, built[i]?.shape)) as never
  }

  /**
   * Starts a definition of any notation from its text, such as a playbook. Rejects with DefinitionError, which has
   * every mistake with its line. The workload of a playbook is its defaults overridden by `input`.
   */
  async startText(text: string, options: DefinitionOptions = {}): Promise<InstanceHandle> {
    this.#assertOpen()
    const { input, file = 'definition', resolve, names, tx, idempotencyKey, ...rest } = options
    const { readDefinition } = await import('../operations/definitions/read.ts')
    const tools = this.#tools === null ? {} : { tools: this.#tools }
    const others = { ...(resolve === undefined ? {} : { resolve }), ...(names === undefined ? {} : { names }) }
    const { start } = await readDefinition(file, text, { ...tools, ...others })
    if (input !== undefined) this.#checkArgs(input, 'the input')
    const params = {
      ...start,
      ...rest,
      ...(input === undefined ? {} : { input }),
      ...(start.tags === undefined && rest.tags === undefined
        ? {}
        : { tags: [...(start.tags ?? []), ...(rest.tags ?? [])] }),
      ...(idempotencyKey === undefined ? {} : { startKey: idempotencyKey }),
    }
    const [started] = await this.#engine.start([params], onTransaction(tx))
    const { id, created } = started as { readonly id: string; readonly created: boolean }
    return new InstanceHandle(this.#engine, id, created)
  }

  /** The same from a file; definitions that it names are read from the same folder. */
  async startFile(
    path: string,
    options: Omit<DefinitionOptions, 'file' | 'resolve' | 'names'> = {},
  ): Promise<InstanceHandle> {
    const [{ definitionText }, { siblingDefinitions }] = await Promise.all([
      import('../notations/source/utf8.ts'),
      import('./sibling-definitions.ts'),
    ])
    const text = definitionText(path, await readFile(path))
    return this.startText(text, { ...options, file: path, ...siblingDefinitions(dirname(path)) })
  }

  /** Handle of a workflow by its id, whichever client started it. */
  instance<Result = unknown>(id: string): InstanceHandle<Result> {
    return new InstanceHandle<Result>(this.#engine, id, false)
  }

  /** Newest first. Reads in portions, until there are enough or all are checked. */
  instances(filter: InstanceFilter = {}): Promise<readonly InstanceRow[]> {
    return listedInstances(this.#engine, filter)
  }

  /** Newest first; those of workflows, too. */
  runs(filter: RunFilter = {}): Promise<readonly RunRow[]> {
    return this.#engine.queries.listRuns(runQuery(filter))
  }

  /** Handle of a bare run by its id. */
  run<Result = unknown>(id: string): RunHandle<Result> {
    return new RunHandle<Result>(this.#engine, id, false)
  }

  /** Ends deferred work with this result. */
  async complete(runId: string, result: unknown = null): Promise<void> {
    await this.#engine.complete({ runId, outcome: { kind: 'succeeded', result: (result ?? null) as Json } })
  }

  /** Ends deferred work with this error: anything a handler may throw, or a Failure. */
  async fail(runId: string, error: unknown): Promise<void> {
    await this.#engine.complete({
      runId,
      outcome: { kind: 'failed', error: isFailure(error) ? error : failureOf(error) },
    })
  }

  /**
   * Stops the workers (see Worker.stop), then closes the engine and the store. A second call can only shorten the wait.
   */
  close(params: { readonly graceMs?: number } = {}): Promise<void> {
    const stopped = Promise.all([...this.#workers].map((worker) => worker.stop(params)))
    this.#closing ??= stopped.then(() => this.#engine.close())
    return this.#closing
  }

  #checkArgs(args: Json, path: string | null): void {
    const { maxPayloadBytes: maxBytes = MAX_JSON_BYTES } = this.#options
    checkJson(args, { maxBytes, what: path === null ? 'the arguments' : `the arguments of ${path}` })
  }

  #assertOpen(): void {
    if (this.#closing !== null) throw new PetrelError('unavailable', 'this Petrel was closed')
  }
}

function named(workflow: AnyStep, name: string | undefined): AnyStep['tree'] {
  const { tree } = workflow
  if (name === undefined) return tree
  return tree.kind === 'job' ? { kind: 'chain', name, steps: [tree] } : { ...tree, name }
}

function isFailure(error: unknown): error is Failure {
  if (typeof error !== 'object' || error === null || error instanceof Error) return false
  const { code, message } = error as { readonly code?: unknown; readonly message?: unknown }
  return typeof code === 'string' && typeof message === 'string'
}
