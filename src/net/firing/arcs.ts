/**
 * What follows when the work of a node has ended: its sets are written, its arcs are tried, and its token continues as
 * one token, as several, or ends. A failure is routed by the node's policy.
 */

import type { Entries, Failure, Place } from '../marking.ts'
import type { Arc, Json, Node } from '../net.ts'
import { storeOutOfLine } from '../references.ts'
import { SLOT } from '../slots.ts'
import { noteBranch, noteFailure } from '../summary.ts'
import type { Draft } from './draft.ts'
import { Abandoned } from './draft.ts'
import { namesArgs, render, type Spot, type Surroundings, truth } from './guards.ts'
import { drain, nodeFailure } from './phases.ts'
import { mayRerun } from './reruns.ts'
import { addLive, emit, endToken, openForks } from './scopes.ts'

interface Ending {
  readonly status: 'succeeded' | 'skipped' | 'failed'
  readonly error: Failure | null
}

/** Where the work ended. */
export type Spent = Pick<Place, 'fire' | 'scope'>

const SUCCEEDED: Ending = { status: 'succeeded', error: null }

/** `args`: those of its token, if the caller has them. */
export function succeedNode(d: Draft, node: Node, at: Spent, args: () => Json | null = argsOf(d, node, at)): void {
  route(d, node, at, args, SUCCEEDED)
}

export function failNode(d: Draft, node: Node, at: Spent, error: Failure, args?: () => Json | null): void {
  const action = node.onFailure === 'net' ? d.net.net.onFailure : node.onFailure
  if (action === 'abort' || action === 'retry') drain(d, 'failure', error, node.key)
  else if (action === 'compensate') drain(d, 'compensate', error, node.key)
  else route(d, node, at, args ?? argsOf(d, node, at), { status: action === 'skip' ? 'skipped' : 'failed', error })
}

/** For the arcs and sets that name them, and for a gate or child that is fired again. */
export function keepsArgs(d: Draft, node: Node): boolean {
  return namesArgs(d, node) || (mayRerun(d, node) && node.work.kind !== 'run')
}

/** Args that are needed later outlive their token in a slot, until the arcs are tried. */
export function argsOf(d: Draft, node: Node, { fire }: Spent): () => Json | null {
  if (!keepsArgs(d, node)) return () => null
  const slot = SLOT.tokenArgs.key(fire)
  const args = d.slot(slot)
  if (args !== null) d.put(slot, null)
  return () => args
}

interface Taken {
  readonly arc: Arc
  readonly i: number
}

function route(d: Draft, node: Node, at: Spent, args: () => Json | null, ending: Ending): void {
  const { arcs } = node.next
  const { status, error } = ending
  const values = {
    node: node.key,
    kind: node.work.kind,
    status,
    ok: status !== 'failed',
    error: error === null ? null : ({ ...error, node: node.key } as Json),
  }
  const around: Surroundings = { args, event: { values, node, fire: at.fire } }
  if (status === 'succeeded' && node.set !== undefined) {
    write(
      d,
      renderEntries(d, node.set, around, (name) => ({ node: node.key, what: `set ${name}` })),
    )
  }
  const taken = takenArcs(d, node, around)
  const handled = status !== 'failed' || taken.some((t) => t.arc.when !== null)
  if (status === 'skipped') d.event('node.skipped', node.key, error === null ? null : nodeFailure(error, node.key))
  recordRouting(d, node, at, status, taken, handled)
  if (error !== null && !fallsAtOnce(d, handled)) noteFailure(d, node.key, error, handled)
  if (!handled && error !== null) {
    keepError(d, node, error)
    if (fallsAtOnce(d, handled)) return drain(d, 'failure', error, node.key)
  }
  if (taken.length === 0) {
    if (arcs.length > 0 && status !== 'failed' && d.net.net.noMatch === 'fail') {
      throw new Abandoned(node.key, { code: 'no_match', message: `no arc of node '${node.key}' matched` })
    }
    noteBranch(d)
    return endToken(d, at.scope)
  }
  const target = openScopes(d, node, at.scope, taken.length)
  for (const { arc, i } of taken) {
    const spot = (what: string): Spot => ({ node: node.key, what: `${what} of arc ${i} to '${arc.to}'` })
    if (arc.set !== null)
      write(
        d,
        renderEntries(d, arc.set, around, (name) => spot(`set ${name}`)),
      )
    emit(
      d,
      arc.to,
      target,
      arc.args === null ? null : storeOutOfLine(d, render(d, arc.args as Json, around, spot('args'))),
    )
  }
}

function takenArcs(d: Draft, node: Node, around: Surroundings): readonly Taken[] {
  const { arcs, mode } = node.next
  const taken: Taken[] = []
  for (const [i, arc] of arcs.entries()) {
    const spot = { node: node.key, what: `guard of arc ${i} to '${arc.to}'` }
    if (arc.when !== null && !truth(d, arc.when, around, spot)) continue
    taken.push({ arc, i })
    if (mode === 'first') break
  }
  return taken
}

/** The reason of the failure if the instance fails because of this. */
function keepError(d: Draft, node: Node, error: Failure): void {
  d.m.unhandled++
  const { failedOn } = d.net.net.verdict
  if (d.m.unhandled === 1 && failedOn === 'unhandled') d.put(SLOT.error.key, nodeFailure(error, node.key))
}

function fallsAtOnce(d: Draft, handled: boolean): boolean {
  return !handled && d.net.net.verdict.failedOn === 'first'
}

function openScopes(d: Draft, node: Node, scope: string, tokens: number): string {
  const continuations = node.next.scope
  if (continuations === null) {
    addLive(d, scope, tokens - 1)
    return scope
  }
  return openForks(d, scope, typeof continuations === 'string' ? [continuations] : continuations, tokens)
}

/** All of them are rendered before one is written: no entry depends on another. */
function renderEntries(d: Draft, set: Entries, around: Surroundings, spot: (name: string) => Spot): Entries {
  const names = Object.keys(set)
  return Object.fromEntries(names.map((name) => [name, render(d, set[name] as Json, around, spot(name))]))
}

/** Held tokens are tried again when nothing else can move. */
export function write(d: Draft, entries: Entries): void {
  for (const [name, value] of Object.entries(entries)) {
    d.put(SLOT.context.key(name), value)
    d.contextChanged = true
  }
}

function recordRouting(
  d: Draft,
  node: Node,
  { fire }: Spent,
  status: Ending['status'],
  taken: readonly Taken[],
  handled: boolean,
): void {
  if (d.net.net.tells !== true) return
  const { mode, arcs } = node.next
  d.event('node.routed', node.key, {
    fire,
    status,
    mode,
    arcs: arcs.length,
    taken: taken.map(({ i }) => i),
    to: taken.map(({ arc }) => arc.to),
    matched: taken.length > 0,
    ...(status === 'failed' ? { handled } : {}),
  })
}
