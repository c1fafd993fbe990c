/**
 * The handler of steps: runs of type `playbook.step`, whose program is in their net and whose data is in the payload.
 */
import type { Logger } from '../../../kernel/logger.ts'
import type { Json } from '../../../net/net.ts'
import type { Tools } from '../../../tools/tools.ts'
import type { Context } from '../../../worker/context.ts'
import type { Handler } from '../../../worker/handlers.ts'
import { KeychainError, openKeychain } from './keychain.ts'
import { type CompiledProgram, compileProgram } from './language.ts'
import { ownError, stepFailure } from './outcome.ts'
import { Pipeline } from './pipeline.ts'
import { type Program, STEP_TYPE, type StepPayload } from './program.ts'
import { Redactor } from './redactor.ts'
import { type SecretSources, Secrets } from './secret-sources.ts'

export interface StepHandlerOptions {
  readonly tools: Tools
  /** Default: the run's own. */
  readonly logger?: Logger
  /** What keychains may read. Default: only what PETREL_SECRETS_ENV and PETREL_SECRETS_DIR allow. */
  readonly secrets?: SecretSources
  /** Shorter rests are waited for in place; during longer ones the run is handed back. Default 5,000. */
  readonly longRestMs?: number
  /** Tries of tasks in one pipeline. Default 1,000,000. */
  readonly mostExecutions?: number
}

/**
 * A run whose type does not name the tools it needs goes to any worker. A worker that lacks some hands it back, due
 * this much later, so that another can take it.
 */
const LACKING_MS = 2_000

export function makeStepHandler(options: StepHandlerOptions): Handler {
  const { tools, longRestMs = 5_000, mostExecutions = 1_000_000 } = options
  const secrets = new Secrets(options.secrets ?? {})
  const compiled = new WeakMap<object, CompiledProgram>()

  const compiledOf = (program: Program): CompiledProgram => {
    let known = compiled.get(program)
    if (known === undefined) {
      known = compileProgram(program, (kind) => tools.find(kind)?.verbatim ?? [])
      compiled.set(program, known)
    }
    return known
  }

  const handle = async (payload: StepPayload, ctx: Context): Promise<unknown> => {
    const program = readProgram(await ctx.program())
    if (program === null) {
      const message = `run ${ctx.runId} has no program that could be executed: a step of a playbook has one in its net`
      return ctx.fail(stepFailure({ task: null, error: ownError('schema', 'NO_PROGRAM', message), outcome: null }))
    }
    if (ctx.type === STEP_TYPE && !program.tasks.every(({ kind }) => tools.find(kind) !== null)) {
      ctx.logger.warn({ run: ctx.runId, step: program.step }, 'this worker lacks a tool of the step: left to another')
      return ctx.later(LACKING_MS)
    }
    const keychain = await openKeychain(program.keychain, secrets, ctx.tenant).catch((problem: unknown) => {
      if (problem instanceof KeychainError)
        return ctx.fail(stepFailure({ task: null, error: problem.error, outcome: null }))
      throw problem
    })
    const redactor = new Redactor(keychain.secrets)
    const logger = redactor.logger(options.logger ?? ctx.logger)
    const setup = {
      program,
      compiled: compiledOf(program),
      tools,
      keychain: keychain.entries,
      redactor,
      logger,
      longRestMs,
      mostExecutions,
    }
    return await new Pipeline(payload, ctx, setup).execute()
  }
  return handle as Handler
}

/** The program was made by its compiler: only a program of the wrong shape is refused. */
function readProgram(program: Json | null): Program | null {
  if (typeof program !== 'object' || program === null || Array.isArray(program)) return null
  const { step, tasks, keychain } = program as unknown as Partial<Program>
  return typeof step === 'string' && Array.isArray(tasks) && Array.isArray(keychain)
    ? (program as unknown as Program)
    : null
}
