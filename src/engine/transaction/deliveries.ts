/** A leased run as its worker receives it. */

import { retriedRun } from '../../model/retried-runs.ts'
import type { RunRow } from '../../model/rows.ts'
import type { Delivery } from '../../worker/port.ts'

export function deliveryOf(run: RunRow, previous?: string | null): Delivery {
  const delivery: { -readonly [K in keyof Delivery]: Delivery[K] } = {
    runId: run.id,
    epoch: run.epoch,
    type: run.type,
    queue: run.queue,
    tenant: run.tenant,
    priority: run.priority,
    payload: run.payload,
    attempt: run.attempt + 1,
    maxAttempts: run.maxAttempts,
    key: run.idempotencyKey ?? retriedRun(run.meta)?.run ?? run.id,
    instanceId: run.instanceId,
    rootId: run.rootId,
    node: run.node,
    fire: run.fire,
    item: run.item,
    role: run.role,
    scope: run.scope,
    limitKey: run.limitKey,
    timeoutMs: run.timeoutMs,
    meta: run.meta,
  }
  if (previous !== undefined) delivery.previous = previous
  return delivery
}
