/**
 * What the end of a run will need, as far as its net determines it: loaded with the first read, so that a step costs no
 * second one. The rest is requested when the fold needs it.
 */

import { limitKeys } from '../../model/limits.ts'
import type { Need } from '../../model/transaction.ts'
import type { CompiledNet } from '../../net/compile.ts'
import { collects } from '../../net/lists.ts'
import type { Json, Node } from '../../net/net.ts'
import { SLOT } from '../../net/slots.ts'
import type { Delivery } from '../../worker/port.ts'
import type { Evaluators } from '../fold/evaluators.ts'
import { chunkOf } from '../fold/run/run-creation.ts'
import type { Nets } from './nets.ts'

/** A run that will be settled, as it was handed out, if that is known. */
export interface Expected {
  readonly runId: string
  readonly instanceId: string | null
  readonly delivery: Delivery | undefined
}

/** What the arguments of a node are computed from. */
interface Sources {
  readonly slots: readonly string[]
  readonly results: readonly string[]
}

type Order = { readonly queue: string; readonly limitKey: string | null }

/** What is needed when a node has ended. */
interface Prospect {
  readonly slots: ReadonlySet<string>
  /** Without duplicate queues and limits. */
  readonly orders: readonly Order[]
  readonly results: ReadonlySet<string>
}

export class Prefetch {
  readonly #nets: Nets
  readonly #evaluators: Evaluators
  /** Both are computed once per node, because many ends lead to the same joins. */
  readonly #prospects = new WeakMap<Node, Prospect>()
  readonly #ingredients = new WeakMap<Node, Sources>()

  constructor(nets: Nets, evaluators: Evaluators) {
    this.#nets = nets
    this.#evaluators = evaluators
  }

  needOf(batch: Iterable<Expected>): Need {
    const runs: string[] = []
    const found = new Found()
    for (const { runId, instanceId, delivery } of batch) {
      runs.push(runId)
      if (instanceId !== null) found.instances.add(instanceId)
      if (delivery !== undefined) this.#foresee(delivery, found)
    }
    return { runs, ...found.need }
  }

  #foresee(delivery: Delivery, found: Found): void {
    found.order(delivery)
    if (delivery.instanceId === null || delivery.node === null) return
    const net = this.#nets.ofInstance(delivery.instanceId)
    if (net === undefined) return
    const slots = found.slotsOf(delivery.instanceId)
    if (delivery.scope !== '') for (const id of delivery.scope.split('.')) slots.add(SLOT.scope.key(Number(id)))
    for (const { node } of net.net.finals) found.nodeOrder(net.byKey.get(node))
    if (delivery.role === 'undo') found.undone.add(delivery.instanceId)
    else if (delivery.role === 'work') this.#after(net, delivery, slots, found)
  }

  #after(net: CompiledNet, { instanceId, node, item }: Delivery, slots: Set<string>, found: Found): void {
    const prospect = this.#prospectOf(net, net.byKey.get(node as string))
    for (const order of prospect.orders) found.order(order)
    if (item >= 0) return
    for (const key of prospect.slots) slots.add(key)
    for (const name of prospect.results) if (name !== node) found.result(instanceId as string, name)
  }

  #prospectOf(net: CompiledNet, node: Node | undefined): Prospect {
    if (node === undefined) return { slots: new Set(), orders: [], results: new Set() }
    const known = this.#prospects.get(node)
    if (known !== undefined) return known
    const slots = new Set<string>()
    const results = new Set<string>()
    const orders = new Map<string, Order>()
    for (const { to } of node.next.arcs) {
      const target = net.byKey.get(to)
      if (target === undefined) continue
      const { key, work, join } = target
      if (join === 'count') slots.add(SLOT.joinCount.key(key))
      if (work.kind === 'child' || (work.kind === 'run' && work.args === null))
        slots.add(SLOT.literals.key(chunkOf({ net }, key)))
      if (work.kind === 'run') orders.set(`${work.queue} ${work.limitKey}`, work)
      // A join of many branches has no work itself, so its successors begin at once.
      if (work.kind === 'pass' && node.work.kind !== 'pass') {
        const beyond = this.#prospectOf(net, target)
        for (const slot of beyond.slots) slots.add(slot)
        for (const order of beyond.orders) orders.set(`${order.queue} ${order.limitKey}`, order)
      }
      const given = this.#ingredientsOf(net, target)
      for (const slot of given.slots) slots.add(slot)
      // Only the join's slot shows which end completes it: its arguments are requested then.
      if (node.work.kind !== 'pass' && join !== 'count') for (const name of given.results) results.add(name)
    }
    const prospect = { slots, results, orders: [...orders.values()] }
    this.#prospects.set(node, prospect)
    return prospect
  }

  #ingredientsOf(net: CompiledNet, node: Node): Sources {
    let known = this.#ingredients.get(node)
    if (known === undefined) {
      const { work } = node
      const template = work.kind === 'run' ? work.args : work.kind === 'child' ? work.input : null
      const evaluate = this.#evaluators.of(net.net.dialect)
      known = sourcesOf(net, template === null ? [] : evaluate.templateNames(template as Json))
      this.#ingredients.set(node, known)
    }
    return known
  }
}

