/** Runs that repeat earlier ones: what their meta says about that, and where their inputs come from. */
import type { RunRow } from './rows.ts'

/** Where in which instance; both null: a run without a workflow. */
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

/** What a run of an instance that repeats another says about its work, beneath `petrel` in its meta. */
export interface RunMarks {
  /** Its arguments are those that an operator gave it. */
  readonly edited?: true
  /** Another instance did the work and keeps it, so it is never undone in this one. */
  readonly kept?: true
}

export function marksOf(meta: string | null): RunMarks {
  if (meta === null || !(meta.includes('"edited"') || meta.includes('"kept"'))) return {}
  return (JSON.parse(meta) as { readonly petrel?: RunMarks }).petrel ?? {}
}

export function markedMeta(meta: string | null, marks: RunMarks): string {
  const other = (meta === null ? {} : JSON.parse(meta)) as { readonly petrel?: object }
  return JSON.stringify({ ...other, petrel: { ...other.petrel, ...marks } })
}
