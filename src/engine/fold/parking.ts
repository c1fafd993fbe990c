/**
 * What a pause of an instance means for a transaction that works on its tree. Folds ignore pauses: work ends, tokens move on,
 * runs and gates are created. Afterwards everything that would begin, or become due, is parked (model/pauses): set beyond
 * every clock, before the hand-off sees it. Rows that waited before the pause are parked in portions (engine/control/pauses.ts).
 */

import type { ParkedRow, PausedTimeouts, PauseRow } from '../../model/pauses/pauses.ts'
import { type GateRow, type InstanceRow, PARKED_AT, type RunRow } from '../../model/rows.ts'
import { recordEvent } from './events.ts'
import { memberOf } from './members.ts'
import { NeedMore } from './need.ts'
import { replaceRun } from './run/changed-runs.ts'
import type { Member, WorkingSet } from './working-set.ts'

type Known = Pick<WorkingSet, 'loaded' | 'members'>

/** What the pause of a tree does to its times; null: it is not paused. */
function pausedTimeouts({ loaded, members }: Known, rootId: string): PausedTimeouts | null {
  return (members.get(rootId)?.row ?? loaded.instances.get(rootId))?.paused ?? null
}

/** Nothing becomes due in this tree. True also for what is not parked yet. */
export function timesStandStill(change: Known, rootId: string): boolean {
  return pausedTimeouts(change, rootId) === 'stop'
}

/** After the fold: parks what waits since this transaction. Almost always no root is paused, and this is all it does. */
export function parkWaiting(change: WorkingSet): void {
  const roots = new Set<string>()
  for (const id of change.loaded.locked) if (pausedTimeouts(change, id) !== null) roots.add(id)
  if (roots.size === 0) return
  for (const id of roots) {
    const row = change.members.get(id)?.row
    if (row === undefined || row.endedAt === null) continue
    // Nothing is left that could be resumed.
    endPause(change, memberOf(change, id), pauseOf(change, id))
    roots.delete(id)
  }
  for (const run of [...change.newRuns.values(), ...change.runs.values()]) {
    if (run.rootId !== null && roots.has(run.rootId)) parkRun(change, run, timesStandStill(change, run.rootId))
  }
  for (const member of change.members.values()) {
    if (roots.has(member.row.rootId)) parkMember(change, member)
  }
  for (const gates of [change.newGates, change.gates]) {
    for (const gate of gates.values()) {
      if (roots.has(gate.rootId) && timesStandStill(change, gate.rootId)) parkGate(change, gates, gate)
    }
  }
}

/** The pause of a root that is paused. */
export function pauseOf(change: Pick<WorkingSet, 'loaded' | 'pauses'>, rootId: string): PauseRow {
  const key = { kind: 'instance', key: rootId } as const
  const row = change.pauses.get(`instance ${rootId}`) ?? change.loaded.pauses.get(`instance ${rootId}`)
  if (row === undefined) throw new NeedMore({ pauses: [key] })
  return row
}

/** From now on nothing is parked; what was is released in portions. */
function endPause(change: WorkingSet, root: Member, pause: PauseRow): void {
  root.row = { ...root.row, paused: null }
  root.dirty = true
  change.pauses.set(`instance ${root.row.id}`, { ...pause, state: 'resuming', resumedAt: change.now, cursor: null })
}

/** Ends the pause of a tree, and records who did. `cause`: the pause ended because of something else that they did. */
export function unpause(
  change: WorkingSet,
  root: Member,
  p: { readonly actor: string | null; readonly cause: 'cancel' | null },
): void {
  const pause = pauseOf(change, root.row.id)
  endPause(change, root, pause)
  const data = { paused_ms: Math.max(0, change.now - pause.pausedAt), ...(p.cause === null ? {} : { cause: p.cause }) }
  recordEvent(change, root, 'instance.unpaused', null, data, p.actor)
}

function parkRun(change: WorkingSet, run: RunRow, stops: boolean): void {
  const { id, runAt, expiresAt, timeoutAt } = run
  const owner = run.rootId as string
  if (run.status === 'pending' && runAt < PARKED_AT) {
    const times = stops ? { expiresAt, timeoutAt } : {}
    change.parked.set(id, { ...entry(change, owner, 'run', id), runAt, ...times })
    replaceRun(change, { ...run, runAt: PARKED_AT, ...(stops ? { expiresAt: null, timeoutAt: null } : {}) })
  } else if (stops && run.status === 'leased' && run.deferred && timeoutAt !== null) {
    change.parked.set(id, { ...entry(change, owner, 'run', id), timeoutAt })
    replaceRun(change, { ...run, timeoutAt: null })
  }
}

/** Its deadline, if this transaction has set it; of a root that waits in the queue, its place. */
function parkMember(change: WorkingSet, member: Member): void {
  const { row } = member
  const before = change.loaded.instances.get(row.id)
  const stops = timesStandStill(change, row.rootId)
  const begins = row.paused !== null && before?.paused === null
  const isSet = row.deadlineAt !== null && row.endedAt === null && (begins || row.deadlineAt !== before?.deadlineAt)
  const deadlineAt = stops && isSet ? row.deadlineAt : null
  const queuedAt = begins && row.state === 'queued' && row.quotaKey !== null ? row.queuedAt : null
  if (deadlineAt === null && queuedAt === null) return
  const about = entry(change, row.rootId, 'instance', row.id)
  change.parked.set(row.id, { ...about, deadlineAt, queuedAt, phase: deadlineAt === null ? null : row.phase })
  const parked: Partial<InstanceRow> = {
    ...(deadlineAt === null ? {} : { deadlineAt: null }),
    ...(queuedAt === null ? {} : { queuedAt: PARKED_AT }),
  }
  member.row = { ...row, ...parked }
  member.dirty = true
}

function parkGate(change: WorkingSet, gates: Map<string, GateRow>, gate: GateRow): void {
  const { id, dueAt, escalateAt } = gate
  if (gate.state !== 'open' || (dueAt === null && escalateAt === null)) return
  change.parked.set(id, { ...entry(change, gate.rootId, 'gate', id), dueAt, escalateAt })
  gates.set(id, { ...gate, dueAt: null, escalateAt: null })
}

function entry({ now: since }: Pick<WorkingSet, 'now'>, owner: string, kind: ParkedRow['kind'], id: string): ParkedRow {
  return {
    ...{ owner, id, kind, since, runAt: null, expiresAt: null, timeoutAt: null, dueAt: null, escalateAt: null },
    ...{ deadlineAt: null, queuedAt: null, phase: null },
  }
}
