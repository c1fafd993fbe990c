/** Runs in every status and every way of being held, and all that a client or the engine could try with one. */

import { deliveryOf } from '../../src/engine/transaction/deliveries.ts'
import type { LeaseOutcome } from '../../src/model/leases.ts'
import type { RunRow, RunStatus } from '../../src/model/rows.ts'
import type { Report } from '../../src/worker/port.ts'
import type { Performance } from './engine-transitions.ts'
import type { Scene } from './scene.ts'

export type Standing =
  | 'pending'
  | 'held by a session'
  | 'held under a lease of its own'
  | 'held by plain SQL'
  | 'deferred'
  | 'succeeded'
  | 'failed'
  | 'cancelled'

export const STANDINGS: Readonly<Record<Standing, Performance>> = {
  pending: (s) => s.enqueue(),
  'held by a session': async (s) => (await alone(s, () => s.held())).runId,
  'held under a lease of its own': (s) => alone(s, () => s.fetched()),
  'held by plain SQL': (s) => alone(s, () => s.leasedBySql()),
  deferred: async (s) => {
    const delivery = await alone(s, () => s.held())
    await s.settle(delivery, { kind: 'deferred' })
    return delivery.runId
  },
  succeeded: async (s) => {
    const delivery = await alone(s, () => s.held())
    await s.d.succeed(delivery)
    return delivery.runId
  },
  failed: async (s) => {
    const delivery = await alone(s, () => s.held({ maxAttempts: 1 }))
    await s.d.fail(delivery)
    return delivery.runId
  },
  cancelled: async (s) => {
    const id = await s.enqueue()
    await s.d.engine.cancelRun({ id, actor: null })
    return id
  },
}

/** Moves runs that earlier attempts left pending out of the way of the next claim. */
async function alone<T>(s: Scene, work: () => Promise<T>): Promise<T> {
  await s.sql.sql(`UPDATE workflow_run SET status = 'cancelled' WHERE status = 'pending'`)
  return work()
}

const REPORTS: readonly Report['outcome'][] = [
  { kind: 'succeeded', result: '1' },
  { kind: 'failed', error: { code: 'boom', message: 'it broke' } },
  { kind: 'deferred' },
  { kind: 'released' },
  { kind: 'later', delayMs: 1000 },
]

const LEASE_REPORTS: readonly LeaseOutcome[] = [
  { kind: 'succeeded', result: 1 },
  { kind: 'failed', error: { code: 'boom', message: 'it broke' }, how: 'retry' },
  { kind: 'requeue' },
  { kind: 'released' },
  { kind: 'later', delayMs: 1000 },
]

type Operation = (s: Scene, run: RunRow) => Promise<unknown>

/** What operators, workers and services can ask the engine to do with a run. */
export const operations: Readonly<Record<string, Operation>> = {
  claim: (s) => s.d.claim(),
  fetch: (s) => s.fetchOne(),
  cancel: (s, { id }) => s.d.engine.cancelRun({ id, actor: null }),
  redrive: (s, { id }) => s.d.engine.redrive({ runId: id, actor: null }),
  activate: (s, { id }) => s.d.engine.activate({ id, actor: null }),
  prioritize: (s, { id }) => s.d.engine.prioritize({ id, priority: 1, actor: null }),
  delete: (s, { id }) => s.d.engine.deleteRun({ id, actor: null }),
  complete: (s, { id }) => s.d.engine.complete({ runId: id, outcome: { kind: 'succeeded', result: 1 } }),
  started: (s, { id, epoch }) => s.d.session.started([{ runId: id, epoch, at: 0 }]),
  extend: (s, { id }) => s.d.engine.leases.extend({ holder: null, runIds: [id], leaseMs: 60_000 }),
  sweep: (s) => s.d.engine.sweep(),
  ...Object.fromEntries(
    REPORTS.map((outcome): [string, Operation] => [
      `report of a session: ${outcome.kind}`,
      (s, run) => s.settle(deliveryOf(run), outcome),
    ]),
  ),
  ...Object.fromEntries(
    LEASE_REPORTS.map((outcome): [string, Operation] => [
      `report under a lease: ${outcome.kind}`,
      (s, { id }) => s.d.engine.leases.settle([{ runId: id, holder: null, attempt: null, outcome }]),
    ]),
  ),
}

/** The SET lists with which clients of plain SQL may request this status. */
export function attempts({ sql }: Scene, to: RunStatus): Readonly<Record<string, string>> {
  const lease = `leased_by = 'go-9', lease_until = ${sql.later(30)}`
  return {
    'the status alone': `status = '${to}'`,
    'with a lease': `status = '${to}', ${lease}`,
    'with the next attempt': `status = '${to}', attempt = attempt + 1, last_error = 'no'`,
    'with an attempt used before': `status = '${to}', attempt = attempt, last_error = 'no'`,
    'with a result': `status = '${to}', result = '1'`,
  }
}