/** As src/net/firing/guards.ts reads names: a bare name is a node's result, otherwise a key of the input. */
function sourcesOf(net: CompiledNet, names: readonly (readonly string[])[]): Sources {
  const slots = new Set<string>()
  const results = new Set<string>()
  // Its slot has the firing of a list that is meant; the items are requested then, if they are needed at all.
  const result = (node: string): void => {
    if (collects(net.byKey.get(node)?.work)) slots.add(SLOT.closedList.key(node))
    else results.add(node)
  }
  for (const [root, key] of names) {
    if (root === 'ctx') {
      if (key !== undefined) slots.add(SLOT.context.key(key))
    } else if (root === 'results') {
      if (key !== undefined) result(key)
    } else if (root !== undefined && net.byKey.has(root)) result(root)
    else if (root !== 'args' && root !== 'event' && root !== 'item' && root !== '$place') slots.add(SLOT.input.key)
  }
  return { slots: [...slots], results: [...results] }
}

class Found {
  readonly instances = new Set<string>()
  /** Instances of which an undo ends: the next undo is the last one in the list. */
  readonly undone = new Set<string>()
  readonly #slots = new Map<string, Set<string>>()
  readonly #results = new Map<string, { readonly instanceId: string; readonly node: string }>()
  readonly #queues = new Set<string>()
  readonly #limits = new Set<string>()

  slotsOf(instanceId: string): Set<string> {
    const known = this.#slots.get(instanceId)
    if (known !== undefined) return known
    const slots = new Set<string>()
    this.#slots.set(instanceId, slots)
    return slots
  }

  result(instanceId: string, node: string): void {
    this.#results.set(`${instanceId}/${node}`, { instanceId, node })
  }

  nodeOrder(node: Node | undefined): void {
    if (node?.work.kind === 'run') this.order(node.work)
  }

  order(order: { readonly queue: string; readonly limitKey: string | null }): void {
    this.#queues.add(order.queue)
    for (const key of limitKeys(order)) this.#limits.add(key)
  }

  get need(): Need {
    return {
      instances: [...this.instances],
      slots: [...this.#slots].map(([instanceId, keys]) => ({ instanceId, keys: [...keys] })),
      ...(this.#results.size === 0 ? {} : { results: [...this.#results.values()] }),
      ...(this.undone.size === 0
        ? {}
        : { topSlot: [...this.undone].map((instanceId) => ({ instanceId, prefix: SLOT.undo.prefix })) }),
      queues: [...this.#queues],
      limits: [...this.#limits],
    }
  }
}
