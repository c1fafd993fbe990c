/**
 * The forward phase: a token arrives (join, admission) and a node fires. Tokens wait in draft.todo, never on the call
 * stack, so that a cascade of any length is flat and can be cut off. arcs.ts and each.ts handle the end of work.
 */

import type { Outcome, Place } from '../marking.ts'
import type { ChildWork, Json, Node } from '../net.ts'
import { resolveReference } from '../references.ts'
import { SLOT } from '../slots.ts'
import { noteBranch, noteFired } from '../summary.ts'
import { argsOf, keepsArgs, succeedNode } from './arcs.ts'
import { putOff } from './cascade.ts'
import type { Draft } from './draft.ts'
import { isChildItem, issueItems, openEach } from './each.ts'
import { payloadOf, runPayload, truth, wholePayload } from './guards.ts'
import { nodeFailure } from './phases.ts'
import { markSecondTime, rerunDue } from './reruns.ts'
import { endToken, outer, readScope, writeScope } from './scopes.ts'

/** Moves tokens until none is left or the budget of this fire is spent; the rest is put off. */
export function moveTokens(d: Draft): void {
  for (;;) {
    while (d.todo.length > 0 && d.m.phase === 'forward') {
      if (d.moves <= 0 || othersFirst(d)) return putOff(d)
      d.moves--
      if (d.portion !== null && d.portion > 0) d.portion--
      const next = d.todo.shift() as Draft['todo'][number]
      if (next.t === 'token') arrive(d, next.node, next.scope, next.args)
      else if (next.t === 'issue') issueItems(d, next.fire)
      else d.contextChanged = true
    }
    if (d.m.phase !== 'forward' || !d.contextChanged || d.m.held === 0) return
    if (othersFirst(d)) return putOff(d)
    d.contextChanged = false
    retryHeld(d)
  }
}

/** The portion taken up is finished, and other portions are older than what it created. */
function othersFirst(d: Draft): boolean {
  return d.portion === 0 && d.m.more
}

function arrive(d: Draft, key: string, scope: string, args: Json | null): void {
  const node = d.node(key)
  if (node.join === 'count') {
    const slot = SLOT.joinCount.key(key)
    const arrived = (d.slot(slot) ?? 0) + 1
    const due = arrived >= (d.net.inDegree.get(key) ?? 0)
    d.put(slot, due ? null : arrived)
    if (!due) return endToken(d, scope)
  } else if (node.join === 'scope') {
    for (let path = scope; path !== ''; path = outer(path)) {
      const s = readScope(d, path)
      if (s.kind !== 'fork' || s.cont !== key) continue
      writeScope(d, path, { ...s, arrived: s.arrived + 1 })
      return endToken(d, scope)
    }
  }
  const { allow, rule } = admission(d, node, args)
  if (allow) {
    recordAdmission(d, node, rule)
    return fireNode(d, node, scope, args)
  }
  const { tells } = d.net.net
  if (node.admit?.onDeny === 'discard') {
    d.event('node.discarded', key, tells === true ? { rule } : null)
    noteBranch(d)
    return endToken(d, scope)
  }
  d.m.held++
  const token = ++d.m.fires
  d.put(SLOT.heldToken.key(token), { node: key, scope, args })
  d.event('node.held', key, tells === true ? { token, rule } : null)
}

/** `rule`: the index of the rule that decided; null: none did. */
function admission(d: Draft, node: Node, args: Json | null): { readonly allow: boolean; readonly rule: number | null } {
  if (node.admit === null) return { allow: true, rule: null }
  for (const [i, rule] of node.admit.rules.entries()) {
    const spot = { node: node.key, what: `admission rule ${i}` }
    if (rule.when === null || truth(d, rule.when, { args: () => args, event: null }, spot)) {
      return { allow: rule.allow, rule: i }
    }
  }
  return { allow: false, rule: null }
}

/** Recorded before the node fires, with the number that its firing will have. */
function recordAdmission(d: Draft, node: Node, rule: number | null): void {
  if (node.admit === null || d.net.net.tells !== true) return
  d.event('node.admitted', node.key, { fire: d.m.fires + 1, rule })
}

