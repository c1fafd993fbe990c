/**
 * Handlers from a module: `export default { 'order.validate': async (args, ctx) => … }`, or named the same way. It may
 * also `export const tools = [{ kind, check, run }]`: tools of its own for the steps of playbooks, and
 * `export const sagas = [saga({ … })]`: sagas whose commands it builds.
 */
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Saga } from '../../client/saga.ts'
import type { Tool } from '../../tools/tool.ts'
import { type Handler, Handlers } from '../../worker/handlers.ts'
import { CliError } from '../terminal/failure.ts'

const EXAMPLE = "write: export default { 'order.validate': async (args, ctx) => ({ ok: true }) }"
const SAGA_EXAMPLE = 'write: export const sagas = [saga({ name: "import", steps: [ … ] })]'
const TOOL_EXAMPLE = 'write: export const tools = [{ kind: "greet", check: () => [], run: async (task) => … }]'

export interface HandlersModule {
  /** Empty if the module has only tools or sagas. */
  readonly handlers: Handlers
  readonly tools: readonly Tool[]
  readonly sagas: readonly Saga[]
}

/** undefined: no module is given. */
export async function loadModule(file: string | undefined): Promise<HandlersModule> {
  return file === undefined ? { handlers: new Handlers(), tools: [], sagas: [] } : await loadHandlers(file)
}

async function loadHandlers(file: string): Promise<HandlersModule> {
  const path = resolve(file)
  if (!existsSync(path)) throw new CliError('not_found', `there is no handlers module ${file}`, EXAMPLE)
  let module: { readonly [name: string]: unknown }
  try {
    module = await import(pathToFileURL(path).href)
  } catch (error) {
    if (process.env['PETREL_DEBUG'] === '1') throw error
    const message = error instanceof Error ? error.message : String(error)
    throw new CliError(
      'invalid_request',
      `${file} cannot be loaded: ${message}`,
      'it must be an ES module that Node can import',
    )
  }
  const tools = readTools(file, module['tools'])
  const sagas = readSagas(file, module['sagas'])
  const { tools: _, sagas: __, ...rest } = module
  const table = module['default'] ?? module['handlers'] ?? rest
  if (typeof table !== 'object' || table === null)
    throw new CliError('invalid_request', `${file} exports no handlers`, EXAMPLE)
  const entries = Object.entries(table)
  const handlers = new Handlers()
  for (const [type, handler] of entries) {
    if (typeof handler !== 'function')
      throw new CliError('invalid_request', `${file}: '${type}' is no function`, EXAMPLE)
    handlers.add(type, handler as Handler)
  }
  if (entries.length === 0 && tools.length === 0 && sagas.length === 0)
    throw new CliError('invalid_request', `${file} exports no handlers`, EXAMPLE)
  return { handlers, tools, sagas }
}

function readTools(file: string, given: unknown): readonly Tool[] {
  if (given === undefined) return []
  if (!Array.isArray(given)) throw new CliError('invalid_request', `${file}: tools is no list`, TOOL_EXAMPLE)
  for (const [i, tool] of given.entries()) {
    const { kind, check, run } = (tool ?? {}) as { readonly [name: string]: unknown }
    if (typeof kind !== 'string' || kind === '' || typeof check !== 'function' || typeof run !== 'function')
      throw new CliError('invalid_request', `${file}: tools[${i}] is no tool`, TOOL_EXAMPLE)
  }
  return given as readonly Tool[]
}

function readSagas(file: string, given: unknown): readonly Saga[] {
  if (given === undefined) return []
  const wrong = !Array.isArray(given) ? 'sagas is no list' : given.every(isSaga) ? null : 'sagas has what is no saga'
  if (wrong !== null) throw new CliError('invalid_request', `${file}: ${wrong}`, SAGA_EXAMPLE)
  return given as readonly Saga[]
}

function isSaga(given: unknown): boolean {
  const { text, builders } = (given ?? {}) as Partial<Saga>
  return typeof text === 'string' && typeof builders === 'object'
}
