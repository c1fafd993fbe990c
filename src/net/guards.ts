/** Guards, sets and arguments: gathers the facts an expression names, then lets the evaluator decide. */
import type { Draft } from './draft.ts'
import { Abandoned, MissingFact } from './draft.ts'
import { type Missing, type Scope, Unloaded } from './facts.ts'
import type { Expr, Json, Node } from './net.ts'

export interface Surroundings {
  /** The token's args, read only if the expression names them. */
  readonly args: () => Json | null
  /** What happened to the node whose arcs are tried; null at admission. */
  readonly event: Json | null
  /** The item of an each whose arguments are rendered. */
  readonly item?: Json
  /** The result of the node itself, where none is recorded: its success came late. */
  readonly own?: { readonly node: string; readonly result: Json }
}

/** Where an expression stands, for the message someone will read at night. */
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
  return guarded(spot, () => d.evaluate.render(template, scopeFor(d, d.evaluate.templateNames(template), around)))
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

/** Only what the expression names is read. A bare name is a node's result, else a key of the input. What is missing of a join's many results is asked for at once. */
function scopeFor(d: Draft, names: readonly (readonly string[])[], around: Surroundings): Scope {
  const scope: Record<string, Json> = {}
  const part = (name: string): Record<string, Json> => (scope[name] ??= {}) as Record<string, Json>
  const missing: Missing[] = []
  const result = (node: string): Json => {
    if (node === around.own?.node) return around.own.result
    const known = d.facts.result(node)
    if (known === undefined) missing.push({ fact: 'result', node })
    return known ?? null
  }
  for (const path of names) {
    const [root, key] = path
    if (root === undefined) continue
    if (root === 'ctx') {
      if (key === undefined) scope.ctx = Object.fromEntries(d.slotsWith('c:').map((s) => [s.key.slice(2), s.value]))
      else {
        const entry = d.slot(`c:${key}`)
        if (entry !== null) part('ctx')[key] = entry
        else part('ctx')
      }
    } else if (root === 'input') scope.input = d.slot('in')
    else if (root === 'args') scope.args = around.args()
    else if (root === 'event') scope.event = around.event
    else if (root === 'item' && around.item !== undefined) scope.item = around.item
    else if (root === 'results') {
      if (key === undefined) throw new Error("'results' needs the name of a node: results.<node>")
      part('results')[key] = d.net.byKey.has(key) ? result(key) : null
    } else if (d.net.byKey.has(root)) scope[root] = result(root)
    else {
      const input = d.slot('in')
      if (input !== null && typeof input === 'object' && !Array.isArray(input) && Object.hasOwn(input, root)) {
        scope[root] = (input as { readonly [k: string]: Json })[root] as Json
      }
    }
  }
  if (missing.length > 0) throw new MissingFact(...missing)
  return scope
}

/**
 * What new work is given: the node's own template rendered, else the token's args and no word about the rest. Where it
 * lacks results the draft notes which, and goes on with a stand-in, so that all joins of a fire ask at once.
 */
export function payloadOf(
  d: Draft,
  template: Json | null,
  args: Json | null,
  item: Json | undefined,
  spot: Spot,
  own?: Surroundings['own'],
): { readonly args: Json | null; readonly rendered: boolean } {
  if (template === null) return { args, rendered: false }
  const given = { ...(item === undefined ? {} : { item }), ...(own === undefined ? {} : { own }) }
  const around: Surroundings = { args: () => args, event: null, ...given }
  try {
    return { args: render(d, template, around, spot), rendered: true }
  } catch (error) {
    if (!(error instanceof MissingFact) || error.missing.some(({ fact }) => fact !== 'result')) throw error
    for (const missing of error.missing) d.lacking.push(missing)
    return { args: null, rendered: true }
  }
}

const usesArgs = new WeakMap<Node, boolean>()

/** Whether the arcs of a node name the token's args: only then must they outlive the token. */
export function namesArgs(d: Draft, node: Node): boolean {
  let uses = usesArgs.get(node)
  if (uses === undefined) {
    const { evaluate } = d
    const paths = node.next.arcs.flatMap((arc) => [
      ...(arc.when === null ? [] : evaluate.names(arc.when)),
      ...evaluate.templateNames(arc.args as Json),
      ...evaluate.templateNames(arc.set as Json),
    ])
    uses = paths.some(([root]) => root === 'args')
    usesArgs.set(node, uses)
  }
  return uses
}
