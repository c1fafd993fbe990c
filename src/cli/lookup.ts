/** Finds ids given on the command line, and reports clearly when one does not exist. */

import { PetrelError } from '../kernel/errors.ts'
import type { RunRow } from '../model/rows.ts'
import { findOneInstance, viewInstance } from '../operations/instances/look.ts'
import type { Perform } from '../operations/operation.ts'
import { showRun } from '../operations/runs/look.ts'
import { type InstanceView, MOST_VIEWED } from '../views/view.ts'
import { CliError } from './terminal/failure.ts'

/** false: it is an instance. */
export async function isRun(perform: Perform, id: string): Promise<boolean> {
  if ((await unlessMissing(perform(findOneInstance, { id }))) !== null) return false
  if ((await unlessMissing(perform(showRun, { id }))) !== null) return true
  throw noSuch('instance or run', id)
}

/** `after`: the page of its runs and children that follows. */
export async function runOrInstance(
  perform: Perform,
  id: string,
  after?: string,
): Promise<{ readonly view: InstanceView } | { readonly run: RunRow }> {
  const page = after === undefined ? {} : { page: { after, limit: MOST_VIEWED } }
  const view = await unlessMissing(perform(viewInstance, { id, ...page }))
  if (view !== null) return { view }
  const run = await unlessMissing(perform(showRun, { id }))
  if (run !== null) return { run }
  throw noSuch('instance or run', id)
}

export async function instanceView(perform: Perform, id: string): Promise<InstanceView> {
  const view = await unlessMissing(perform(viewInstance, { id }))
  if (view === null) throw noSuch('instance', id)
  return view
}

async function unlessMissing<T>(work: Promise<T>): Promise<T | null> {
  try {
    return await work
  } catch (error) {
    if (error instanceof PetrelError && error.code === 'not_found') return null
    throw error
  }
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
