/** Tools of playbooks, for commands whose own process executes their steps. */
import type { Command } from 'commander'
import { STEP_TYPE, stepTypes } from '../../notations/playbook/runtime/program.ts'
import { checkSecrets, type SecretSources } from '../../notations/playbook/runtime/secret-sources.ts'
import type { Tool } from '../../tools/tool.ts'
import type { Tools } from '../../tools/tools.ts'
import type { Context } from '../../worker/context.ts'
import { Handlers } from '../../worker/handlers.ts'
import { CliError } from '../terminal/failure.ts'

export interface ToolOptions {
  readonly httpAllow?: readonly string[]
  readonly duckdbAllow?: readonly string[]
  readonly postgresAllow?: readonly string[]
  readonly secretsEnv?: readonly string[]
  readonly secretsDir?: string
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
      'folders with databases and files that duckdb tasks may use, by comma; all: any, and the network',
      byComma,
    )
    .option(
      '--postgres-allow <hosts>',
      'private hosts, networks or directories of sockets where postgres tasks may name a database, by comma; all: any',
      byComma,
    )
    .option(
      '--secrets-env <names>',
      'environment variables that keychains may read, by comma: API_TOKEN, APP_*, acme:ACME_* (of tenant acme)',
      byComma,
    )
    .option('--secrets-dir <dir>', 'directory below which keychains may read files; a tenant: below DIR/TENANT')
}

export const byComma = (text: string): readonly string[] =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')

/** The tools that come with Petrel, overridden by `own`; `kinds`: only these. */
export async function makeTools(
  { httpAllow, duckdbAllow, postgresAllow }: ToolOptions,
  own: readonly Tool[],
  kinds: readonly string[] | null = null,
): Promise<Tools> {
  const { Tools } = await import('../../tools/tools.ts')
  const all = Tools.standard({
    ...(httpAllow === undefined ? {} : { allowPrivate: httpAllow }),
    ...(duckdbAllow === undefined ? {} : { allowFolders: duckdbAllow }),
    ...(postgresAllow === undefined ? {} : { allowDatabases: postgresAllow }),
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

/** The secrets that the options allow keychains to read; the environment decides the rest. */
export function givenSecrets({ secretsEnv, secretsDir }: ToolOptions): SecretSources {
  return {
    ...(secretsEnv === undefined ? {} : { env: secretsEnv }),
    ...(secretsDir === undefined ? {} : { dir: secretsDir }),
  }
}

/** For a process that works for the user who started it: everything, unless it is restricted. */
export function ownSecrets(options: ToolOptions): SecretSources {
  return {
    ...(process.env['PETREL_SECRETS_ENV'] === undefined ? { env: true } : {}),
    ...(process.env['PETREL_SECRETS_DIR'] === undefined ? { dir: true } : {}),
    ...givenSecrets(options),
  }
}

/** With the handler of steps, unless the module has one of its own. */
export function withSteps(own: Handlers | null, tools: Tools, secrets: SecretSources): Handlers {
  const handlers = new Handlers()
  for (const [type, handler] of own?.entries() ?? []) handlers.add(type, handler)
  const steps = handlers.find(STEP_TYPE)
  if (steps !== null) {
    if (handlers.find(`${STEP_TYPE}:`) === null) handlers.add(`${STEP_TYPE}:%`, steps)
    return handlers
  }
  checkSecrets(secrets)
  // Loaded in the background: a process that serves is ready without it.
  const made = import('../../notations/playbook/runtime/handler.ts').then(({ makeStepHandler }) =>
    makeStepHandler({ tools, secrets }),
  )
  const handler = async (args: never, ctx: Context<never>): Promise<unknown> => (await made)(args, ctx)
  for (const type of stepTypes(tools.kinds())) handlers.add(type, handler)
  return handlers
}
