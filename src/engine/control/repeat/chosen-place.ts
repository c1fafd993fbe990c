/**
 * The place of an ended instance that an operator goes back to: a step, one of its firings, an item. Everything that is wrong
 * with it is refused here, before anything is written.
 */
import { inputError, PetrelError } from '../../../kernel/errors.ts'
import { closest } from '../../../kernel/reading/part.ts'
import type { Queries } from '../../../model/queries/queries.ts'
import type { StepChoice } from '../../../model/queries/repeats.ts'
import type { WorkAt } from '../../../model/queries/work.ts'
import type { InstanceRow } from '../../../model/rows.ts'
import type { CompiledNet } from '../../../net/compile.ts'
import type { EarlierPlace } from '../../../net/going-back.ts'
import { isChildRef } from '../../../net/lists.ts'
import type { Json, Node } from '../../../net/net.ts'
import { SLOT } from '../../../net/slots.ts'

export interface Chosen {
  readonly place: EarlierPlace
  readonly node: Node
  /** null: a list as a whole, or work that the instance itself took over. */
  readonly work: WorkAt | null
}

interface Spot {
  readonly queries: Queries
  readonly net: CompiledNet
  readonly instance: InstanceRow
}

const MOST_NAMED = 100

export async function choosePlace(spot: Spot, choice: StepChoice): Promise<Chosen> {
  const node = stepOf(spot, choice.step)
  if (choice.item !== undefined && node.work.kind !== 'each') {
    throw inputError('invalid_request', 'from.item', `step '${node.key}' is not a list`, { hint: 'Leave it out.' })
  }
  const fire = await fireOf(spot, node, choice.firing)
  const place = { node: node.key, fire, item: choice.item ?? -1 }
  const work = await spot.queries.work.at({ instanceId: spot.instance.id, ...place })
  if (work === null && choice.item !== undefined) {
    throw inputError('invalid_request', 'from.item', `item ${choice.item} of step '${node.key}' has not begun`, {
      hint: `GET /v1/instances/${spot.instance.id} lists the items that have; they count from 0.`,
    })
  }
  return { place, node, work }
}

function stepOf({ net, instance }: Spot, step: string): Node {
  const node = net.byKey.get(step)
  const known = net.net.nodes.map(({ key }) => key).filter((key) => !key.startsWith('#'))
  if (node === undefined || step.startsWith('#')) {
    const near = closest(step, known)
    const meant = near === null ? '' : `; did you mean '${near}'?`
    const facts = { kind: 'step', did_you_mean: near, known: known.slice(0, MOST_NAMED) } as const
    throw inputError('invalid_request', 'from.step', `there is no step '${step}' in '${instance.name}'${meant}`, facts)
  }
  if (net.net.finals.some((final) => final.node === step)) {
    throw refusedStep(instance, `step '${step}' belongs to the end of '${instance.name}', and runs again by itself`, {
      hint: 'Name the last step before the end, or none.',
    })
  }
  if (node.work.kind === 'pass') {
    const after = workAfter(net, node)
    throw refusedStep(instance, `step '${step}' does no work that could be done again`, {
      hint: after.length === 0 ? 'Name a step that does.' : `Name a step after it: ${after.slice(0, 10).join(', ')}.`,
    })
  }
  return node
}

/** The first nodes with work behind one without. */
function workAfter(net: CompiledNet, node: Node): readonly string[] {
  const found = new Set<string>()
  const seen = new Set([node.key])
  const todo = [node]
  for (let at = todo.pop(); at !== undefined; at = todo.pop()) {
    for (const { to } of at.next.arcs) {
      const next = net.byKey.get(to)
      if (next === undefined || seen.has(to)) continue
      seen.add(to)
      if (next.work.kind === 'pass') todo.push(next)
      else found.add(to)
    }
  }
  return [...found]
}

async function fireOf({ queries, instance }: Spot, node: Node, firing: number | undefined): Promise<number> {
  const of = { instanceId: instance.id, node: node.key, gates: node.work.kind === 'gate' }
  if (firing === undefined) {
    const last = await queries.work.lastFiring(of)
    if (last !== null) return last
    if (await tookOver(queries, instance, node)) return 0
    throw refusedStep(instance, `step '${node.key}' has not begun in instance ${instance.id}`, {
      hint: 'A retry without a step begins there by itself.',
    })
  }
  const firings = await queries.work.firings({ ...of, limit: firing })
  const fire = firings[firing - 1]
  if (fire !== undefined) return fire
  throw inputError('invalid_request', 'from.firing', `step '${node.key}' has begun ${times(firings.length)}`, {
    hint: firings.length === 0 ? 'Name a step that has begun.' : `Name a firing from 1 to ${firings.length}.`,
  })
}

function times(count: number): string {
  return count === 0 ? 'never' : count === 1 ? 'once' : `${count} times`
}

/** A nested workflow that completed in a still earlier instance. */
async function tookOver(queries: Queries, { id, retryOf }: InstanceRow, node: Node): Promise<boolean> {
  if (retryOf === null || node.work.kind !== 'child') return false
  const text = await queries.slot({ instanceId: id, key: SLOT.result.key(node.key) })
  return text !== null && isChildRef(JSON.parse(text) as Json)
}

function refusedStep(
  { id, state }: InstanceRow,
  message: string,
  facts: { readonly hint: string; readonly not_undone?: readonly string[] },
): PetrelError {
  return new PetrelError('conflict', message, { kind: 'step', instance: id, state, ...facts })
}
