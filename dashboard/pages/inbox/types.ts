/** Types of work: what the registry says of them, whether they are paused, and which workers take them. */
import type { Answer } from '../../api/answer.ts'
import type { Pause } from '../../api/pauses.ts'

export type Entry = Answer<'GET /v1/registry'>['entries'][number]
export type Worker = Answer<'GET /v1/workers'>['workers'][number]

export interface TypeRow {
  readonly type: string
  /** null: it is not registered, and open to all. */
  readonly entry: Entry | null
  readonly pause: Pause | null
  /** Those that take it now. */
  readonly workers: readonly Worker[]
}

/** Registered types, paused ones, and those that a worker names. */
export function typesOf(
  entries: readonly Entry[],
  pauses: ReadonlyMap<string, Pause>,
  workers: readonly Worker[],
): readonly TypeRow[] {
  const taking = workers.filter(({ state }) => state === 'running')
  const named = taking.flatMap(({ types }) => types.filter((type) => !type.includes('%')))
  const byType = new Map(entries.map((entry) => [entry.workflow_name, entry]))
  const types = new Set([...byType.keys(), ...pauses.keys(), ...named])
  return [...types].sort().map((type) => {
    const entry = byType.get(type) ?? null
    return {
      type,
      entry,
      pause: pauses.get(type) ?? null,
      workers: taking.filter((worker) => takes(worker, type) && (entry === null || worker.runtime === entry.runtime)),
    }
  })
}

/** A worker that names no types takes all of them. */
export function takes({ types }: Pick<Worker, 'types'>, type: string): boolean {
  return types.length === 0 || types.some((pattern) => fits(pattern, type))
}

/** `%` stands for any characters. */
function fits(pattern: string, type: string): boolean {
  const parts = pattern.split('%')
  if (parts.length === 1) return pattern === type
  const first = parts[0] as string
  const last = parts.at(-1) as string
  if (!type.startsWith(first) || !type.endsWith(last) || type.length < first.length + last.length) return false
  let at = first.length
  for (const part of parts.slice(1, -1)) {
    const found = type.indexOf(part, at)
    if (found < 0) return false
    at = found + part.length
  }
  return at <= type.length - last.length
}
