/**
 * One execution of a step's tasks: executes the effects of the machine with tools, clock and worker.
 *
 * For a long rest the run is handed back: the state is saved, and the next execution continues where this one stopped.
 * If that execution has the same number, the rest is over; another number means that this one was lost in between, and
 * the remaining rest is waited for by the machine's clock.
 */
import { setImmediate as turn } from 'node:timers/promises'
import type { Logger } from '../../../kernel/logger.ts'
import type { Json } from '../../../net/net.ts'
import type { ToolError } from '../../../tools/tool.ts'
import type { Tools } from '../../../tools/tools.ts'
import type { Context } from '../../../worker/context.ts'
import { Failed } from '../../../worker/errors.ts'
import type { Later } from '../../../worker/later.ts'
import { type Checkpoint, mayCheckpoint, readCheckpoint, restLeft, VOID_CHECKPOINT } from './checkpoint.ts'
import { type CompiledProgram, Language, renderStepInput } from './language.ts'
import { type Happening, type Machine, type Move, move } from './machine.ts'
import { Notes, tryNote } from './notes.ts'
import { ownError, type StepError, stepFailure } from './outcome.ts'
import type { Program, StepPayload } from './program.ts'
import type { Redactor } from './redactor.ts'
import { type Given, toolContext } from './scope.ts'
import { type Fields, freshState, type State } from './state.ts'
import { tryTask } from './try-task.ts'

export interface PipelineSetup {
  readonly program: Program
  readonly compiled: CompiledProgram
  readonly tools: Tools
  readonly keychain: Fields
  readonly redactor: Redactor
  readonly logger: Logger
  readonly longRestMs: number
  readonly mostExecutions: number
}

/** Tasks that end at once would block the event loop. */
const TURN_MS = 15

type Ended = Exclude<Happening, { readonly kind: 'begin' | 'rested' }>

export class Pipeline {
  readonly #ctx: Context
  readonly #setup: PipelineSetup
  readonly #payload: StepPayload
  readonly #signal: AbortSignal
  readonly #notes = new Notes()
  #state: State = freshState()
  /** The step's input, overridden by the arc's arguments. Set before anything else. */
  #input: Fields = {}
  /** A later execution of this run would find a checkpoint. */
  #isSaved = false
  #turnBegan = performance.now()

  constructor(payload: StepPayload, ctx: Context, setup: PipelineSetup) {
    this.#payload = deepFreeze(payload)
    this.#ctx = ctx
    this.#setup = setup
    this.#signal = ctx.signal
  }

