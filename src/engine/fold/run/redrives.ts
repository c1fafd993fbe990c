/**
 * Runs that are executed again. Most go back to work under their own id and key, because an operator resumed their instance,
 * an appeal was approved, or the net's policy retries them. A run of an ended instance is part of that instance's record,
 * which never changes: retrying it creates a run of its own, outside of the instance, with the same arguments, program and
 * results. `meta.petrel.retries` of the new run names the old one and its place; a slot of the instance names the new one.
 */

import { runError } from '../../../kernel/errors.ts'
import type { Command } from '../../../model/commands.ts'
import type { RunEventData } from '../../../model/events/run-events.ts'
import type { RetriedRun } from '../../../model/retried-runs.ts'
import type { RunRow } from '../../../model/rows.ts'
import { transitionOf } from '../../../model/run-transitions.ts'
import type { Effect, Place } from '../../../net/marking.ts'
import { SLOT } from '../../../net/slots.ts'
import { dereferenced } from '../dereference.ts'
import { recordRunEvent } from '../events.ts'
import { memberOf } from '../members.ts'
import { putSlot, slotOf } from '../slots.ts'
import type { ChangedRuns, Events, Member, WorkingSet } from '../working-set.ts'
import { addRun, replaceRun } from './changed-runs.ts'
import { policyOf } from './retry-policy.ts'
import { newRun, placeOf, redriven } from './runs.ts'

type Redriving = Events & ChangedRuns & Pick<WorkingSet, 'redrives' | 'commands'>

/** The gate that overruled governance. */
type RedriveAbout = Pick<NonNullable<RunEventData['redriven']>, 'gate'>

/** Provides a run for the case that the next happening redrives it. */
export function prepareRedrive(
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
  // A run that was deleted after its end would never be handed out.
  const { event } = transitionOf(run.status, 'redrive')
  const row = { ...redriven(run, change.now), deletedAt: null }
  // Its lease ended, and its epoch increased, in this transaction. Its report is still recognised if it is sent again.
  replaceRun(change, because === 'policy' ? { ...row, epoch: run.epoch, reportId: run.reportId } : row)
  recordRunEvent(change, row, event, { because, ...about }, actor)
  if (command !== null && place.role === 'work' && member.row.phase === 'undo') askAgain(change, row, command)
}

/** A rollback builds no new command: the command that was not answered is sent again. */
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

/** The holder, in place of the worker that built the command. */
const ASKING = 'petrel'

/** The run of this place that ended in this transaction. Needed only after a failure, so there is no index for it. */
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

/** Creates the run outside; a run is retried at most once. */
export function retryAsNewRun(change: WorkingSet, run: RunRow, actor: string | null): RunRow {
  const { instanceId, node, item, role } = run
  const member = memberOf(change, instanceId as string)
  const slot = SLOT.retriedRun.key(run.id)
  const before = slotOf(change, member.row.id, slot)
  if (before !== null) {
    const facts = { status: run.status, expected: 'failed' }
    throw runError('conflict', run.id, `was retried before, as run ${before}`, facts)
  }
  const id = change.deps.newId()
  const payload = dereferenced(change, member, run.payload)
  const again = newRun(
    { id, type: run.type, payload, now: change.now },
    {
      priority: run.priority,
      maxAttempts: run.maxAttempts,
      queue: run.queue,
      tenant: run.tenant,
      timeoutMs: run.timeoutMs,
      timeoutPer: run.timeoutPer,
      retry: JSON.stringify(policyOf(change, run)),
      limitKey: run.limitKey,
      fairKey: run.fairKey,
      meta: marked(run.meta, { run: run.id, instanceId, node, item, role }),
    },
  )
  if (run.deadLetter) replaceRun(change, { ...run, deadLetter: false })
  putSlot(member, slot, id)
  member.dirty = true
  addRun(change, again, actor)
  return again
}

function marked(meta: string | null, retries: RetriedRun): string {
  const kept = (meta === null ? {} : JSON.parse(meta)) as { readonly petrel?: object }
  return JSON.stringify({ ...kept, petrel: { ...kept.petrel, retries } })
}
