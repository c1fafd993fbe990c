/** Finds ids given on the command line, and reports clearly when one does not exist. */

import type { EngineApi } from '../engine/api.ts'
import { PetrelError } from '../kernel/errors.ts'
import { isId } from '../kernel/ids.ts'
import type { RunRow } from '../model/rows.ts'
import { findOneInstance } from '../operations/instances/look.ts'
import type { Perform } from '../operations/operation.ts'
import { showRun } from '../operations/runs/look.ts'
import type { InstanceView } from '../views/view.ts'
import { CliError } from './terminal/failure.ts'

/** false: it is an instance. */
export async function isRun(perform: Perform, id: string): Promise<boolean> {
  const isMissing = (error: unknown): null => {
    if (error instanceof PetrelError && error.code === 'not_found') return null
    throw error
  }
  if ((await perform(findOneInstance, { id }).catch(isMissing)) !== null) return false
  if ((await perform(showRun, { id }).catch(isMissing)) !== null) return true
  throw noSuch('instance or run', id)
}

export async function runOrInstance(
  engine: EngineApi,
  id: string,
): Promise<{ readonly view: InstanceView } | { readonly run: RunRow }> {
  if (!isId(id)) throw noSuch('instance or run', id)
  const view = await engine.view(id)
  if (view !== null) return { view }
  const run = await engine.queries.run(id)
  if (run !== null) return { run }
  throw noSuch('instance or run', id)
}

export async function instanceView(engine: EngineApi, id: string): Promise<InstanceView> {
  const view = isId(id) ? await engine.view(id) : null
  if (view === null) throw noSuch('instance', id)
  return view
}

export function noSuch(what: string, id: string): CliError {
  return new CliError(
    'not_found',
    `there is no ${what} ${id}`,
    '`petrel ls` lists the instances, `petrel show ID` the runs and gates of one',
    { id },
  )
}

export function actor(): string {
  return process.env['USER'] ?? process.env['LOGNAME'] ?? 'cli'
}
