/** Which steps lead to which. Nothing recurses: a playbook may be thousands of steps long. */
import type { Arc, Playbook, Step } from '../read/playbook.ts'

export class Graph {
  readonly byName: ReadonlyMap<string, Step>
  readonly entry: string
  readonly final: string | null
  readonly #arcs = new Map<string, readonly Arc[]>()

  /** Names are unique and arcs lead to steps. */
  constructor({ steps, executor }: Playbook) {
    this.byName = new Map(steps.map((s) => [s.name, s]))
    this.entry = executor.entry ?? (steps[0] as Step).name
    this.final = executor.final
    // The final step comes when all has ended: it routes nowhere, and an arc to it only ends its branch.
    for (const { name, next } of steps) this.#arcs.set(name, name === this.final ? [] : next.arcs)
  }

  arcs(step: string): readonly Arc[] {
    return this.#arcs.get(step) ?? []
  }

  /** The steps that a step's tokens can reach next, without the final step. */
  targets(step: string): readonly string[] {
    return this.arcs(step)
      .map((arc) => arc.to)
      .filter((to) => to !== this.final)
  }

  /** Everything that can be reached from these, themselves included. */
  reached(from: readonly string[], next: (step: string) => readonly string[] = (s) => this.targets(s)): Set<string> {
    const seen = new Set(from)
    const todo = [...seen]
    for (let step = todo.pop(); step !== undefined; step = todo.pop()) {
      for (const to of next(step)) {
        if (seen.has(to)) continue
        seen.add(to)
        todo.push(to)
      }
    }
    return seen
  }

  /** Whether one of these can be reached. Near ones are found without visiting the rest. */
  leads(from: string, to: ReadonlySet<string>, next: (step: string) => readonly string[]): boolean {
    const seen = new Set([from])
    for (const step of seen) {
      if (to.has(step)) return true
      for (const further of next(step)) seen.add(further)
    }
    return false
  }

  /**
   * Everything that can be reached from the entry, each step before those it leads to; steps of a cycle in any order.
   */
  ordered(): readonly string[] {
    const left: string[] = []
    const seen = new Set([this.entry])
    const path = [{ step: this.entry, targets: this.targets(this.entry), taken: 0 }]
    for (let top = path.at(-1); top !== undefined; top = path.at(-1)) {
      const to = top.targets[top.taken++]
      if (to === undefined) {
        left.push(top.step)
        path.pop()
      } else if (!seen.has(to)) {
        seen.add(to)
        path.push({ step: to, targets: this.targets(to), taken: 0 })
      }
    }
    return left.reverse()
  }
}

/**
 * Sets of nodes that all lead to each other (Tarjan); only those that contain a cycle. In the order in which they were
 * found.
 */
export function ringsOf(
  nodes: readonly string[],
  next: (node: string) => readonly string[],
): readonly (readonly string[])[] {
  const index = new Map<string, number>()
  const low = new Map<string, number>()
  const stack: string[] = []
  const onStack = new Set<string>()
  const rings: (readonly string[])[] = []
  const open = (node: string): Frame => {
    index.set(node, index.size)
    low.set(node, index.get(node) as number)
    stack.push(node)
    onStack.add(node)
    return { node, next: next(node), taken: 0 }
  }
  for (const root of nodes) {
    if (index.has(root)) continue
    const path: Frame[] = [open(root)]
    for (let top = path.at(-1); top !== undefined; top = path.at(-1)) {
      const to = top.next[top.taken++]
      if (to !== undefined) {
        if (!index.has(to)) path.push(open(to))
        else if (onStack.has(to)) lower(low, top.node, index.get(to) as number)
        continue
      }
      path.pop()
      const above = path.at(-1)
      if (above !== undefined) lower(low, above.node, low.get(top.node) as number)
      if (low.get(top.node) !== index.get(top.node)) continue
      const ring = stack.splice(stack.lastIndexOf(top.node))
      for (const node of ring) onStack.delete(node)
      if (ring.length > 1 || next(top.node).includes(top.node)) rings.push(ring)
    }
  }
  return rings
}

interface Frame {
  readonly node: string
  readonly next: readonly string[]
  taken: number
}

function lower(low: Map<string, number>, node: string, value: number): void {
  low.set(node, Math.min(low.get(node) as number, value))
}