  /** The step's result, or a request to continue later. Fails through the context. */
  async execute(): Promise<Json | Later> {
    try {
      return await this.#run()
    } catch (problem) {
      throw this.#clean(problem)
    } finally {
      for (const note of this.#notes.all()) this.#ctx.tell(this.#setup.redactor.json(note))
    }
  }

  async #run(): Promise<Json | Later> {
    const { program, compiled, longRestMs, mostExecutions } = this.#setup
    const saved = mayCheckpoint(program, longRestMs) ? await this.#load() : null
    const unrendered = saved === null ? this.#renderInput() : null
    if (unrendered !== null) return await this.#failed({ task: null, error: unrendered, outcome: null })
    const given: Given = { program, payload: this.#payload, input: this.#input }
    const language = new Language(given, compiled)
    const machine: Machine = { program, judge: language, mostExecutions }
    let next: Move = saved ?? move(machine, this.#state, { kind: 'begin' })
    for (;;) {
      this.#state = next.state
      const { effect } = next
      switch (effect.kind) {
        case 'run':
          next = await this.#tried(machine, given, language)
          break
        case 'rest': {
          const isLong = effect.ms > 0 && effect.ms >= longRestMs
          const later = isLong ? await this.#postpone(effect.ms) : null
          if (later !== null) return later
          if (effect.ms > 0) await wait(effect.ms, this.#signal)
          next = move(machine, this.#state, { kind: 'rested' })
          break
        }
        case 'done':
          return await this.#done(effect.result)
        case 'failed':
          return await this.#failed(effect.error)
      }
    }
  }

  // ── tasks ──────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Tries the current task, and returns the next move. */
  async #tried(machine: Machine, given: Given, language: Language): Promise<Move> {
    if (performance.now() - this.#turnBegan > TURN_MS) {
      await turn()
      this.#turnBegan = performance.now()
    }
    this.#signal.throwIfAborted()
    const { at, visit, attempt } = this.#state
    const { label, kind, rules } = this.#setup.program.tasks[at]!
    const began = Date.now()
    const ended = await this.#ended(given, language)
    const next = move(machine, this.#state, ended)
    const outcome = ended.kind === 'ended' ? ended.outcome : null
    this.#notes.add(
      tryNote({
        task: label,
        kind,
        visit,
        attempt,
        at: began,
        ms: outcome?.meta.duration_ms ?? Date.now() - began,
        status: outcome?.status ?? 'error',
        error: ended.kind === 'broken' ? ended.error : (outcome?.error ?? null),
        http: outcome?.http,
        verdict: next.verdict,
        hasRules: rules.length > 0,
        restMs: next.effect.kind === 'rest' ? next.effect.ms : null,
      }),
    )
    return next
  }

  /** The end of the try: an outcome, or why there could be none. */
  async #ended(given: Given, language: Language): Promise<Ended> {
    const { tools, keychain, redactor, logger, program } = this.#setup
    const state = this.#state
    const { label, kind, line, timeoutMs } = program.tasks[state.at]!
    const broken = (kindOfError: string, code: string, problem: string): Ended => {
      const message = redactor.text(`task '${label}' (line ${line}): ${problem}`)
      return { kind: 'broken', error: ownError(kindOfError, code, message) }
    }
    const tool = tools.find(kind)
    if (tool === null) return broken('unsupported', 'UNKNOWN_KIND', `this worker has no tool of kind '${kind}'`)
    let fields: ReturnType<Language['call']>
    try {
      fields = language.call(state, keychain)
    } catch (problem) {
      return broken('transform', 'TEMPLATE_ERROR', `its fields cannot be rendered: ${messageOf(problem)}`)
    }
    const call = {
      config: fields.config,
      input: { ...given.input, ...fields.input },
      context: toolContext(given, { state, task: label }),
      tenant: this.#ctx.tenant,
      timeoutMs,
      key: this.#key(label),
      logger,
      print: (stream: 'stdout' | 'stderr', line: string) => this.#ctx.log.print(stream, redactor.text(line)),
      conceal: (secret: string) => redactor.hide(secret),
    }
    const outcome = await tryTask({ tool, call, attempt: state.attempt, redactor, signal: this.#signal })
    return { kind: 'ended', outcome }
  }

  /** The same for every try of a visit, in any execution; different for the next visit. */
  #key(label: string): string {
    const visits = this.#state.visits[label] ?? 1
    return visits === 1 ? `${this.#ctx.key}:${label}` : `${this.#ctx.key}:${label}:${visits}`
  }

  #renderInput(): ToolError | null {
    const { program, compiled, redactor } = this.#setup
    const args = this.#payload.args ?? {}
    try {
      const given = { program, payload: this.#payload, input: args }
      const own = program.input === null ? {} : renderStepInput(compiled, given, this.#state)
      this.#input = deepFreeze({ ...own, ...args })
      return null
    } catch (problem) {
      const message = redactor.text(`the input of step '${program.step}' cannot be rendered: ${messageOf(problem)}`)
      return ownError('transform', 'TEMPLATE_ERROR', message)
    }
  }

  // ── resting ────────────────────────────────────────────────────────────────────────────────────────────────────

  /** null: its state cannot be saved, so it waits in place. */
  async #postpone(ms: number): Promise<Later | null> {
    const checkpoint: Checkpoint = {
      execution: this.#ctx.attempt,
      restMs: ms,
      restsUntil: Date.now() + ms,
      input: this.#input,
      state: this.#state,
    }
    try {
      this.#writeContext()
      await this.#ctx.checkpoint(this.#setup.redactor.json(checkpoint as unknown as Json))
    } catch (problem) {
      if (!isUnstorable(problem)) throw problem
      this.#note('pipeline.kept', { ms, why: messageOf(problem) })
      return null
    }
    this.#isSaved = true
    this.#note('pipeline.postponed', { ms })
    return this.#ctx.later(ms)
  }

  /** The move to continue with from an earlier execution's checkpoint; null: there is none. */
  async #load(): Promise<Move | null> {
    const read = readCheckpoint(await this.#ctx.loadCheckpoint(), this.#setup.program)
    if (read === null) return null
    if (read === 'unreadable') {
      this.#notes.add({ event: 'pipeline.begun_anew', t: isoNow(), why: 'its checkpoint cannot be read' })
      return null
    }
    this.#isSaved = true
    this.#input = deepFreeze(read.input)
    this.#state = read.state
    const ms = restLeft(read, { execution: this.#ctx.attempt, at: Date.now() })
    this.#note('pipeline.resumed', {})
    return { state: read.state, effect: { kind: 'rest', ms }, verdict: null }
  }

  #note(event: string, more: Fields): void {
    const { at, visit, attempt } = this.#state
    const { label } = this.#setup.program.tasks[at]!
    this.#notes.add({ event, t: isoNow(), task: label, visit, attempt, ...more })
  }

  // ── the end ────────────────────────────────────────────────────────────────────────────────────────────────────

  async #done(result: Json): Promise<Json> {
    try {
      this.#writeContext()
    } catch (problem) {
      if (!isUnstorable(problem)) throw problem
      const error = ownError('transform', 'UNSTORABLE', messageOf(problem))
      return await this.#failed({ task: null, error, outcome: null })
    }
    return this.#setup.redactor.json(result)
  }

  async #failed(error: StepError): Promise<never> {
    this.#tryWriteContext()
    if (this.#isSaved) await this.#ctx.checkpoint(VOID_CHECKPOINT)
    return this.#ctx.fail(this.#setup.redactor.json(stepFailure(error) as unknown as Json) as never)
  }

  /** What it throws: the reason why it was stopped, its failure, or an unexpected error. */
  #clean(problem: unknown): unknown {
    if (this.#signal.aborted) {
      this.#tryWriteContext()
      return this.#signal.reason
    }
    if (problem instanceof Failed || !(problem instanceof Error)) return problem
    const { redactor } = this.#setup
    const message = redactor.text(problem.message)
    if (message !== problem.message) problem.message = message
    if (problem.stack !== undefined) problem.stack = redactor.text(problem.stack)
    return problem
  }

  #tryWriteContext(): void {
    try {
      this.#writeContext()
    } catch (problem) {
      this.#setup.logger.warn({ err: problem }, 'what the step has set could not be written')
    }
  }

  /**
   * Once, with the last values: a loop over pages sets the same entry a thousand times. Entries written before a long
   * rest are written again, because they belong to the outcome of this run.
   */
  #writeContext(): void {
    for (const [name, value] of Object.entries(this.#state.ctx)) {
      this.#ctx.set(name, this.#setup.redactor.json(value))
    }
  }
}

function isUnstorable(problem: unknown): boolean {
  const { code } = (problem ?? {}) as { readonly code?: unknown }
  return code === 'payload_too_large' || code === 'unstorable' || code === 'invalid_request'
}

function messageOf(problem: unknown): string {
  return problem instanceof Error ? problem.message : String(problem)
}

function isoNow(): string {
  return new Date().toISOString()
}

/** Makes JSON immutable. A value that is already frozen is frozen at every level. */
function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  for (const item of Object.values(value)) deepFreeze(item)
  return Object.freeze(value)
}

/** Waits this long; if the signal is aborted, it throws the signal's reason at once. */
function wait(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason)
    const stop = (): void => {
      clearTimeout(timer)
      reject(signal.reason)
    }
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', stop)
      resolve()
    }, ms)
    signal.addEventListener('abort', stop, { once: true })
  })
}
