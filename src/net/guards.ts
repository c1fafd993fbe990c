/** Guards, sets and arguments: gathers the facts an expression names, then lets the evaluator decide. */
import type { Draft } from './draft.ts'
import { GuardError, MissingFact } from './draft.ts'
import type { Scope } from './facts.ts'
import type { Expr, Json } from './net.ts'

export interface Surroundings {
  /** The token's args, read only if the expression names them. */
  readonly args: () => Json | null
  /** What happened to the node whose arcs are tried; null at admission. */
  readonly event: Json | null
  /** The item of an each whose arguments are rendered. */
  readonly item?: Json
}

export function truth(d: Draft, source: Expr, around: Surroundings, place: string): boolean {
  return guarded(place, () => d.evaluate.truth(source, scopeFor(d, d.evaluate.names(source), around)))
}

export function value(d: Draft, source: Expr, around: Surroundings, place: string): Json {
  return guarded(place, () => d.evaluate.value(source, scopeFor(d, d.evaluate.names(source), around)))
}

export function render(d: Draft, template: Json, around: Surroundings, place: string): Json {
  return guarded(place, () => d.evaluate.render(template, scopeFor(d, d.evaluate.templateNames(template), around)))
}

function guarded<T>(place: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (error instanceof MissingFact) throw error
    throw new GuardError(place, error)
  }
}

/** Only what the expression names is read. A bare name is a node's result, else a key of the input. */
function scopeFor(d: Draft, names: readonly (readonly string[])[], around: Surroundings): Scope {
  const scope: Record<string, Json> = {}
  const part = (name: string): Record<string, Json> => (scope[name] ??= {}) as Record<string, Json>
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
      part('results')[key] = d.net.byKey.has(key) ? d.result(key) : null
    } else if (d.net.byKey.has(root)) scope[root] = d.result(root)
    else {
      const input = d.slot('in')
      if (input !== null && typeof input === 'object' && !Array.isArray(input) && Object.hasOwn(input, root)) {
        scope[root] = (input as { readonly [k: string]: Json })[root] as Json
      }
    }
  }
  return scope
}

/** What new work is given: the node's own template rendered, else the token's args and no word about the rest. */
export function payloadOf(
  d: Draft,
  template: Json | null,
  args: Json | null,
  item: Json | undefined,
  place: string,
): { readonly args: Json | null; readonly rendered: boolean } {
  if (template === null) return { args, rendered: false }
  const around: Surroundings = { args: () => args, event: null, ...(item === undefined ? {} : { item }) }
  return { args: render(d, template, around, `${place}, args`), rendered: true }
}
