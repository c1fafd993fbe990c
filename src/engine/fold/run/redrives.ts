/**
 * Runs that go back to work under their own id and key, because an operator resumed their instance, people overruled
 * governance, or the net's policy gives them a second time.
 */

import type { Command } from '../../../model/commands.ts'
import type { RunEventData } from '../../../model/events/run-events.ts'
import type { RunRow } from '../../../model/rows.ts'
import { transitionOf } from '../../../model/run-transitions.ts'
import type { Effect, Place } from '../../../net/marking.ts'
import { recordRunEvent } from '../events.ts'
import type { ChangedRuns, Events, Member, WorkingSet } from '../working-set.ts'
import { replaceRun } from './changed-runs.ts'
import { placeOf, redriven } from './runs.ts'

type Redriving = Events & ChangedRuns & Pick<WorkingSet, 'redrives' | 'commands'>

/** The gate whose people overruled governance. */
type RedriveAbout = Pick<NonNullable<RunEventData['redriven']>, 'gate'>

/** Has the run at hand, should what happens next send it back to work. */
export function bring(
  change: Pick<WorkingSet, 'redrives'>,
  run: RunRow,
  about: RedriveAbout = {},
  actor: string | null = null,
  command: Command | null = null,
): void {
  change.redrives.set(keyOf(run.instanceId, placeOf(run)), { run, about, actor, command })
}

export function redrive(change: Redriving, member: Member, effect: Extract<Effect, { do: 'redrive' }>): void {
  const { place, because } = effect
  const { run, about, actor, command } = change.redrives.get(keyOf(member.row.id, place)) ?? {
    run: endedAt(change, member, place),
    about: {},
    actor: null,
    command: null,
  }
  // A run that somebody deleted while it was ended would be given to nobody.
  const { event } = transitionOf(run.status, 'redrive')
  const row = { ...redriven(run, change.now), deletedAt: null }
  // Its lease ended, and its epoch was bumped, in this very transaction; its report, sent again, is still known.
  replaceRun(change, because === 'policy' ? { ...row, epoch: run.epoch, reportId: run.reportId } : row)
  recordRunEvent(change, row, event, { because, ...about }, actor)
  if (command !== null && place.role === 'work' && member.row.phase === 'undo') askAgain(change, row, command)
}

/** Nothing new is asked for in a rollback: the very command that was not answered is sent once more. */
function askAgain(change: Redriving, row: RunRow, command: Command): void {
  const { id: runId, epoch, timeoutMs } = row
  const { now } = change
  const timeoutAt = timeoutMs === null ? null : now + timeoutMs
  const { to, event } = transitionOf(transitionOf(row.status, 'claim').to, 'defer')
  const held = { status: to, deferred: true, leasedBy: ASKING, leasedAt: now }
  const asked: RunRow = { ...row, ...held, startedAt: now, firstStartedAt: now, timeoutAt }
  replaceRun(change, asked)
  recordRunEvent(change, asked, event, null)
  change.commands.set(runId, { runId, instanceId: row.instanceId as string, epoch, createdAt: now, ...command })
}

/** Stands for the worker that built the command. */
const ASKING = 'petrel'

/** The run of this place that ended in this transaction. Looked for only when it failed, so there is no index of it. */
export function endedAt(change: Pick<WorkingSet, 'runs'>, member: Member, place: Place): RunRow {
  const key = keyOf(member.row.id, place)
  for (const run of change.runs.values()) {
    if (run.instanceId === member.row.id && run.settledAt !== null && keyOf(run.instanceId, placeOf(run)) === key) {
      return run
    }
  }
  throw new Error(`no run of node '${place.node}' has just ended`)
}

function keyOf(instanceId: string | null, { node, fire, item, role }: Place): string {
  return `${instanceId}/${node}/${fire}/${item}/${role}`
}
