/**
 * The forward phase: a token arrives (join, admission), a node fires, work ends, arcs are tried, scopes close.
 * Tokens wait in draft.todo, never on the call stack, so that a cascade of any length is flat and can be cut off.
 */
import { putOff } from './cascade.ts'
import type { Draft } from './draft.ts'
import { Abandoned, pad } from './draft.ts'
import { namesArgs, payloadOf, render, type Surroundings, truth, value } from './guards.ts'
import type { Failure, Outcome, Place } from './marking.ts'
import type { EachWork, Json, Node } from './net.ts'
import { drain, failureJson } from './phases.ts'
import { markSecondTime, mayRerun, rerunDue } from './reruns.ts'

/** A fork: `live` tokens on their way to `cont`. An each: `live` items not ended. */
type ScopeSlot =
  | { kind: 'fork'; up: string; cont: string; live: number; arrived: number }
  | {
      kind: 'each'
      up: string
      node: string
      fire: number
      args: Json | null
      live: number
      total: number
      next: number
      inFlight: number
      failed: number
    }

interface Ending {
  readonly status: 'succeeded' | 'skipped' | 'failed'
  readonly error: Failure | null
}

const SUCCEEDED: Ending = { status: 'succeeded', error: null }

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

/** The portion taken up is done, and others wait that were made before what it made. */
function othersFirst(d: Draft): boolean {
  return d.portion === 0 && d.m.more
}

export function emit(d: Draft, node: string, scope: string, args: Json | null): void {
  d.todo.push({ t: 'token', node, scope, args })
}

