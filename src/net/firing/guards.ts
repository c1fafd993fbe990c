/** Guards, sets and arguments: gathers the facts an expression names, then lets the evaluator decide. */

import { type Missing, type Scope, Unloaded } from '../facts.ts'
import { inOrder, isMap } from '../json.ts'
import { collects, listResult } from '../lists.ts'
import type { Expr, Json, Node } from '../net.ts'
import { resolveReference, storeOutOfLine } from '../references.ts'
import { SLOT } from '../slots.ts'
import type { Draft } from './draft.ts'
import { Abandoned, MissingFact } from './draft.ts'

export interface Surroundings {
  /** The token's args, read only if the expression names them. */
  readonly args: () => Json | null
  /** What happened to the node whose arcs are tried; null at admission. */
  readonly event: Happened | null
  /** The item of an each whose arguments are rendered. */
  readonly item?: ItemAt
  /** The result of the node itself, where none is recorded: its success came late. */
  readonly own?: { readonly node: string; readonly result: Json }
}

export interface Happened {
  readonly values: { readonly [name: string]: Json }
  /** The node that `event.result` refers to. */
  readonly node: Node
  readonly fire: number
}

export interface ItemAt {
  readonly value: Json
  readonly index: number
  readonly total: number
  /** The notation's name for the item. */
  readonly as: string | null
}

/** Where an expression is, for its error message. */
export interface Spot {
  readonly node: string
  readonly what: string
}

export function truth(d: Draft, source: Expr, around: Surroundings, spot: Spot): boolean {
  return guarded(spot, () => d.evaluate.truth(source, scopeFor(d, d.evaluate.names(source), around)))
}

export function value(d: Draft, source: Expr, around: Surroundings, spot: Spot): Json {
  return guarded(spot, () => d.evaluate.value(source, scopeFor(d, d.evaluate.names(source), around)))
}

export function render(d: Draft, template: Json, around: Surroundings, spot: Spot): Json {
  return guarded(spot, () =>
    inOrder(d.evaluate.render(template, scopeFor(d, d.evaluate.templateNames(template), around))),
  )
}

function guarded<T>(spot: Spot, work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (error instanceof Unloaded) throw error
    const why = error instanceof Error ? error.message : String(error)
    throw new Abandoned(spot.node, { code: 'guard_error', message: `node '${spot.node}', ${spot.what}: ${why}` })
  }
}

/**
 * Only what the expression names is read. A bare name is a node's result, otherwise a key of the input. All missing
 * results of a join are requested at once.
 */
function scopeFor(d: Draft, names: readonly (readonly string[])[], around: Surroundings): Scope {
  const scope: Record<string, Json> = {}
  const part = (name: string): Record<string, Json> => (scope[name] ??= {}) as Record<string, Json>
  const missing: Missing[] = []
  const results = new Map<string, Json>()
  // A notation may have two names for a result, and that of a list is long.
  const resultAt = (node: string): Json => {
    const known = results.get(node)
    if (known !== undefined) return known
    const result = resultOf(d, node, around.own, missing, () => statsAlone(names, node))
    results.set(node, result)
    return result
  }
  const { item } = around
  for (const path of names) {
    const [root, key] = path
    if (root === undefined) continue
    if (root === 'ctx') {
      if (key === undefined) scope.ctx = contextOf(d)
      else {
        const entry = d.slot(SLOT.context.key(key))
        if (entry !== null) part('ctx')[key] = entry
        else part('ctx')
      }
    } else if (root === 'input') scope.input = d.slot(SLOT.input.key)
    else if (root === 'args') scope.args = resolveReference(d, around.args())
    else if (root === 'event') {
      scope.event ??= around.event?.values ?? null
      if (key === 'result' && around.event !== null) part('event').result = eventResult(d, around.event, missing)
    } else if (item !== undefined && (root === 'item' || root === item.as)) scope[root] = item.value
    else if (root === '$place') scope.$place = placeFor(d, item)
    else if (root === 'results') {
      if (key === undefined) throw new Error("'results' needs the name of a node: results.<node>")
      const found = part('results')
      if (d.net.byKey.has(key)) found[key] = resultAt(key)
    } else if (d.net.byKey.has(root)) scope[root] = resultAt(root)
    else {
      const input = d.slot(SLOT.input.key)
      if (isMap(input) && Object.hasOwn(input, root)) scope[root] = input[root] as Json
    }
  }
  if (missing.length > 0) throw new MissingFact(...missing)
  return inOrder(scope) as Scope
}

