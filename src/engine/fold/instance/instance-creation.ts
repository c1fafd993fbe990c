/** Creates instances: a root by a start, a child by its parent's net, a retry from the instance it retries. */

import { INSTANCE, type InstanceRow } from '../../../model/rows.ts'
import type { ChildStart, Literal } from '../../../model/start.ts'
import { blank } from '../../../model/table.ts'
import type { GoingBack } from '../../../net/going-back.ts'
import type { Outcome, Place } from '../../../net/marking.ts'
import type { Json, Node } from '../../../net/net.ts'
import type { About } from '../../../net/slots.ts'
import { SLOT } from '../../../net/slots.ts'
import { recordEvent } from '../events.ts'
import { netOf } from '../members.ts'
import { beginOrWait } from '../quotas.ts'
import { chunkOf, literalOf } from '../run/run-creation.ts'
import { putSlot } from '../slots.ts'
import { recordStart } from '../terms.ts'
import type { Member, WorkingSet } from '../working-set.ts'
import { follow } from '../working-set.ts'
import { childBefore } from './carry-over.ts'
import { keepChild } from './child-ends.ts'
import { detachedAt, recordDetached } from './detached-children.ts'
import { withDefaults } from './input-defaults.ts'

export interface NewInstance {
  readonly id: string
  readonly netHash: string
  readonly parent: { readonly row: InstanceRow; readonly place: Place; readonly attached: boolean } | null
  readonly tenant: string | null
  readonly startKey: string | null
  readonly retryOf: string | null
  /** Where in that instance it begins; left out or null: where that one failed. */
  readonly goingBack?: GoingBack | null
  /** Who started it; null: unknown, or its parent did. */
  readonly actor: string | null
  readonly input: Json | null
  readonly meta: Json | null
  readonly literals: { readonly [node: string]: Literal } | null
  readonly items: { readonly [node: string]: readonly Json[] } | null
  /** The quota under which it executes; left out: none. */
  readonly quotaKey?: string | null
  /** Of its runs that have none of their own; as stored. Left out: none. */
  readonly fairKey?: string | null
  /** true: it stays idle until it is started. */
  readonly idle?: boolean
}

const blankInstance = blank(INSTANCE)

/** Adds a new instance to this transaction and starts it, unless it is to be idle. */
export function createInstance(change: WorkingSet, creation: NewInstance): Member {
  const net = netOf(change, creation.netHash)
  const { timeoutMs } = net.net
  const { parent, idle = false } = creation
  const attached = parent?.attached === true
  const row = blankInstance()
  row.phase = 'forward'
  row.state = idle ? 'idle' : 'queued'
  row.id = creation.id
  row.rootId = parent !== null && attached ? parent.row.rootId : creation.id
  row.parentId = parent?.row.id ?? null
  row.parentNode = attached ? parent.place.node : null
  row.parentFire = parent?.place.fire ?? 0
  row.parentItem = parent?.place.item ?? -1
  row.parentScope = parent?.place.scope ?? ''
  row.parentRole = parent?.place.role ?? 'work'
  row.depth = parent === null ? 1 : parent.row.depth + 1
  row.netHash = creation.netHash
  row.name = net.net.name
  row.dialect = net.net.dialect
  row.tenant = creation.tenant
  row.startKey = creation.startKey
  row.retryOf = creation.retryOf
  row.createdAt = change.now
  row.deadlineAt = idle || timeoutMs === null ? null : change.now + timeoutMs
  row.quotaKey = creation.quotaKey ?? null
  row.fairKey = creation.fairKey ?? null
  const member: Member = { row, seq: 0, net, isNew: true, dirty: true, slots: new Map(), items: new Map(), facts: null }
  const input = withDefaults(net.net.input, creation.input)
  if (input !== null) putSlot(member, SLOT.input.key, input)
  if (creation.goingBack != null) putSlot(member, SLOT.goingBack.key, creation.goingBack)
  if (creation.meta !== null) putSlot(member, SLOT.about.key, creation.meta as About)
  if (parent === null) recordStart(change, row, creation.meta as About | null, input)
  putLiterals(member, creation.literals)
  for (const [node, values] of Object.entries(creation.items ?? {})) {
    putSlot(member, SLOT.givenItems.key(node), values.length)
    member.items.set(`${node}/0`, { first: 0, values })
  }
  change.members.set(row.id, member)
  change.deps.nets.remember(row.id, creation.netHash)
  recordEvent(change, member, 'instance.created', null, null, creation.actor)
  if (!idle) beginOrWait(change, member)
  return member
}