/** The context changed: tokens that were denied may now pass, in the order they came. */
function retryHeld(d: Draft): void {
  for (const held of d.slotsWith(SLOT.heldToken.prefix)) {
    const token = held.value
    const node = d.node(token.node)
    const { allow, rule } = admission(d, node, token.args)
    if (!allow) continue
    if (d.moves-- <= 0) {
      d.todo.push({ t: 'context' })
      return
    }
    d.put(held.key, null)
    d.m.held--
    recordAdmission(d, node, rule)
    fireNode(d, node, token.scope, token.args)
  }
}

/** How many of the discarded tokens are named. */
const MOST_NAMED = 100

/** `held: complete`: only held tokens are left and nothing can change the context any more. */
export function discardHeld(d: Draft): void {
  const held = d.slotsWith(SLOT.heldToken.prefix)
  const named = held.slice(0, MOST_NAMED).map(({ key, value }) => {
    return { node: value.node, token: SLOT.heldToken.numberIn(key) }
  })
  if (d.net.net.tells === true) {
    for (const { node, token } of named) d.event('node.discarded', node, { token, why: 'complete' })
  }
  d.event('node.discarded', null, held.length)
  d.put(SLOT.discarded.key, { held: held.length, nodes: named.map(({ node }) => node) })
  d.m.held = 0
  for (const { key, value } of held) {
    d.put(key, null)
    noteBranch(d)
    endToken(d, value.scope)
  }
}

function fireNode(d: Draft, node: Node, scope: string, args: Json | null): void {
  const { m } = d
  const fire = ++m.fires
  const { work } = node
  const place: Place = { node: node.key, fire, item: -1, role: 'work', scope }
  if (work.kind === 'each') return openEach(d, node, work, place, args)
  if (d.net.net.tells === true && work.kind !== 'run') d.event('node.fired', node.key, { fire, kind: work.kind })
  if (work.kind === 'pass') {
    noteFired(d, node.key)
    return succeedNode(d, node, place, () => args)
  }
  if (work.kind === 'child' && work.mode === 'detached') return startDetached(d, node, work, place, args)
  m.open++
  if (args !== null && keepsArgs(d, node)) d.put(SLOT.tokenArgs.key(fire), args)
  if (work.kind === 'run') {
    const payload = payloadOf(d, work.args, { args }, { node: node.key, what: 'args' })
    d.run(place, runPayload(d, payload), null)
  } else if (work.kind === 'child') {
    const input = payloadOf(d, work.input, { args }, { node: node.key, what: 'input' })
    d.effects.push({ do: 'child', place, net: work.net, attached: true, ...wholePayload(d, input), item: null })
  } else {
    m.gates++
    noteFired(d, node.key)
    d.effects.push({ do: 'gate', place, args: resolveReference(d, args) })
  }
}

/** A detached child: the token continues at once, and the instance only ever knows the child's id. */
function startDetached(d: Draft, node: Node, work: ChildWork, place: Place, args: Json | null): void {
  const input = payloadOf(d, work.input, { args }, { node: node.key, what: 'input' })
  const id = d.facts.childId(node.key, place.fire)
  d.effects.push({ do: 'child', place, net: work.net, attached: false, ...wholePayload(d, input), item: null })
  d.put(SLOT.result.key(node.key), { status: 'started', execution_id: id })
  noteFired(d, node.key)
  succeedNode(d, node, place, () => args)
}

/** true: the net's policy has the work done again, so it has not failed yet. */
export function rerun(d: Draft, place: Place, outcome: Outcome): boolean {
  const error = rerunDue(d, place, outcome)
  const node = d.node(place.node)
  const { work } = node
  if (error === null || (work.kind === 'each' && isChildItem(d, work, place))) return false
  d.event('node.rerun', node.key, { because: 'policy', error: nodeFailure(error, node.key) })
  if (work.kind === 'run' || work.kind === 'each') {
    markSecondTime(d, place)
    d.effects.push({ do: 'redrive', place, because: 'policy' })
    return true
  }
  d.m.open--
  const args = argsOf(d, node, place)()
  fireNode(d, node, place.scope, args)
  markSecondTime(d, { ...place, fire: d.m.fires })
  return true
}