function contextOf(d: Draft): Json {
  return Object.fromEntries(d.slotsWith(SLOT.context.prefix).map(({ key, value }) => [SLOT.context.nameIn(key), value]))
}

/** true: the expression names only the numbers of this node's result. */
function statsAlone(names: readonly (readonly string[])[], node: string): boolean {
  return names.every(([root, key, below]) => {
    if (root === 'results' && key === node) return below === 'stats'
    return root !== node || key === 'stats'
  })
}

function resultOf(
  d: Draft,
  node: string,
  own: Surroundings['own'],
  missing: Missing[],
  statsAlone: () => boolean,
): Json {
  if (node === own?.node) return own.result
  const { work } = d.node(node)
  if (collects(work)) return listResult(d, node, missing, statsAlone())
  // The reference to a detached child is known before anything is written.
  if (work.kind === 'child' && work.mode === 'detached') return d.slot(SLOT.result.key(node))
  return found({ fact: 'result', node }, d.result(node), missing)
}

/** The result of exactly the firing whose arcs are tried: other firings of the same node may have ended since. */
function eventResult(d: Draft, { values, node, fire }: Happened, missing: Missing[]): Json {
  const { key, work } = node
  if (work.kind === 'pass') return null
  // A gate has the answer of its latest approval, which belongs to this firing if it was approved.
  if (work.kind === 'gate' && values.status !== 'succeeded') return null
  if (work.kind === 'gate' || collects(work) || (work.kind === 'child' && work.mode === 'detached')) {
    return resultOf(d, key, undefined, missing, () => false)
  }
  return found({ fact: 'result', node: key, fire }, d.result(key, fire), missing)
}

function found(fact: Missing, value: Json | undefined, missing: Missing[]): Json {
  if (value === undefined) missing.push(fact)
  return value ?? null
}

function placeFor(d: Draft, item: ItemAt | undefined): Json {
  const { instance } = d.facts
  return item === undefined ? { instance } : { instance, index: item.index, total: item.total, as: item.as }
}

/**
 * The payload of new work: the node's own template rendered, otherwise the token's args as they are. Where results are
 * missing the draft notes which, and continues with a stand-in, so that all joins of a fire are requested at once.
 */
export function payloadOf(
  d: Draft,
  template: Json | null,
  given: { readonly args: Json | null } & Pick<Surroundings, 'item' | 'own'>,
  spot: Spot,
): Payload {
  if (template === null) return { args: given.args, rendered: false }
  const { args, ...rest } = given
  try {
    return { args: render(d, template, { args: () => args, event: null, ...rest }, spot), rendered: true }
  } catch (error) {
    if (!(error instanceof MissingFact) || error.missing.some(({ fact }) => fact !== 'result')) throw error
    for (const missing of error.missing) d.lacking.push(missing)
    return { args: null, rendered: true }
  }
}

export interface Payload {
  readonly args: Json | null
  readonly rendered: boolean
}

/** The same for a run: long args are stored out of line. Long args of the token already are. */
export function runPayload(d: Draft, payload: Payload, shares = false): Payload {
  return payload.rendered ? { ...payload, args: storeOutOfLine(d, payload.args, shares) } : payload
}

/** The same for a child or a gate, which store their args in a place of their own. */
export function wholePayload(d: Draft, payload: Payload): Payload {
  return payload.rendered ? payload : { ...payload, args: resolveReference(d, payload.args) }
}

const usesArgs = new WeakMap<Node, boolean>()

/** Whether the arcs or sets of a node name the token's args: only then must the args outlive the token. */
export function namesArgs(d: Draft, node: Node): boolean {
  let uses = usesArgs.get(node)
  if (uses === undefined) {
    const { evaluate } = d
    const paths = node.next.arcs.flatMap((arc) => [
      ...(arc.when === null ? [] : evaluate.names(arc.when)),
      ...evaluate.templateNames(arc.args as Json),
      ...evaluate.templateNames(arc.set as Json),
    ])
    if (node.set !== undefined) paths.push(...evaluate.templateNames(node.set as Json))
    uses = paths.some(([root]) => root === 'args')
    usesArgs.set(node, uses)
  }
  return uses
}
