/**
 * The id of a workflow. An instance has a UUIDv7; a client may choose another name, also for nested workflows, and then
 * uses only that name. The name is the instance's start key, so no two can have it; each tenant has its own names.
 */

import type { InstanceRow } from '../../../model/rows.ts'

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
