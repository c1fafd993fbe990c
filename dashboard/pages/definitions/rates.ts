/** How the newest instances of a definition went, by the net they execute: versions with the same net share it. */

import type { Answer } from '../../api/answer.ts'
import { readable } from '../../api/batches.ts'

type Listed = Answer<'GET /v1/instances'>['instances'][number]
export type Instance = Exclude<Listed, { readonly error: unknown }>

export interface Rate {
  readonly started: number
  readonly ended: number
  readonly completed: number
  /** Median and 95th percentile from the start to the end of those completed; null: there are none. */
  readonly p50Ms: number | null
  readonly p95Ms: number | null
}

export function ratesOf(listed: readonly Listed[]): ReadonlyMap<string, Rate> {
  const byNet = new Map<string, Instance[]>()
  for (const instance of readable<Instance>(listed, 'state')) {
    const group = byNet.get(instance.net)
    if (group === undefined) byNet.set(instance.net, [instance])
    else group.push(instance)
  }
  return new Map([...byNet].map(([net, group]) => [net, rateOf(group)]))
}

function rateOf(group: readonly Instance[]): Rate {
  const ended = group.filter(({ ended_at: at }) => at !== null)
  const completed = ended.filter(({ state }) => state === 'completed')
  const times = completed
    .map(({ started_at: from, created_at: made, ended_at: to }) => Date.parse(to ?? '') - Date.parse(from ?? made))
    .sort((a, b) => a - b)
  return {
    started: group.length,
    ended: ended.length,
    completed: completed.length,
    p50Ms: quantile(times, 0.5),
    p95Ms: quantile(times, 0.95),
  }
}

function quantile(sorted: readonly number[], share: number): number | null {
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? null
}
