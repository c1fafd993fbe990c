/**
 * Runs that no worker of ours holds: deferred ones, and those that foreign clients lease by plain SQL. Nobody would hear
 * a signal to stop, so whoever wants them stopped ends them: a foreign worker that asks for the status of its run sees
 * `cancelled`, and what it writes later is refused. Whether the work took effect is not known.
 */
import type { Failure } from '../net/marking.ts'
import type { RunRow } from '../store/rows.ts'
import type { Change, Member } from './change.ts'
import { NeedMore } from './need.ts'
import { placeOf } from './runs.ts'
import { UNTOLD } from './said.ts'

/** Given up at a time; an instance has more than this only in theory, and those end by themselves. */
const CHUNK = 10_000

const GIVEN_UP = { result: null, unknown: true, deadLetter: false, failure: false, told: UNTOLD }

export function abandonUnattended(change: Change, member: Member): void {
  if (member.isNew) return
  const { id, reason } = member.row
  const unattended = change.loaded.unattended.get(id)
  if (unattended === undefined) throw new NeedMore({ unattended: [{ instanceId: id, limit: CHUNK }] })
  const code = reason === 'deadline' ? 'timeout' : 'cancelled'
  for (const loaded of unattended) {
    const run = change.run(loaded.id) ?? loaded
    if (run.status !== 'leased') continue
    const error: Failure = { code, message: `given up while it was ${whereabouts(run)}` }
    const status = run.deferred ? 'failed' : 'cancelled'
    const row = change.finish(run, { ...GIVEN_UP, status, error, now: change.now })
    change.follow(id, { kind: 'ended', place: placeOf(row), outcome: { kind: 'unknown', error } })
  }
}

function whereabouts(run: RunRow): string {
  return run.deferred ? 'deferred' : `held by ${run.leasedBy ?? 'a foreign client'}`
}
