/** Handlers from a module: `export default { 'order.validate': async (args, ctx) => … }`, or named the same way. */
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type Handler, Handlers } from '../../worker/handlers.ts'
import { CliError } from '../failure.ts'

const EXAMPLE = "write: export default { 'order.validate': async (args, ctx) => ({ ok: true }) }"

export async function loadHandlers(file: string): Promise<Handlers> {
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
  const table = module['default'] ?? module['handlers'] ?? module
  if (typeof table !== 'object' || table === null)
    throw new CliError('invalid_request', `${file} exports no handlers`, EXAMPLE)
  const entries = Object.entries(table)
  const handlers = new Handlers()
  for (const [type, handler] of entries) {
    if (typeof handler !== 'function')
      throw new CliError('invalid_request', `${file}: '${type}' is no function`, EXAMPLE)
    handlers.add(type, handler as Handler)
  }
  if (entries.length === 0) throw new CliError('invalid_request', `${file} exports no handlers`, EXAMPLE)
  return handlers
}
