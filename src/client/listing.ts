/** What lists of instances, runs and gates can be filtered by. What is left out does not restrict the list. */

import type { EngineApi } from '../engine/api.ts'
import type { GateQuery, RunQuery } from '../model/queries/queries.ts'
import type { GateRow, InstanceRow, RunStatus } from '../model/rows.ts'
import { listedSearch } from '../model/search/listed.ts'
import type { InstanceState } from '../net/marking.ts'

interface Page {
  readonly tenant?: string
  /** Default 100. */
  readonly limit?: number
  /** Only those older than this id: the last of the page before. */
  readonly before?: string
}

export interface InstanceFilter extends Page {
  readonly states?: readonly InstanceState[]
  readonly name?: string
  /** true: without nested workflows. */
  readonly rootsOnly?: boolean
  readonly idempotencyKey?: string
}

export interface RunFilter extends Page {
  readonly status?: readonly RunStatus[]
  readonly queue?: string
  readonly type?: string
  readonly instanceId?: string
}

export interface GateFilter extends Page {
  /** Default: open ones. */
  readonly states?: readonly GateRow['state'][]
  readonly instanceId?: string
}

const PAGE = 100

export async function listedInstances(engine: EngineApi, filter: InstanceFilter): Promise<readonly InstanceRow[]> {
  const { tenant, limit, before } = pageOf(filter)
  const search = listedSearch({
    states: filter.states ?? null,
    name: filter.name ?? null,
    dialect: null,
    rootsOnly: filter.rootsOnly ?? false,
    startKey: filter.idempotencyKey ?? null,
  })
  const rows: InstanceRow[] = []
  for (let place = before; rows.length < limit; ) {
    const page = { search, tenant, limit: limit - rows.length, before: place }
    const found = await engine.queries.search.instances(page)
    rows.push(...found.rows)
    if (found.next === null) break
    place = found.next
  }
  return rows
}

export function runQuery(filter: RunFilter): RunQuery {
  return {
    ...pageOf(filter),
    status: filter.status ?? null,
    queue: filter.queue ?? null,
    type: filter.type ?? null,
    deadLetter: null,
    instanceId: filter.instanceId ?? null,
  }
}

export function gateQuery(filter: GateFilter): GateQuery {
  return { ...pageOf(filter), states: filter.states ?? ['open'], instanceId: filter.instanceId ?? null }
}

function pageOf({ tenant, limit, before }: Page): Pick<RunQuery, 'tenant' | 'limit' | 'before'> {
  return { tenant: tenant ?? null, limit: limit ?? PAGE, before: before ?? null }
}
