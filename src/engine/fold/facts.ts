/** The facts that fire asks for: loaded rows, with the changes of this transaction on top. */

import type { InstanceRow } from '../../model/rows.ts'
import type { Facts, Ran } from '../../net/facts.ts'
import type { Json } from '../../net/net.ts'
import type { SlotKey, SlotPrefix } from '../../net/slots.ts'
import { detachedAt } from './instance/detached-children.ts'
import { resultOf } from './node-results.ts'
import { slotIn, slotsWith, topSlot } from './slots.ts'
import type { Member, WorkingSet } from './working-set.ts'

/** Created once per member, since a fold asks for them many times. */
export function factsOf(change: WorkingSet, member: Member): Facts {
  member.facts ??= new MemberFacts(change, member)
  return member.facts
}

class MemberFacts implements Facts {
  readonly instance: string
  readonly #change: WorkingSet
  readonly #member: Member

  constructor(change: WorkingSet, member: Member) {
    this.instance = member.row.id
    this.#change = change
    this.#member = member
  }

  slot(key: SlotKey): Json | undefined {
    return slotIn(this.#change, this.#member, key)
  }

  slotsWith(prefix: SlotPrefix): ReturnType<Facts['slotsWith']> {
    return slotsWith(this.#change, this.#member, prefix)
  }

  topSlot(prefix: SlotPrefix): ReturnType<Facts['topSlot']> {
    return topSlot(this.#change, this.#member, prefix)
  }

  result(node: string, fire?: number): Json | undefined {
    return resultOf(this.#change, this.#member, node, fire)
  }

  ran(): readonly Ran[] | undefined {
    return ranOf(this.#change, this.#member)
  }

  childId(node: string, fire: number): string {
    return detachedAt(this.#change, this.#member, node, fire).id
  }

  items(node: string, fire: number, from: number, count: number): readonly Json[] | undefined {
    const hand = this.#member.items.get(`${node}/${fire}`)
    if (hand !== undefined && from >= hand.first) return hand.values.slice(from - hand.first, from - hand.first + count)
    const values: Json[] = []
    for (let i = from; i < from + count; i++) {
      const text = this.#change.loaded.items.get(`${this.instance}/${node}/${fire}/${i}`)
      if (text === undefined) return undefined
      values.push(JSON.parse(text) as Json)
    }
    return values
  }

  unstarted(limit: number): readonly string[] | undefined {
    const { loaded, runs, newRuns } = this.#change
    const id = this.instance
    const stored = this.#member.isNew ? [] : loaded.unstarted.get(id)
    if (stored === undefined) return undefined
    const ids = stored.filter((r) => (runs.get(r.id) ?? r).status === 'pending').map((r) => r.id)
    for (const run of newRuns.values()) {
      if (run.instanceId === id && run.status === 'pending') ids.push(run.id)
    }
    // A run that was given back or will be retried in this transaction is still leased in the store.
    const known = new Set(ids)
    for (const run of runs.values()) {
      if (run.instanceId === id && run.status === 'pending' && !known.has(run.id)) ids.push(run.id)
    }
    return ids.slice(0, limit)
  }

  openChildren(limit: number): readonly string[] | undefined {
    const { loaded, members } = this.#change
    const stored = this.#member.isNew ? [] : loaded.openChildren.get(this.instance)
    if (stored === undefined) return undefined
    const ids = stored.filter((c) => isOpen(members.get(c.id)?.row ?? c)).map((c) => c.id)
    for (const { isNew, row } of members.values()) {
      if (isNew && row.parentId === this.instance && row.parentNode !== null && isOpen(row)) ids.push(row.id)
    }
    return ids.slice(0, limit)
  }

  openGates(limit: number): readonly string[] | undefined {
    const { loaded, gates, newGates } = this.#change
    const stored = this.#member.isNew ? [] : loaded.openGates.get(this.instance)
    if (stored === undefined) return undefined
    const ids = stored.filter((g) => !gates.has(g.id)).map((g) => g.id)
    for (const gate of newGates.values()) {
      if (gate.instanceId === this.instance && gate.state === 'open') ids.push(gate.id)
    }
    return ids.slice(0, limit)
  }
}

function isOpen({ phase }: InstanceRow): boolean {
  return phase === 'forward' || phase === 'final'
}

type Counted = Pick<WorkingSet, 'loaded' | 'members' | 'runs' | 'newRuns'>

/** The counts of the store, plus the children that were created or ended in this transaction. */
function ranOf(change: Counted, { row, isNew }: Member): readonly Ran[] | undefined {
  const stored = isNew ? [] : change.loaded.ran.get(row.id)
  if (stored === undefined) return undefined
  const ran = new Map(stored.map((one) => [one.node, one]))
  // Firings up to this number have their first row in the store.
  const known = isNew ? 0 : (change.loaded.instances.get(row.id)?.fires ?? 0)
  const fresh = new Set<string>()
  const count = (node: string, fire: number, runs: number, done: boolean): void => {
    const before = ran.get(node) ?? { node, fires: 0, runs: 0, done: false }
    const first = fire > known && !fresh.has(`${node}/${fire}`)
    fresh.add(`${node}/${fire}`)
    const fires = before.fires + (first ? 1 : 0)
    ran.set(node, { node, fires, runs: before.runs + runs, done: before.done || done })
  }
  for (const run of change.newRuns.values()) {
    if (run.instanceId === row.id && run.role === 'work') count(run.node ?? '', run.fire, 1, run.status === 'succeeded')
  }
  for (const run of change.runs.values()) {
    if (run.instanceId === row.id && run.role === 'work') count(run.node ?? '', 0, 0, run.status === 'succeeded')
  }
  for (const { row: child, isNew } of change.members.values()) {
    if (child.parentId !== row.id || child.parentNode === null || child.parentRole !== 'work') continue
    count(child.parentNode, isNew ? child.parentFire : 0, 0, child.state === 'completed')
  }
  return [...ran.values()]
}
