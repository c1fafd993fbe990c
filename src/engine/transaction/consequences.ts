/** What follows from a commit: which workers may have work now, when to sweep again, which workers must stop. */

import { holdsRoom, limitKeys } from '../../model/limits.ts'
import type { WorkingSet } from '../fold/working-set.ts'

export interface Consequences {
  /** Queues in which a run became claimable, or a limit has room again. */
  readonly queues: ReadonlySet<string>
  /** The runs that became claimable. */
  readonly arrived: readonly Arrival[]
  /** None of them is more urgent than this priority. */
  readonly urgency: number
  /** Quotas under which queued instances may begin now. */
  readonly quotas: readonly string[]
  /** The earliest time that this commit wrote; infinite: none. */
  readonly soonest: number
  /** Leases of sessions that ended without a report of their worker; `late`: by a timeout. */
  readonly lost: readonly { readonly sessionId: string; readonly runId: string; readonly late: boolean }[]
}

export function consequencesOf(
  change: Pick<WorkingSet, 'loaded' | 'now' | 'runs' | 'newRuns' | 'gates' | 'newGates' | 'members' | 'admission'>,
): Consequences {
  const queues = new Set<string>()
  const arrived: Arrival[] = []
  const lost: { sessionId: string; runId: string; late: boolean }[] = []
  let soonest = Number.POSITIVE_INFINITY
  let urgency = Number.POSITIVE_INFINITY
  const { limits } = change.loaded
  for (const run of [...change.newRuns.values(), ...change.runs.values()]) {
    if (run.status === 'pending') {
      if (run.runAt <= change.now) {
        queues.add(run.queue)
        arrived.push({ runId: run.id, queue: run.queue, type: run.type, tenant: run.tenant })
        urgency = Math.min(urgency, run.priority)
      } else soonest = Math.min(soonest, run.runAt)
      if (run.expiresAt !== null) soonest = Math.min(soonest, run.expiresAt)
    } else {
      if (run.timeoutAt !== null) soonest = Math.min(soonest, run.timeoutAt)
      if (run.leaseUntil !== null) soonest = Math.min(soonest, run.leaseUntil)
    }
    const before = change.loaded.runs.get(run.id)
    if (before === undefined) continue
    if (before.sessionId !== null && run.sessionId === null && run.reportId === null) {
      const late = before.status === 'leased' && before.timeoutAt !== null && before.timeoutAt <= change.now
      lost.push({ sessionId: before.sessionId, runId: run.id, late })
    }
    const freed = limits.size > 0 && holdsRoom(before) && !holdsRoom(run)
    if (!freed || !limitKeys(run).some((key) => limits.has(key))) continue
    queues.add(run.queue)
    arrived.push({ runId: null, queue: run.queue, type: run.type, tenant: run.tenant })
    // For the instances that are queued there.
    urgency = Number.NEGATIVE_INFINITY
  }
  for (const { state, dueAt, escalateAt } of [...change.newGates.values(), ...change.gates.values()]) {
    if (state === 'open') soonest = Math.min(soonest, dueAt ?? soonest, escalateAt ?? soonest)
  }
  for (const { row } of change.members.values()) {
    if (row.deadlineAt !== null) soonest = Math.min(soonest, row.deadlineAt)
    if (row.more) soonest = change.now
  }
  const quotas = [...change.admission.freed].filter((key) => change.admission.hasRoom(key))
  return { queues, arrived, urgency, quotas, soonest, lost }
}

export interface Arrival {
  /** null: room under a limit of the queue, for any run that was refused before. */
  readonly runId: string | null
  readonly queue: string
  readonly type: string
  readonly tenant: string | null
}
