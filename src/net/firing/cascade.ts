/**
 * A cascade longer than one fire. The rest is stored in portions, in the order it was made, and each `continue` takes
 * up one: one slot lists the pending portions, and each has a slot of its own. A portion is written once and read once,
 * so that a token costs the same however many are pending behind it.
 */

import { type Portions, SLOT, type SlotKey } from '../slots.ts'
import { type Draft, MissingFact, MOVES_PER_FIRE, type Todo } from './draft.ts'

const NONE: Portions = { first: 0, next: 0 }

/** What this fire did not process: the rest of its own portion stays in front, what it created comes last. */
export function putOff(d: Draft): void {
  if (d.contextChanged) d.todo.push({ t: 'context' })
  let { first, next } = waiting(d)
  const rest = d.todo.splice(0, d.portion ?? 0)
  if (rest.length > 0) d.put(SLOT.portion.key(--first), rest)
  for (let i = 0; i < d.todo.length; i += MOVES_PER_FIRE) {
    d.put(SLOT.portion.key(next++), d.todo.slice(i, i + MOVES_PER_FIRE))
  }
  d.todo.length = 0
  d.put(SLOT.portions.key, { first, next })
  d.m.more = true
}

export function takeUp(d: Draft): void {
  if (!d.m.more) return
  const { first, next } = waiting(d)
  const portion = d.slot(SLOT.portion.key(first)) as readonly Todo[]
  loadJoins(d, portion)
  d.todo.push(...portion)
  d.portion = portion.length
  d.put(SLOT.portion.key(first), null)
  d.m.more = first + 1 < next
  d.put(SLOT.portions.key, d.m.more ? { first: first + 1, next } : null)
}

/** All joins of a portion are requested at once: requested one after another, each would restart the fire. */
function loadJoins(d: Draft, portion: readonly Todo[]): void {
  const missing = new Set<SlotKey>()
  for (const todo of portion) {
    if (todo.t !== 'token' || d.node(todo.node).join !== 'count') continue
    const key = SLOT.joinCount.key(todo.node)
    if (d.facts.slot(key) === undefined) missing.add(key)
  }
  if (missing.size > 0) throw new MissingFact(...[...missing].map((key) => ({ fact: 'slot', key }) as const))
}

/** The pending portions will never move. */
export function drop(d: Draft): void {
  d.todo.length = 0
  if (!d.m.more) return
  const { first, next } = waiting(d)
  for (let n = first; n < next; n++) d.put(SLOT.portion.key(n), null)
  d.put(SLOT.portions.key, null)
  d.m.more = false
}

function waiting(d: Draft): Portions {
  return d.m.more ? (d.slot(SLOT.portions.key) as Portions) : NONE
}
