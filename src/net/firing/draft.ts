/** The marking while one happening is folded into it: mutable counters, slots over facts, effects in order. */
import type { CompiledNet } from '../compile.ts'
import { type Evaluate, type Facts, type Missing, Unloaded } from '../facts.ts'
import type { Effect, Failure, InstanceState, Marking, NetEventData, Place } from '../marking.ts'
import type { Json, Net, Node } from '../net.ts'
import { SLOT, type SlotEntry, type SlotKey, type SlotPrefix } from '../slots.ts'
import { mayFollow } from '../transitions.ts'
import type { Payload } from './guards.ts'

/** Tokens and items one fire may move; the rest is cut off and processed with `continue`. */
export const MOVES_PER_FIRE = 1000

/** A token on its way to a node, a list that still has items to issue, held tokens to try. */
export type Todo =
  | { readonly t: 'token'; readonly node: string; readonly scope: string; readonly args: Json | null }
  | { readonly t: 'issue'; readonly fire: number }
  /** The context changed before the cut: held tokens are still to be tried. */
  | { readonly t: 'context' }

/** Thrown when a fact is not loaded; caught by fire, which asks for it. */
export class MissingFact extends Unloaded {
  readonly missing: readonly Missing[]
  constructor(...missing: readonly Missing[]) {
    super(`missing ${missing.map(({ fact }) => fact).join(', ')}`)
    this.missing = missing
  }
}

/** The cascade cannot continue: all changes of this happening are discarded and the instance drains. */
export class Abandoned extends Error {
  readonly failure: Failure
  readonly node: string
  constructor(node: string, failure: Failure) {
    super(failure.message)
    this.node = node
    this.failure = failure
  }
}

type Counters = { -readonly [K in keyof Marking]: Marking[K] }

export class Draft {
  readonly net: CompiledNet
  readonly facts: Facts
  readonly evaluate: Evaluate
  readonly m: Counters
  readonly slots = new Map<SlotKey, Json | null>()
  readonly effects: Effect[] = []
  readonly todo: Todo[] = []
  /** Lists just evaluated, not yet frozen in items. */
  readonly fresh = new Map<number, readonly Json[]>()
  readonly #results = new Map<string, Json>()
  /** What lists have collected, by node and firing. */
  readonly collected = new Map<string, Json>()
  moves = MOVES_PER_FIRE
  /** How many entries of `todo` belong to the stored portion taken up here; null: none was. */
  portion: number | null = null
  contextChanged = false
  /** Results that arguments of new work name and that are not loaded. Only those arguments depend on them. */
  readonly lacking: Missing[] = []

  constructor(net: CompiledNet, marking: Marking, facts: Facts, evaluate: Evaluate) {
    this.net = net
    this.m = { ...marking }
    this.facts = facts
    this.evaluate = evaluate
  }

  node(key: string): Node {
    const node = this.net.byKey.get(key)
    if (node === undefined) throw new Error(`the net has no node '${key}'`)
    return node
  }

  /** The policy for work of this node whose outcome is unknown. */
  unknownPolicy(key: string): Net['unknown'] {
    return this.node(key).unknown ?? this.net.net.unknown
  }

  /**
   * The only way to change the state. A step that the table does not allow is an error of the engine, not of the
   * workflow.
   */
  enter(state: InstanceState): void {
    const { m } = this
    if (m.state === state) return
    if (!mayFollow(m.state, state)) throw new Error(`an instance that is ${m.state} cannot become ${state}`)
    m.state = state
  }

  /** null: absent. */
  slot<V>(key: SlotKey<V>): V | null {
    const own = this.slots.get(key)
    if (own !== undefined) return own as V | null
    const value = this.facts.slot(key)
    if (value === undefined) throw new MissingFact({ fact: 'slot', key })
    return value as V | null
  }

  /** null removes it. */
  put<V>(key: SlotKey<V>, value: NoInfer<V> | null): void {
    this.slots.set(key, value as Json | null)
  }

  /** Slots under a prefix in key order, with this draft's own changes. */
  slotsWith<V>(prefix: SlotPrefix<V>): readonly SlotEntry<V>[] {
    const stored = this.facts.slotsWith(prefix)
    if (stored === undefined) throw new MissingFact({ fact: 'slotsWith', prefix })
    const merged = new Map<string, Json>(stored.map((s) => [s.key, s.value]))
    for (const [key, value] of this.slots) {
      if (!key.startsWith(prefix)) continue
      if (value === null) merged.delete(key)
      else merged.set(key, value)
    }
    const found = [...merged].map(([key, value]) => ({ key, value })).sort((a, b) => (a.key < b.key ? -1 : 1))
    return found as unknown as readonly SlotEntry<V>[]
  }

  topSlot<V>(prefix: SlotPrefix<V>): SlotEntry<V> | null {
    let top: SlotEntry<V> | null = null
    for (const [key, value] of this.slots) {
      if (value !== null && key.startsWith(prefix) && (top === null || key > top.key)) {
        top = { key, value } as unknown as SlotEntry<V>
      }
    }
    const stored = this.facts.topSlot(prefix)
    if (stored === undefined) throw new MissingFact({ fact: 'topSlot', prefix })
    if (stored === null || (top !== null && top.key > stored.key)) return top
    if (this.slots.get(stored.key as SlotKey) === null) return this.slotsWith(prefix).at(-1) ?? null
    return stored as unknown as SlotEntry<V>
  }

  /** Like facts.result, but read once however many expressions name it: a result may be long. */
  result(node: string, fire?: number): Json | undefined {
    const key = fire === undefined ? node : `${node}/${fire}`
    const known = this.#results.get(key)
    if (known !== undefined) return known
    const value = this.facts.result(node, fire)
    if (value !== undefined) this.#results.set(key, value)
    return value
  }

  items(node: string, fire: number, from: number, count: number): readonly Json[] {
    const values = this.facts.items(node, fire, from, count)
    if (values === undefined) throw new MissingFact({ fact: 'items', node, fire, from, count })
    return values
  }

  event<T extends keyof NetEventData>(type: T, node: string | null, data: NetEventData[T]): void {
    this.effects.push({ do: 'event', type, node, data } as Effect)
  }

  /** Starts a run at this place. */
  run(place: Place, { args, rendered }: Payload, item: Json | null): void {
    this.effects.push({ do: 'run', place, args, rendered, item })
  }

  /**
   * Adds a piece of ended work to what an undo would take back. `result`: of a success reported late, which is recorded
   * nowhere else.
   */
  joinUndo(place: Place, result?: Json): void {
    this.put(SLOT.undo.key(++this.m.doneSeq), { ...place, ...(result === undefined ? {} : { result }) })
  }
}