function putLiterals(member: Member, literals: NewInstance['literals']): void {
  const chunks = new Map<number, Record<string, Json>>()
  for (const [node, literal] of Object.entries(literals ?? {})) {
    const at = chunkOf(member, node)
    const chunk = chunks.get(at) ?? {}
    chunk[node] = literal as unknown as Json
    chunks.set(at, chunk)
  }
  for (const [at, chunk] of chunks) putSlot(member, SLOT.literals.key(at), chunk)
}

export interface ChildSpec {
  readonly place: Place
  readonly netHash: string
  readonly attached: boolean
  readonly args: Json | null
  readonly rendered: boolean
  readonly item: Json | null
}

export function childInstance(change: WorkingSet, parent: Member, spec: ChildSpec): void {
  const { place } = spec
  if (parent.row.depth >= change.deps.maxDepth) {
    throw new Error(`nested deeper than ${change.deps.maxDepth} levels at node '${place.node}'`)
  }
  const start = startOf(change, parent, spec)
  if (!spec.attached && !recordDetached(change, parent, place.node, place.fire)) return
  const before = spec.attached ? childBefore(change, parent, place) : null
  if (before !== null && before.done !== null) {
    keepChild(change, parent, place, before.done.id)
    const outcome: Outcome = before.done.kept ? { kind: 'succeeded', kept: true } : { kind: 'succeeded' }
    return follow(change, parent.row.id, { kind: 'ended', place, outcome })
  }
  createInstance(change, {
    id: spec.attached ? change.deps.newId() : detachedAt(change, parent, place.node, place.fire).id,
    netHash: spec.netHash,
    parent: { row: parent.row, place, attached: spec.attached },
    tenant: parent.row.tenant,
    fairKey: parent.row.fairKey,
    startKey: start.startKey ?? null,
    retryOf: before?.row?.id ?? null,
    goingBack: before?.back ?? null,
    actor: null,
    input: before?.input ?? (spec.rendered ? spec.args : (start.input ?? spec.args)),
    meta: start.meta === undefined ? null : { meta: start.meta },
    literals: start.literals ?? null,
    items: (start.items as NewInstance['items']) ?? null,
  })
}

function startOf(change: WorkingSet, parent: Member, spec: ChildSpec): ChildStart {
  if (spec.place.item >= 0) {
    const body = (parent.net.byKey.get(spec.place.node) as Node & { work: { body: unknown } }).work.body
    if (body !== null) return { input: spec.item }
    return (spec.item as unknown as { readonly start: ChildStart }).start
  }
  return literalOf(change, parent, spec.place.node)?.start ?? {}
}

/** The names in a start are reserved for its tree; a retry of that tree has none. */
export function withoutNames<T extends ChildStart>(start: T): T {
  const { startKey: _, ...rest } = start
  const unnamed: Record<string, unknown> = rest
  if (start.literals !== undefined) unnamed['literals'] = literalsWithoutNames(start.literals)
  if (start.items !== undefined) {
    unnamed['items'] = Object.fromEntries(
      Object.entries(start.items).map(([node, items]) => [node, itemsWithoutNames(items as readonly Json[])]),
    )
  }
  return unnamed as unknown as T
}

export function literalsWithoutNames(
  literals: NonNullable<NewInstance['literals']>,
): NonNullable<NewInstance['literals']> {
  return Object.fromEntries(
    Object.entries(literals).map(([node, literal]) => [
      node,
      literal.start === undefined ? literal : { ...literal, start: withoutNames(literal.start) },
    ]),
  )
}

export function itemsWithoutNames(items: readonly Json[]): readonly Json[] {
  return items.map((item) => {
    const { child, start } = (item ?? {}) as { readonly child?: Json; readonly start?: ChildStart }
    return typeof child === 'string' && start !== undefined
      ? ({ child, start: withoutNames(start) } as unknown as Json)
      : item
  })
}
