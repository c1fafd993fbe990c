/**
 * Runs that the engine ends although a worker holds them, because their instance no longer wants them.
 *
 * After a cancel: those that no session holds, deferred ones and those that foreign clients lease by plain SQL. No signal to
 * stop would reach them; sessions are signalled and end their runs themselves.
 *
 * After a deadline: all of them, in the instance and in those nested in it. A workflow's timeout holds whatever a worker
 * does. The holder is asked to stop, and a later report is stale. The exception is a net that undoes at once and stops at a
 * doubt (sagas): its deferred work is awaited until its own deadline, and its sessions end their runs themselves.
 *
 * A foreign worker that asks for the status of its run sees `cancelled`, and what it writes later is refused. Whether the
 * work took effect is not known.
 */

import type { RunRow } from '../../../model/rows.ts'
import type { Failure } from '../../../net/marking.ts'
import { undoesAtOnce } from '../../../net/transitions.ts'
import { NeedMore } from '../need.ts'
import type { Ending } from '../run/changed-runs.ts'
import { findRun, finishRun } from '../run/changed-runs.ts'
import { NO_REPORT } from '../run/remarks.ts'
import { placeOf } from '../run/runs.ts'
import type { Member, Pending, Runs, WorkingSet } from '../working-set.ts'
import { follow } from '../working-set.ts'

/** Runs ended in one transaction. More than this is hardly possible in one instance, and the rest end by themselves. */
const CHUNK = 10_000

const GIVEN_UP = {
  happening: 'give_up',
  result: null,
  unknown: true,
  deadLetter: false,
  failure: false,
  execution: NO_REPORT,
} as const

export function endHeldRuns(change: Ending & Runs & Pending, member: Member): void {
  if (member.isNew) return
  const { id } = member.row
  const due = isTimedOut(change, member)
  const atOnce = undoesAtOnce(member.net.net, member.row)
  const leased = change.loaded.leased.get(id)
  if (leased === undefined) {
    throw new NeedMore({ leased: [{ instanceId: id, held: due && !atOnce ? 'all' : 'unattended', limit: CHUNK }] })
  }
  const code = due ? 'timeout' : 'cancelled'
  for (const loaded of leased) {
    const run = findRun(change, loaded.id) ?? loaded
    if (run.status !== 'leased' || (atOnce && isAwaited(member, run))) continue
    const error: Failure = { code, message: `given up while it was ${holderText(run)}` }
    const guard = run.deferred ? 'deferred' : null
    const row = finishRun(change, run, { ...GIVEN_UP, guard, error, now: change.now })
    follow(change, id, { kind: 'ended', place: placeOf(row), outcome: { kind: 'unknown', error } })
  }
  if (atOnce) follow(change, id, { kind: 'continue' })
}

/** The other work is undone meanwhile, but the undo does not end before this run has been answered or timed out. */
function isAwaited({ net }: Member, run: RunRow): boolean {
  const policy = net.byKey.get(run.node ?? '')?.unknown ?? net.net.unknown
  return run.deferred && run.role === 'work' && policy === 'stop'
}

/** Whether its own deadline has passed, or that of an instance it is nested in. */
export function isTimedOut(change: Pick<WorkingSet, 'members'>, { row }: Member): boolean {
  if (row.reason === 'deadline') return true
  const parent = row.parentId === null || row.parentNode === null ? undefined : change.members.get(row.parentId)
  return parent !== undefined && parent.row.phase === 'drain' && isTimedOut(change, parent)
}

function holderText(run: RunRow): string {
  return run.deferred ? 'deferred' : `held by ${run.leasedBy ?? 'a foreign client'}`
}
