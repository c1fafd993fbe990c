/**
 * A cascade longer than one fire. What is left waits in portions, in the order it was made, and each `continue` takes up
 * one: slot `q` says which portions wait, slot `q:<n>` is one of them. A portion is written once and read once, so that a
 * token costs the same however many wait behind it.
 */
import { type Draft, MissingFact, MOVES_PER_FIRE, type Todo } from './draft.ts'
import type { Json } from './net.ts'

/** Portions `first` to `next` − 1 wait. */
interface Waiting {
  readonly first: number
  readonly next: number
}

const NONE: Waiting = { first: 0, next: 0 }

/** What this fire did not get to: the rest of the portion it took up stays in front, what it made comes last. */
export function putOff(d: Draft): void {
  if (d.contextChanged) d.todo.push({ t: 'context' })
  let { first, next } = waiting(d)
  const rest = d.todo.splice(0, d.portion ?? 0)
  if (rest.length > 0) d.put(`q:${--first}`, rest as unknown as Json)
  for (let i = 0; i < d.todo.length; i += MOVES_PER_FIRE) {
    d.put(`q:${next++}`, d.todo.slice(i, i + MOVES_PER_FIRE) as unknown as Json)
  }
  d.todo.length = 0
  d.put('q', { first, next })
  d.m.more = true
}

export function takeUp(d: Draft): void {
  if (!d.m.more) return
  const { first, next } = waiting(d)
  const portion = d.slot(`q:${first}`) as unknown as readonly Todo[]
  loadJoins(d, portion)
  d.todo.push(...portion)
  d.portion = portion.length
  d.put(`q:${first}`, null)
  d.m.more = first + 1 < next
  d.put('q', d.m.more ? { first: first + 1, next } : null)
}

/** The joins that a portion leads to are asked for at once: one after another, each would begin it anew. */
function loadJoins(d: Draft, portion: readonly Todo[]): void {
  const missing = new Set<string>()
  for (const todo of portion) {
    if (todo.t !== 'token' || d.node(todo.node).join !== 'count') continue
    if (d.facts.slot(`j:${todo.node}`) === undefined) missing.add(`j:${todo.node}`)
  }
  if (missing.size > 0) throw new MissingFact(...[...missing].map((key) => ({ fact: 'slot', key }) as const))
}

/** Nothing of it will ever move. */
export function drop(d: Draft): void {
  d.todo.length = 0
  if (!d.m.more) return
  const { first, next } = waiting(d)
  for (let n = first; n < next; n++) d.put(`q:${n}`, null)
  d.put('q', null)
  d.m.more = false
}

function waiting(d: Draft): Waiting {
  return d.m.more ? (d.slot('q') as unknown as Waiting) : NONE
}
