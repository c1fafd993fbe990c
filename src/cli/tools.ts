/** Tools of playbooks, for commands whose own process works on their steps. */
import type { Command } from 'commander'
import { STEP_TYPE } from '../pipeline/program.ts'
import type { Tool } from '../tools/tool.ts'
import type { Tools } from '../tools/tools.ts'
import type { Context } from '../worker/context.ts'
import { Handlers } from '../worker/handlers.ts'
import { CliError } from './failure.ts'

export interface ToolOptions {
  readonly httpAllow?: readonly string[]
  readonly duckdbAllow?: readonly string[]
}

export function toolOptions(command: Command): Command {
  return command
    .option(
      '--http-allow <hosts>',
      'private hosts, addresses or networks that http tasks may ask, by comma; all: any',
      byComma,
    )
    .option(
      '--duckdb-allow <folders>',
      'folders that duckdb tasks may read and write, by comma; all: any, and the network',
      byComma,
    )
}

export const byComma = (text: string): readonly string[] =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')

/** The tools that come with Petrel, and `own` over them; `kinds`: only these. */
export async function makeTools(
  { httpAllow, duckdbAllow }: ToolOptions,
  own: readonly Tool[],
  kinds: readonly string[] | null = null,
): Promise<Tools> {
  const { Tools } = await import('../tools/tools.ts')
  const all = Tools.standard({
    ...(httpAllow === undefined ? {} : { allowPrivate: httpAllow }),
    ...(duckdbAllow === undefined ? {} : { allowFolders: duckdbAllow }),
  })
  for (const tool of own) all.add(tool)
  if (kinds === null) return all
  const some = new Tools()
  for (const kind of kinds) {
    const tool = all.find(kind)
    if (tool === null) {
      throw new CliError('invalid_request', `there is no tool of kind '${kind}'`, `kinds: ${all.kinds().join(', ')}`)
    }
    some.add(tool)
  }
  return some
}

/** With the handler of steps, unless the module has one of its own. */
export function withSteps(own: Handlers | null, tools: Tools): Handlers {
  const handlers = new Handlers()
  for (const [type, handler] of own?.entries() ?? []) handlers.add(type, handler)
  if (handlers.types().includes(STEP_TYPE)) return handlers
  // Loaded meanwhile: a process that serves is ready without it.
  const made = import('../pipeline/handler.ts').then(({ makeStepHandler }) => makeStepHandler({ tools }))
  handlers.add(STEP_TYPE, async (args: never, ctx: Context<never>) => (await made)(args, ctx))
  return handlers
}
