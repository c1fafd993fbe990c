/**
 * Runs of sagas: build the command, and leave the run open until the service answers. The command is stored by the same
 * settle that leaves the run open; the relay finds it there.
 */

import { StoreUnavailableError } from '../../../kernel/store-errors.ts'
import type { Json, Net } from '../../../net/net.ts'
import type { Context, Deferred } from '../../../worker/context.ts'
import type { Handler } from '../../../worker/handlers.ts'
import { toJsonText } from '../../../worker/json.ts'
import type { Later } from '../../../worker/later.ts'
import type { CommandOptions } from '../../interface/notation.ts'
import { type Builders, type Results, templateBuilders } from './builders.ts'
import { type SagaProgram, TEMPLATE_TYPE } from './program.ts'
import { subjectProblem } from './subject.ts'

/** The stored commands of an instance's steps. */
export type CommandsOf = (
  instanceId: string,
) => Promise<readonly { readonly node: string; readonly role: string; readonly body: string }[]>

export interface SagaHandlerOptions {
  readonly builders: Builders
  readonly commandsOf: CommandsOf
  readonly maxBytes: number
}

/** The input of an undo's run. */
interface UndoArgs {
  readonly request: Json
  readonly result: Json
}

/** Everything that had to be loaded. */
interface Prepared {
  readonly program: SagaProgram
  readonly build: () => unknown
}

/** Pause before an unavailable store is asked again. */
const AWAY_MS = 500

export function makeSagaHandler({ builders, commandsOf, maxBytes }: SagaHandlerOptions) {
  return async (args: Json, ctx: Context): Promise<Deferred | Later> => {
    const prepared = await prepare(args, ctx).catch((error: unknown) => {
      // No command has been sent yet, so the saga has no reason to fail.
      if (error instanceof StoreUnavailableError) return null
      throw error
    })
    if (prepared === null) return ctx.later(AWAY_MS)
    const { program, build } = prepared
    const { subject, resendMs } = program
    // Any net can name this type and bring its own program, and commands are published with the engine's permissions.
    const problem = subjectProblem(String(subject))
    if (problem !== null) return ctx.fail({ code: 'command_failed', message: problem.message, retryable: false })
    return ctx.defer({ command: { subject, resendMs, body: await text(program, ctx, build) } })
  }

  async function prepare(args: Json, ctx: Context): Promise<Prepared> {
    const program = (await ctx.program()) as unknown as SagaProgram
    const build = ctx.role === 'undo' ? await backward(program, args, ctx) : await forward(program, args, ctx)
    return { program, build }
  }

  async function forward(program: SagaProgram, request: Json, ctx: Context): Promise<() => unknown> {
    const results = (await ctx.results()) as Results
    return () => builders.command(program, { request, results })
  }

  async function backward(program: SagaProgram, args: Json, ctx: Context): Promise<() => unknown> {
    const { request, result } = args as unknown as UndoArgs
    const [results, commands] = await Promise.all([ctx.results(), commandsOf(ctx.instanceId as string)])
    const stored = commands.find(({ node, role }) => node === ctx.node && role === 'work')
    const command = stored === undefined ? null : (JSON.parse(stored.body) as Json)
    return () => builders.compensation(program, { request, results: results as Results, command, result })
  }

  /** Only the author's templates and code can be at fault: an unavailable store is asked again. */
  async function text({ step }: SagaProgram, ctx: Context, build: () => unknown): Promise<string> {
    const what = ctx.role === 'undo' ? `the compensation of step '${step}'` : `the command of step '${step}'`
    try {
      return toJsonText((await build()) ?? null, { maxBytes, what })
    } catch (error) {
      const message = `${what} could not be built: ${error instanceof Error ? error.message : String(error)}`
      return ctx.fail({ code: 'command_failed', message, retryable: false })
    }
  }
}

/** Bodies that a program builds are not available in a dry run: the services get what the bodies are built from. */
const STAND_IN: Builders = {
  command: (_, { request }) => request as unknown,
  compensation: (_, { result }) => result as unknown,
}

export function dryRunHandlers(net: Net, options: CommandOptions): readonly (readonly [string, Handler])[] {
  const types = new Set(net.nodes.flatMap(({ work }) => (work.kind === 'run' ? [work.type] : [])))
  return [...types].map((type) => {
    const builders = type === TEMPLATE_TYPE ? templateBuilders() : STAND_IN
    return [type, makeSagaHandler({ builders, ...options }) as Handler] as const
  })
}
