/**
 * Folds happenings into a working set, one after another until nothing moves: child ends, parent advances and cancels
 * follow from each other.
 */

import type { InstanceRow } from '../../model/rows.ts'
import { fire } from '../../net/fire.ts'
import type { Effect, Happening, InstanceState } from '../../net/marking.ts'
import { type NodeFailure, SLOT } from '../../net/slots.ts'
import { isExecuting } from '../../net/transitions.ts'
import { markRerun, recordEvent } from './events.ts'
import { factsOf } from './facts.ts'
import { closeGate, openAppeal, openGate } from './gates.ts'
import { childEnded, errorOf } from './instance/child-ends.ts'
import { endHeldRuns, isTimedOut } from './instance/cut-off.ts'
import { childInstance } from './instance/instance-creation.ts'
import { freezeItems } from './instance/item-chunks.ts'
import { memberOf } from './members.ts'
import { NeedMore, needOf } from './need.ts'
import { addRun, cancelUnstarted } from './run/changed-runs.ts'
import { redrive } from './run/redrives.ts'
import { runOf } from './run/run-creation.ts'
import { putSlot } from './slots.ts'
import { recordInstanceFailure } from './terms.ts'
import { follow, type Member, type WorkingSet } from './working-set.ts'

/** Folds a happening and everything that follows from it. */
export function happen(change: WorkingSet, id: string, happening: Happening): void {
  follow(change, id, happening)
  foldPending(change)
}

/** Folds what is pending, and what follows from it, until nothing moves. */
export function foldPending(change: WorkingSet): void {
  const { pending } = change
  for (let next = pending.shift(); next !== undefined; next = pending.shift()) fold(change, next.id, next.happening)
}

function fold(change: WorkingSet, id: string, happening: Happening): void {
  const member = memberOf(change, id)
  const evaluate = change.deps.evaluators.of(member.net.net.dialect).at(change.now)
  const result = fire(member.net, member.row, factsOf(change, member), happening, evaluate)
  if ('missing' in result) {
    const need = needOf(id, result.missing)
    if (result.ahead === null) throw new NeedMore(need)
    // This pass will be repeated. It continues nevertheless, so that everything it lacks is loaded in one round.
    change.lacking.push(need)
    member.row = result.ahead.marking as InstanceRow
    for (const [key, value] of result.ahead.slots) member.slots.set(key, value)
    return
  }
  const { marking, slots, effects } = result.fired
  const before = member.row.state
  // fire received the row itself as the marking, so it returns a complete row.
  member.row = marking as InstanceRow
  member.dirty = true
  if (member.row.endedAt !== null && member.row.phase !== 'ended') member.row = { ...member.row, endedAt: null }
  if (member.row.quotaKey !== null) countQuota(change, member.row.quotaKey, before, member.row.state)
  for (const [key, value] of slots) member.slots.set(key, value)
  // Records the time of the cancel: the instance ends when everything that was active then has ended.
  if (before !== member.row.state && before !== 'cancelling' && member.row.reason === 'cancel') {
    putSlot(member, SLOT.cancelledAt.key, change.now)
  }
  const waits = member.row.state === 'waiting'
  const turned = before !== member.row.state && (waits || before === 'waiting')
  // Events are recorded in causal order: the effects that made it wait come before `waiting`, and `resumed` comes
  // before what follows from it.
  if (turned && !waits) recordEvent(change, member, 'instance.resumed', null, null)
  for (const effect of effects) perform(change, member, effect)
  if (turned && waits) recordEvent(change, member, 'instance.waiting', null, null)
  // After the last chunk of a cancel: runs that were claimed since its first chunk have not been signalled yet.
  const again = happening.kind === 'continue' && isUnwanted(member.row)
  if (again || (happening.kind === 'cancel' && isOverdue(change, member)))
    perform(change, member, { do: 'signal-active' })
}

/**
 * Whether the deadline of an instance it is nested in has stopped it: active work is ended even where its net would
 * await it.
 */
function isOverdue(change: WorkingSet, member: Member): boolean {
  return member.row.phase === 'drain' && member.row.open > 0 && isTimedOut(change, member)
}

/** Whether all open work in it is active work that need not continue. */
function isUnwanted({ phase, reason, open, more }: InstanceRow): boolean {
  return phase === 'drain' && open > 0 && !more && (reason === 'cancel' || reason === 'deadline')
}

function countQuota(change: WorkingSet, key: string, before: InstanceState, after: InstanceState): void {
  const n = Number(isExecuting(after)) - Number(isExecuting(before))
  if (n === 0) return
  if (!change.loaded.limits.has(key) && !change.asked.has(`limit ${key}`)) {
    change.asked.add(`limit ${key}`)
    throw new NeedMore({ limits: [key] })
  }
  change.admission.count(key, n > 0 ? 1 : -1)
}

function perform(change: WorkingSet, member: Member, effect: Effect): void {
  switch (effect.do) {
    case 'run':
      return addRun(change, runOf(change, member, effect))
    case 'child':
      return childInstance(change, member, {
        place: effect.place,
        netHash: effect.net,
        attached: effect.attached,
        args: effect.args,
        rendered: effect.rendered,
        item: effect.item,
      })
    case 'gate':
      return openGate(change, member, effect.place, effect.args)
    case 'appeal':
      return openAppeal(change, member, effect)
    case 'items':
      member.items.set(`${effect.node}/${effect.fire}`, { first: effect.from, values: effect.values })
      return freezeItems(change, member, effect.node, effect.fire, effect.from, effect.values)
    case 'redrive':
      return redrive(change, member, effect)
    case 'cancel-run':
      return cancelUnstarted(change, effect.id)
    case 'cancel-child':
      return follow(change, effect.id, { kind: 'cancel', undo: effect.undo })
    case 'close-gate':
      return closeGate(change, member, effect.id)
    case 'signal-active':
      change.signalled.add(member.row.id)
      return endHeldRuns(change, member)
    case 'deadline':
      member.row = { ...member.row, deadlineAt: effect.inMs === null ? null : change.now + effect.inMs }
      return
    case 'event':
      if (effect.type === 'node.rerun') markRerun(change, member.row.id, effect.node)
      return recordEvent(change, member, effect.type, effect.node, effect.data)
    case 'end':
      return end(change, member)
  }
}

type EndState = 'completed' | 'failed' | 'cancelled' | 'compensated'

function end(change: WorkingSet, member: Member): void {
  const { row } = member
  member.row = { ...row, endedAt: change.now }
  change.endedIds.push(row.id)
  // The reason may have been recorded long before: an unhandled failure ends the instance only when its other branches
  // have ended.
  const error =
    row.state === 'failed' && row.reason === null ? errorOf(change, member) : (member.slots.get(SLOT.error.key) ?? null)
  recordEvent(change, member, `instance.${row.state as EndState}`, null, {
    outcome: row.outcome,
    ...(error === null ? {} : { error: error as NodeFailure }),
  })
  if (row.state === 'failed' && error !== null) recordInstanceFailure(change, row, (error as NodeFailure).code)
  childEnded(change, member)
}
