/** Limits: on leases, by queue or limit key, and on instances, by workflow. Keys of both are in one table. */

import { PetrelError } from '../kernel/errors.ts'
import { scopedName } from '../kernel/scoped-names.ts'
import type { RunRow } from './rows.ts'

const KEYED = 'key:'
const WORKFLOW = 'workflow:'

/**
 * A limit by its key, `queue:<name>` or `key:<limit key>`, or of the instances of a workflow (quotaKey), which has no rate.
 * A field that is left out does not change; in a new limit it is unlimited.
 */
export interface LimitParams {
  readonly key: string
  /** Leased, or executing, at the same time. */
  readonly maxConcurrent?: number | null
  /** Leases per period. */
  readonly ratePer?: number | null
  readonly periodMs?: number | null
}

/**
 * Leases of foreign clients do not count. A run that one of them ended gives its room back when it is settled.
 */
export function holdsRoom(run: Pick<RunRow, 'sessionId' | 'leaseMs' | 'deferred'>): boolean {
  return run.sessionId !== null || run.leaseMs !== null || run.deferred
}

export function limitKeys(run: { readonly queue: string; readonly limitKey: string | null }): readonly string[] {
  const queue = `queue:${run.queue}`
  return run.limitKey === null ? [queue] : [queue, `${KEYED}${run.limitKey}`]
}

/** The key as stored in runs: limit keys of different tenants are different. */
export function tenantLimitKey(key: string | null, tenant: string | null): string | null {
  return key === null ? null : scopedName(key, tenant)
}

/** A limit that is given with a run or a start. Keys of queues and of workflows are complete already. */
export function tenantLimit(p: LimitParams, tenant: string | undefined): LimitParams {
  if (!p.key.startsWith(KEYED)) return p
  return { ...p, key: `${KEYED}${scopedName(p.key.slice(KEYED.length), tenant ?? null)}` }
}

export function checkLimit(p: LimitParams): void {
  const isQuota = isQuotaKey(p.key)
  if (!p.key.startsWith('queue:') && !p.key.startsWith(KEYED) && !isQuota) {
    const keys = "'queue:<name>', 'key:<limit key>' or 'workflow:<tenant>:<name>'"
    throw new PetrelError('invalid_request', `limit '${p.key}': the key is ${keys}`)
  }
  if (isQuota && ((p.ratePer ?? null) !== null || (p.periodMs ?? null) !== null)) {
    throw new PetrelError('invalid_request', `limit '${p.key}': instances have no rate, only maxConcurrent`)
  }
  if ((p.ratePer ?? null) !== null && !((p.periodMs ?? 0) > 0)) {
    throw new PetrelError('invalid_request', `limit '${p.key}': a rate needs periodMs, more than 0`)
  }
}

/** The key of a quota. A colon in a tenant's name is escaped, so that no tenant can use the quota of another. */
export function quotaKey(name: string, tenant: string | null): string {
  return `${WORKFLOW}${(tenant ?? '').replace(/[%:]/g, encodeURIComponent)}:${name}`
}

/** The name of the workflow that a quota is for. */
export function definitionOfQuota(key: string): string {
  return key.slice(key.indexOf(':', WORKFLOW.length) + 1)
}

export function isQuotaKey(key: string): boolean {
  return key.startsWith(WORKFLOW)
}
