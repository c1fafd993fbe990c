/**
 * A run that failed for good is done again in place, while its instance continues: its failure is taken back, as if the work
 * had not ended. That contradicts nothing as long as nothing has followed from the failure:
 *
 *   an item          its list is open, and the failure has not kept other items from being issued
 *   a dead end       none of its arcs was taken, and the scope in which its token ended is open
 *   an open join     all its arcs lead, without conditions, to joins that still wait for other branches
 *
 * Otherwise the failure has been passed, and the way back is a retry of the instance after its end.
 */
import type { CompiledNet } from '../compile.ts'
import type { Evaluate, Facts } from '../facts.ts'
import type { Marking, Place } from '../marking.ts'
import type { Node } from '../net.ts'
import { firesOnce } from '../reach.ts'
import { SLOT } from '../slots.ts'
import { forgetFailure } from '../summary.ts'
import { keepsArgs } from './arcs.ts'
import { Draft } from './draft.ts'
import { unlist } from './resume.ts'
import { addLive, type EachScope, writeScope } from './scopes.ts'

export const OBSTACLES = {
  not_work: 'it undoes work or belongs to the end of its workflow, which continues without it',
  ending: 'its workflow is ending',
  appealed: 'governance has forbidden it, and its appeal is open',
  moving: 'what follows from its failure is still in motion',
  list_ended: 'its list has ended',
  list_stopped: 'its failure has stopped the list',
  routed: 'its workflow has continued after the failure',
  joined: 'what waited for it has begun',
  arguments: 'the arguments that its next steps need are no longer known',
} as const

export type Obstacle = keyof typeof OBSTACLES

/** `deadEnd`: it is known from the history that none of its arcs was taken. */
export interface Again {
  readonly place: Place
  readonly deadEnd?: boolean
}

/** Why the failure at this place cannot be taken back; null: it can. Throws MissingFact like `fire`. */
export function obstacleTo(
  net: CompiledNet,
  marking: Marking,
  facts: Facts,
  evaluate: Evaluate,
  again: Again,
): Obstacle | null {
  return obstacle(new Draft(net, marking, facts, evaluate), again)
}

function obstacle(d: Draft, { place, deadEnd = false }: Again): Obstacle | null {
  const { m } = d
  if (place.role !== 'work') return 'not_work'
  if (m.phase !== 'forward') return 'ending'
  if (m.more) return 'moving'
  if (isAppealed(d, place)) return 'appealed'
  if (place.item >= 0) {
    const list = d.slot(SLOT.scope.at(place.scope))
    if (list?.kind !== 'each' || list.fire !== place.fire) return 'list_ended'
    return list.dropped === undefined ? null : 'list_stopped'
  }
  const node = d.node(place.node)
  if (keepsArgs(d, node)) return 'arguments'
  if (place.scope !== '' && d.slot(SLOT.scope.at(place.scope)) === null) return 'routed'
  if (isDeadEnd(node, deadEnd)) return null
  if (!leadsToJoins(d, node)) return 'routed'
  return node.next.arcs.every(({ to }) => d.slot(SLOT.joinCount.key(to)) !== null) ? null : 'joined'
}

/** It has not failed yet: the gate of its appeal is open in its place. */
function isAppealed(d: Draft, { node, fire, item }: Place): boolean {
  if (d.m.gates === 0 || d.node(node).appeal === undefined) return false
  return d.slotsWith(SLOT.appeal.prefix).some(({ value }) => value.place.fire === fire && value.place.item === item)
}

function isDeadEnd({ next }: Node, known: boolean): boolean {
  return known || next.arcs.length === 0
}

function leadsToJoins(d: Draft, { next }: Node): boolean {
  const { arcs, mode, scope } = next
  if (!firesOnce(d.net) || scope !== null || (mode === 'first' && arcs.length > 1)) return false
  return arcs.every(({ to, when, set }) => when === null && set === null && d.node(to).join === 'count')
}

export function takeBack(d: Draft, again: Again): void {
  if (obstacle(d, again) !== null) return
  const { place, deadEnd = false } = again
  const { m } = d
  m.open++
  m.failed--
  if (place.item >= 0) reopenItem(d, place)
  else restoreToken(d, d.node(place.node), place, deadEnd)
  forgetError(d, place)
  if (d.unknownPolicy(place.node) === 'undo' && d.node(place.node).undo !== null) unlist(d, [place])
  d.effects.push({ do: 'redrive', place, because: 'operator' })
}

/** Beside `maxInFlight`: the item had its turn. */
function reopenItem(d: Draft, { scope }: Place): void {
  const list = d.slot(SLOT.scope.at(scope)) as EachScope
  writeScope(d, scope, { ...list, live: list.live + 1, inFlight: list.inFlight + 1, failed: list.failed - 1 })
}

function restoreToken(d: Draft, node: Node, { scope }: Place, deadEnd: boolean): void {
  const end = isDeadEnd(node, deadEnd)
  const skipped = node.onFailure === 'skip'
  if (!skipped) d.m.unhandled--
  addLive(d, scope, 1)
  forgetFailure(d, node.key, end)
  if (end) return
  for (const { to } of node.next.arcs) {
    const slot = SLOT.joinCount.key(to)
    const arrived = (d.slot(slot) ?? 1) - 1
    d.put(slot, arrived === 0 ? null : arrived)
  }
}

/** The error stays while another failure would fail the instance. */
function forgetError(d: Draft, place: Place): void {
  const left = d.net.net.verdict.failedOn === 'any' ? d.m.failed : d.m.unhandled
  if (left === 0 && d.slot(SLOT.error.key)?.node === place.node) d.put(SLOT.error.key, null)
}