function arrive(d: Draft, key: string, scope: string, args: Json | null): void {
  const node = d.node(key)
  if (node.join === 'count') {
    const slot = `j:${key}`
    const arrived = ((d.slot(slot) as number | null) ?? 0) + 1
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
  if (!admitted(d, node, args)) {
    if (node.admit?.onDeny === 'discard') {
      d.event('node.discarded', key, null)
      return endToken(d, scope)
    }
    d.m.held++
    d.put(`h:${pad(++d.m.fires)}`, { node: key, scope, args })
    return d.event('node.held', key, null)
  }
  fireNode(d, node, scope, args)
}

function admitted(d: Draft, node: Node, args: Json | null): boolean {
  if (node.admit === null) return true
  for (const [i, rule] of node.admit.rules.entries()) {
    const spot = { node: node.key, what: `admission rule ${i}` }
    if (rule.when === null || truth(d, rule.when, { args: () => args, event: null }, spot)) return rule.allow
  }
  return false
}

/** The context changed: what was denied may now go on, in the order it came. */
function retryHeld(d: Draft): void {
  for (const held of d.slotsWith('h:')) {
    const token = held.value as { node: string; scope: string; args: Json | null }
    const node = d.node(token.node)
    if (!admitted(d, node, token.args)) continue
    if (d.moves-- <= 0) {
      d.todo.push({ t: 'context' })
      return
    }
    d.put(held.key, null)
    d.m.held--
    fireNode(d, node, token.scope, token.args)
  }
}

/** `held: complete`: only held tokens are left and nothing can change the context any more. */
export function discardHeld(d: Draft): void {
  const held = d.slotsWith('h:')
  d.event('node.discarded', null, held.length)
  d.m.held = 0
  for (const h of held) {
    d.put(h.key, null)
    endToken(d, (h.value as { scope: string }).scope)
  }
}

function fireNode(d: Draft, node: Node, scope: string, args: Json | null): void {
  const { m } = d
  const fire = ++m.fires
  const { work } = node
  const place: Place = { node: node.key, fire, item: -1, role: 'work', scope }
  if (work.kind === 'pass') return route(d, node, scope, () => args, SUCCEEDED)
  if (work.kind === 'each') return openEach(d, node, work, place, args)
  if (work.kind === 'child' && work.mode === 'detached') {
    const input = payloadOf(d, work.input, args, undefined, { node: node.key, what: 'input' })
    d.effects.push({ do: 'child', place, net: work.net, attached: false, ...input, item: null })
    return route(d, node, scope, () => args, SUCCEEDED)
  }
  m.open++
  if (args !== null && keepsArgs(d, node)) d.put(`t:${fire}`, args)
  const spot = { node: node.key, what: 'args' }
  if (work.kind === 'run') {
    d.effects.push({ do: 'run', place, ...payloadOf(d, work.args, args, undefined, spot), item: null })
  } else if (work.kind === 'child') {
    const input = payloadOf(d, work.input, args, undefined, { node: node.key, what: 'input' })
    d.effects.push({ do: 'child', place, net: work.net, attached: true, ...input, item: null })
  } else {
    m.gates++
    d.effects.push({ do: 'gate', place, args })
  }
}

function openEach(d: Draft, node: Node, work: EachWork, place: Place, args: Json | null): void {
  let total: number
  if (work.items === null) total = (d.slot(`n:${node.key}`) as number | null) ?? 0
  else {
    const list = value(d, work.items, { args: () => args, event: null }, { node: node.key, what: 'items' })
    if (!Array.isArray(list)) {
      const message = `node '${node.key}', items: expected a list, got ${kindOf(list)}`
      throw new Abandoned(node.key, { code: 'guard_error', message })
    }
    total = list.length
    d.fresh.set(place.fire, list)
  }
  if (total === 0) return route(d, node, place.scope, () => args, SUCCEEDED)
  writeScope(d, inner(place.scope, place.fire), {
    kind: 'each',
    up: place.scope,
    node: node.key,
    fire: place.fire,
    args,
    live: total,
    total,
    next: 0,
    inFlight: 0,
    failed: 0,
  })
  issueItems(d, place.fire)
  const list = d.fresh.get(place.fire)
  if (list === undefined) return
  const { next } = readScope(d, inner(place.scope, place.fire)) as { next: number }
  d.fresh.delete(place.fire)
  if (next < total) {
    d.effects.push({ do: 'items', node: node.key, fire: place.fire, from: next, values: list.slice(next) })
  }
}

function issueItems(d: Draft, fire: number): void {
  const slot = `s:${fire}`
  const s = d.slot(slot) as unknown as ScopeSlot | null
  if (s === null || s.kind !== 'each' || s.next >= s.total) return
  const node = d.node(s.node)
  const work = node.work as EachWork
  if (work.failFast && s.failed > 0) return
  const room = work.maxInFlight === null ? s.total : work.maxInFlight - s.inFlight
  const wanted = Math.min(s.total - s.next, room)
  const count = Math.min(wanted, Math.max(d.moves, 1))
  if (count <= 0) return
  const literal = work.items === null
  const values = d.fresh.get(fire)?.slice(s.next, s.next + count) ?? d.items(s.node, literal ? 0 : fire, s.next, count)
  const scope = inner(s.up, fire)
  values.forEach((item, i) => {
    const place: Place = { node: s.node, fire, item: s.next + i, role: 'work', scope }
    const child = childOf(work, item)
    const template = work.body === null ? null : work.body.kind === 'run' ? work.body.args : work.body.input
    const payload = payloadOf(d, template, s.args, item, { node: s.node, what: `args of item ${place.item}` })
    if (child !== null) d.effects.push({ do: 'child', place, net: child, attached: true, ...payload, item })
    else d.effects.push({ do: 'run', place, ...payload, item })
  })
  d.m.open += count
  d.moves -= count
  d.put(slot, { ...s, next: s.next + count, inFlight: s.inFlight + count })
  if (count < wanted) d.todo.push({ t: 'issue', fire })
}

/** An item without a body of the node names its own work: `{ child: hash, … }` or a run. */
function childOf(work: EachWork, item: Json): string | null {
  if (work.body !== null) return work.body.kind === 'child' ? work.body.net : null
  const named = (item as { child?: Json } | null)?.child
  return typeof named === 'string' ? named : null
}

/** Ended work of an each: the node ends when its last item has. */
export function itemEnded(d: Draft, place: Place, failed: boolean): void {
  const path = place.scope
  const s = readScope(d, path) as Extract<ScopeSlot, { kind: 'each' }>
  const node = d.node(place.node)
  const work = node.work as EachWork
  const after = { ...s, live: s.live - 1, inFlight: s.inFlight - 1, failed: s.failed + (failed ? 1 : 0) }
  if (work.failFast && after.failed > 0) {
    after.live -= after.total - after.next
    after.next = after.total
  }
  if (after.live > 0) {
    writeScope(d, path, after)
    if (work.maxInFlight !== null && after.next < after.total) d.todo.push({ t: 'issue', fire: s.fire })
    return
  }
  d.put(scopeKey(path), null)
  if (after.failed === 0) return route(d, node, s.up, () => s.args, SUCCEEDED)
  const error: Failure = { code: 'items_failed', message: `${after.failed} of ${after.total} items failed` }
  failNode(d, { node: node.key, fire: s.fire, item: -1, role: 'work', scope: s.up }, error, () => s.args)
}

export function succeedNode(d: Draft, place: Place): void {
  const node = d.node(place.node)
  route(d, node, place.scope, argsOf(d, node, place), SUCCEEDED)
}

export function failNode(d: Draft, place: Place, error: Failure, args?: () => Json | null): void {
  const node = d.node(place.node)
  const action = node.onFailure === 'net' ? d.net.net.onFailure : node.onFailure
  if (action === 'abort' || action === 'retry') drain(d, 'failure', error, node.key)
  else if (action === 'compensate') drain(d, 'compensate', error, node.key)
  else
    route(d, node, place.scope, args ?? argsOf(d, node, place), {
      status: action === 'skip' ? 'skipped' : 'failed',
      error,
    })
}

/** true: by the net's policy the work is done once more, so it has not failed yet. */
export function rerun(d: Draft, place: Place, outcome: Outcome): boolean {
  const error = rerunDue(d, place, outcome)
  const node = d.node(place.node)
  const { work } = node
  if (error === null || (work.kind === 'each' && childItem(d, work, place))) return false
  d.event('node.rerun', node.key, { because: 'policy', error: failureJson(error, node.key) })
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

function childItem(d: Draft, work: EachWork, { node, item }: Place): boolean {
  if (work.body !== null) return work.body.kind === 'child'
  return childOf(work, d.items(node, 0, item, 1)[0] ?? null) !== null
}

/** For the arcs that name them, and for a gate or child that is fired anew. */
function keepsArgs(d: Draft, node: Node): boolean {
  return namesArgs(d, node) || (mayRerun(d, node) && node.work.kind !== 'run')
}

/** Args that somebody will ask for outlive their token in slot `t:<fire>`, until the arcs are tried. */
function argsOf(d: Draft, node: Node, place: Place): () => Json | null {
  if (!keepsArgs(d, node)) return () => null
  const slot = `t:${place.fire}`
  const args = d.slot(slot)
  if (args !== null) d.put(slot, null)
  return () => args
}

function route(d: Draft, node: Node, scope: string, args: () => Json | null, ending: Ending): void {
  const { arcs, mode } = node.next
  const event: Json = {
    node: node.key,
    status: ending.status,
    ok: ending.status !== 'failed',
    error: ending.error === null ? null : failureJson(ending.error, node.key),
  }
  const around: Surroundings = { args, event }
  const taken = []
  for (const [i, arc] of arcs.entries()) {
    if (arc.when !== null && !truth(d, arc.when, around, { node: node.key, what: `guard of arc ${i} to '${arc.to}'` }))
      continue
    taken.push({ arc, i })
    if (mode === 'first') break
  }
  if (ending.status === 'skipped') d.event('node.skipped', node.key, event.error ?? null)
  if (ending.status === 'failed' && !taken.some((t) => t.arc.when !== null)) d.m.unhandled++
  if (taken.length === 0) {
    if (arcs.length > 0 && ending.status !== 'failed' && d.net.net.noMatch === 'fail') {
      throw new Abandoned(node.key, { code: 'no_match', message: `no arc of node '${node.key}' matched` })
    }
    return endToken(d, scope)
  }
  let target = scope
  if (node.next.scope !== null) {
    target = inner(scope, ++d.m.fires)
    writeScope(d, target, { kind: 'fork', up: scope, cont: node.next.scope, live: taken.length, arrived: 0 })
  } else addLive(d, scope, taken.length - 1)
  for (const { arc, i } of taken) {
    const spot = (what: string) => ({ node: node.key, what: `${what} of arc ${i} to '${arc.to}'` })
    for (const [name, template] of Object.entries(arc.set ?? {})) {
      d.put(`c:${name}`, render(d, template, around, spot(`set ${name}`)))
      d.contextChanged = true
    }
    emit(d, arc.to, target, arc.args === null ? null : render(d, arc.args as Json, around, spot('args')))
  }
}

/** Ends a token, and the scopes that end with it. */
function endToken(d: Draft, scope: string): void {
  for (let path = scope; path !== ''; ) {
    const s = readScope(d, path)
    if (s.live > 1) return writeScope(d, path, { ...s, live: s.live - 1 })
    d.put(scopeKey(path), null)
    if (s.kind === 'fork' && s.arrived > 0) return emit(d, s.cont, s.up, null)
    path = s.up
  }
  d.m.live--
}

function addLive(d: Draft, scope: string, n: number): void {
  if (n === 0) return
  if (scope === '') d.m.live += n
  else {
    const s = readScope(d, scope)
    writeScope(d, scope, { ...s, live: s.live + n })
  }
}

function readScope(d: Draft, path: string): ScopeSlot {
  const s = d.slot(scopeKey(path)) as unknown as ScopeSlot | null
  if (s === null) throw new Error(`scope '${path}' is closed`)
  return s
}

function writeScope(d: Draft, path: string, s: ScopeSlot): void {
  d.put(scopeKey(path), s as unknown as Json)
}

function scopeKey(path: string): string {
  return `s:${path.slice(path.lastIndexOf('.') + 1)}`
}

function inner(path: string, id: number): string {
  return path === '' ? String(id) : `${path}.${id}`
}

function outer(path: string): string {
  const dot = path.lastIndexOf('.')
  return dot < 0 ? '' : path.slice(0, dot)
}

function kindOf(json: Json): string {
  return json === null ? 'null' : typeof json
}
