/** Where in which instance the inputs of a run come from; both null: a run without a workflow. */
import type { RunRow } from './rows.ts'
export type InputPlace = Pick<RunRow, 'instanceId' | 'node' | 'item' | 'role'>

export interface RetriedRun extends InputPlace {
  readonly run: string
}

/** null: it is not a retry. */
export function retriedRun(meta: string | null): RetriedRun | null {
  if (meta === null || !meta.includes('"retries"')) return null
  const { petrel } = JSON.parse(meta) as { readonly petrel?: { readonly retries?: RetriedRun } }
  return petrel?.retries ?? null
}

/** For a retry, the place of the run that it retries. */
export function inputPlace(run: InputPlace & Pick<RunRow, 'meta'>): InputPlace {
  return run.instanceId === null ? (retriedRun(run.meta) ?? run) : run
}
