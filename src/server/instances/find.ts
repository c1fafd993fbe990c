/** An instance that somebody names: it is there and theirs, or 404. What belongs to another tenant is not there. */
import type { EngineApi } from '../../engine/api.ts'
import type { Caller } from '../../http/caller.ts'
import { isId } from '../../http/query.ts'
import { notFound } from '../../http/request-error.ts'
import type { InstanceRow } from '../../model/rows.ts'
import type { InstanceView } from '../../views/view.ts'

export type ById = { Params: { readonly id: string } }

export async function findInstance(engine: EngineApi, given: string, caller: Caller): Promise<InstanceView> {
  const view = isId(given) ? await engine.view(given.toLowerCase()) : null
  if (view === null || !mayKnow(caller, view.instance)) throw unknown(given)
  return view
}

/** Only its row: for whoever does not need its runs. */
export async function findRow(engine: EngineApi, given: string, caller: Caller): Promise<InstanceRow> {
  const row = isId(given) ? await engine.queries.instance(given.toLowerCase()) : null
  if (row === null || !mayKnow(caller, row)) throw unknown(given)
  return row
}

export function mayKnow({ tenant }: Caller, row: InstanceRow): boolean {
  return tenant === null || row.tenant === tenant
}

function unknown(given: string): Error {
  return notFound('instance', given, isId(given) ? undefined : 'The id of an instance is a UUID.')
}
