/**
 * The id of a workflow. An instance has a UUIDv7; a client may choose another name, also for nested workflows, and then
 * uses only that name. The name is the instance's start key, so no two can have it; each tenant has its own names.
 */

import type { InstanceRow } from '../../../model/rows.ts'
import type { Reading } from '../../interface/projection.ts'

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/
const PREFIX = 'ojs:'

export function startKeyOf(id: string, tenant: string | null): string {
  return `${PREFIX}${encodeURIComponent(tenant ?? '')}:${id}`
}

/** The id in one of these start keys. */
export function idOfKey(startKey: string): string {
  return startKey.slice(startKey.indexOf(':', PREFIX.length) + 1)
}

export function workflowId(row: Pick<InstanceRow, 'id' | 'startKey'>): string {
  return row.startKey?.startsWith(PREFIX) ? idOfKey(row.startKey) : row.id
}

/** null: there is no workflow of this name that `tenant` may see (null: may see all). */
export async function findWorkflow(
  reading: Reading,
  id: string,
  tenant: string | null = null,
): Promise<InstanceRow | null> {
  const { queries } = reading
  const byId = UUID.test(id) ? await queries.instance(id) : null
  const row = byId ?? (await queries.trees.instanceByKey(startKeyOf(id, tenant)))
  return row !== null && row.dialect === 'ojs' && (tenant === null || row.tenant === tenant) ? row : null
}
