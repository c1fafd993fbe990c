/**
 * Work with an undo that has taken effect. A retry takes over the duty to undo it, so it must not do it a second time.
 */
import { PetrelError } from '../../../kernel/errors.ts'
import type { Queries } from '../../../model/queries/queries.ts'
import type { InstanceRow } from '../../../model/rows.ts'
import type { CompiledNet } from '../../../net/compile.ts'
import { type EarlierPlace, type GoingBack, partOf } from '../../../net/going-back.ts'
import type { Node } from '../../../net/net.ts'
import { downstreamOf } from '../../../net/reach.ts'
import { undoesInPlace } from '../../../net/transitions.ts'
import { hasEffect, UndoneWork } from './undone-work.ts'

interface Reading {
  readonly queries: Queries
  readonly netOf: (hash: string) => Promise<CompiledNet>
}

/** Of a step, and of nested workflows of one instance. */
const MOST_COUNTED = 1000
const NODES_AT_ONCE = 100

/**
 * Work with an undo that has taken effect is not done a second time by a retry: one of the two effects would never be undone.
 */
export async function refuseStandingWork(
  { queries, netOf }: Reading,
  instance: InstanceRow,
  back: GoingBack,
): Promise<void> {
  const net = await netOf(instance.netHash)
  const [from, ...inner] = back.path ?? []
  if (from === undefined) return
  const later = downstreamOf(net, from.node)
  const nodes = net.net.nodes.filter(({ key, undo }) => undo !== null && (later.has(key) || key === from.node))
  const undone = await UndoneWork.of(queries, instance)
  const standing = new Set<string>()
  for (let at = 0; at < nodes.length; at += NODES_AT_ONCE) {
    const keys = nodes.slice(at, at + NODES_AT_ONCE).map(({ key }) => key)
    const asked = { instanceId: instance.id, nodes: keys, fire: from.fire, most: MOST_COUNTED }
    for (const done of await queries.work.counts(asked)) {
      const part = partOf(net, back, { ...from, node: done.node, fire: from.fire + done.side })
      // Of the chosen place only one item, or only a part of the nested workflow, is done again.
      const whole = part === 'later' || (part === 'chosen' && inner.length === 0 && from.item < 0)
      if (!whole || !hasEffect(done.status)) continue
      if (done.count > undone.count(net.byKey.get(done.node) as Node, done, from.fire)) standing.add(done.node)
    }
  }
  if (inner.length === 0 && (await itemStands(queries, instance, net, from, undone))) standing.add(from.node)
  const children = await queries.children(instance.id, MOST_COUNTED)
  for (const child of children) {
    if (child.parentNode === null || child.state === 'completed') continue
    const place = { node: child.parentNode, fire: child.parentFire, item: child.parentItem }
    const part = partOf(net, back, place)
    const whole = part === 'later' || (part === 'chosen' && inner.length === 0)
    if (whole && (await standsInside({ queries, netOf }, child))) standing.add(child.parentNode)
  }
  if (standing.size > 0) throw notUndone(instance, net, [...standing])
}

/** A nested workflow that did not complete is continued by a plain retry, which would undo its work; a new one would not. */
async function standsInside(reading: Reading, instance: InstanceRow): Promise<boolean> {
  const { queries, netOf } = reading
  const net = await netOf(instance.netHash)
  const nodes = net.net.nodes.filter(({ undo }) => undo !== null)
  const undone = await UndoneWork.of(queries, instance)
  for (let at = 0; at < nodes.length; at += NODES_AT_ONCE) {
    const keys = nodes.slice(at, at + NODES_AT_ONCE).map(({ key }) => key)
    const asked = { instanceId: instance.id, nodes: keys, fire: 0, most: MOST_COUNTED }
    for (const done of await queries.work.counts(asked)) {
      if (!hasEffect(done.status)) continue
      if (done.count > undone.count(net.byKey.get(done.node) as Node, done, 0)) return true
    }
  }
  for (const child of await queries.children(instance.id, MOST_COUNTED)) {
    if (child.parentNode !== null && child.state !== 'completed' && (await standsInside(reading, child))) return true
  }
  return false
}

async function itemStands(
  queries: Queries,
  instance: InstanceRow,
  net: CompiledNet,
  place: EarlierPlace,
  undone: UndoneWork,
): Promise<boolean> {
  const node = net.byKey.get(place.node) as Node
  if (node.undo === null || place.item < 0) return false
  const work = await queries.work.at({ instanceId: instance.id, ...place })
  if (work === null || !hasEffect(work.status)) return false
  return undone.countItem(node, place) === 0
}

function notUndone({ id, state }: InstanceRow, { net }: CompiledNet, steps: readonly string[]): PetrelError {
  const named = steps.map((step) => `'${step}'`).join(', ')
  const message = `the work of ${named} stands and has an undo: a retry would do it twice, and undo it once`
  const resumed =
    undoesInPlace(net) && state === 'failed' ? 'Resume the saga and cancel it, which undoes the work; or ' : ''
  const fork = `${resumed === '' ? 'F' : 'f'}ork it, which leaves that work to this instance: POST /v1/instances/${id}/fork.`
  return new PetrelError('conflict', message, { state, not_undone: steps, hint: `${resumed}${fork}` })
}
