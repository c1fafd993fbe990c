/**
 * The state of each step of an execution. As for any net, but loops have their own numbers, which are more precise than
 * the bounded rows of their items, and the state of a step that leaves no row comes from the engine's notes.
 */

import type { Queries } from '../../../model/queries/queries.ts'
import type { InstanceRow, SlotRow } from '../../../model/rows.ts'
import { type CompiledNet, indexNet } from '../../../net/compile.ts'
import type { Net, Node } from '../../../net/net.ts'
import { SLOT, type SlotKey } from '../../../net/slots.ts'
import { type Noted, notedIn } from '../../../net/summary.ts'
import { loadSteps, NO_ROWS, type StepState, type StepView, stepOf } from '../../../views/steps.ts'
import type { OwnStep, Reading } from '../../interface/projection.ts'

export interface LoopCounts {
  readonly total: number
  readonly success: number
  readonly failed: number
  /** Begun or due; not ended. */
  readonly open: number
}

export interface PlaybookStep extends StepView {
  /** null: it is no loop, or has not begun. */
  readonly loop: LoopCounts | null
  /** Tokens that its admission rules hold. */
  readonly held: number
}

/** Slots with facts about steps, and with errors and leftovers of the whole. */
export const STEP_SLOTS = [
  SLOT.scope.prefix,
  SLOT.closedList.prefix,
  SLOT.heldToken.prefix,
  SLOT.noted.prefix,
  SLOT.error.prefix,
  SLOT.discarded.prefix,
] as const

export interface Marks {
  /** What the engine notes in a net with `summary`; null: nothing yet. */
  readonly noted: Noted | null
  readonly loops: ReadonlyMap<string, LoopCounts & { readonly running: boolean }>
  readonly held: ReadonlyMap<string, number>
  value<V>(key: SlotKey<V>): V | null
}

export async function loadMarks(queries: Queries, instanceId: string): Promise<Marks> {
  return marksOf(await queries.trees.slotsOf({ instanceIds: [instanceId], prefixes: STEP_SLOTS }))
}

interface Counted {
  readonly node: string
  readonly total: number
  readonly live: number
  readonly failed: number
  readonly next: number
  readonly inFlight: number
}

export function marksOf(slots: readonly SlotRow[]): Marks {
  const values = new Map(slots.map(({ key, value }) => [key, JSON.parse(value) as unknown]))
  const loops = new Map<string, LoopCounts & { readonly running: boolean }>()
  const held = new Map<string, number>()
  for (const [key, value] of values) {
    if (key.startsWith(SLOT.closedList.prefix)) {
      const { total, success, failed } = value as LoopCounts
      const node = SLOT.closedList.nameIn(key)
      if (loops.get(node)?.running !== true) loops.set(node, { total, success, failed, open: 0, running: false })
    } else if (key.startsWith(SLOT.scope.prefix) && (value as { readonly kind?: string }).kind === 'each') {
      const { node, total, failed, next, inFlight } = value as Counted
      const success = Math.max(0, next - inFlight - failed)
      loops.set(node, { total, success, failed, open: inFlight, running: true })
    } else if (key.startsWith(SLOT.heldToken.prefix)) {
      const { node } = value as { readonly node: string }
      held.set(node, (held.get(node) ?? 0) + 1)
    }
  }
  const value = <V>(key: SlotKey<V>): V | null => (values.get(key) ?? null) as V | null
  const noted = slots
    .filter(({ key }) => key.startsWith(SLOT.noted.prefix))
    .map(({ key }) => ({ key, value: values.get(key) }))
  noted.sort((a, b) => (a.key < b.key ? -1 : 1))
  return { noted: noted.length === 0 ? null : notedIn(noted), loops, held, value }
}

export async function loadPlaybookSteps(p: {
  readonly queries: Queries
  readonly net: Net
  readonly instance: InstanceRow
  readonly nodes: readonly Node[]
  readonly marks: Marks
}): Promise<readonly PlaybookStep[]> {
  const compiled: CompiledNet = indexNet(p.net)
  const plain = p.nodes.filter(({ work }) => work.kind !== 'each')
  const loaded = await loadSteps(p.queries, compiled, p.instance, plain)
  const views = new Map(loaded.map((view) => [view.node.key, view]))
  return p.nodes.map((node) => {
    const loop = p.marks.loops.get(node.key) ?? null
    const view = views.get(node.key) ?? stepOf(p.net, node, NO_ROWS)
    const held = p.marks.held.get(node.key) ?? 0
    return { ...view, state: stateOf(node, view.state, loop, p), loop: counts(loop), held }
  })
}

/** With the fields that only playbooks have. */
export async function loadOwnSteps(
  { queries }: Reading,
  net: Net,
  instance: InstanceRow,
  nodes: readonly Node[],
): Promise<readonly OwnStep[]> {
  const marks = await loadMarks(queries, instance.id)
  const steps = await loadPlaybookSteps({ queries, net, instance, nodes, marks })
  return steps.map((step) => ({ ...step, own: { loop: step.loop, held_tokens: step.held } }))
}

function stateOf(
  node: Node,
  state: StepState,
  loop: (LoopCounts & { readonly running: boolean }) | null,
  { marks, instance }: { readonly marks: Marks; readonly instance: InstanceRow },
): StepState {
  const { work } = node
  if (work.kind === 'each') {
    if (loop === null) return hasFired(marks, node) ? 'completed' : 'pending'
    // The execution stopped half way: not every item was begun.
    if (loop.running) return instance.endedAt === null ? 'running' : 'failed'
    return loop.failed > 0 && work.tolerant !== true ? 'failed' : 'completed'
  }
  if (work.kind === 'pass' && marks.noted !== null) return hasFired(marks, node) ? 'completed' : 'pending'
  return state
}

function hasFired({ noted }: Marks, { key }: Node): boolean {
  return noted?.fired.has(key) === true
}

function counts(loop: (LoopCounts & { readonly running: boolean }) | null): LoopCounts | null {
  if (loop === null) return null
  const { running: _, ...numbers } = loop
  return numbers
}
