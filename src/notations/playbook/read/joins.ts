/**
 * Which forks a joining step (`spec.join: all`) waits for. A net joins by scopes: a fork opens one, and the step that
 * continues it fires once, when every token made inside has either arrived there or ended.
 *
 * A fork is a step whose router is inclusive and has at least two arcs: each begins a branch. A joining step that two
 * of them lead to is one where they meet: the fork opens its scope, and what leaves it is one branch from then on. A
 * joining step that only one leads to is within that branch. Of two where branches meet, the one that leads to the
 * other is farther in: its scope is opened inside.
 *
 * - Forks inside forks: tokens move to the innermost scope of their join; when it closes, one moves on to the outer.
 * - Cycles: a branch that comes back to the fork opens scopes inside those it is in.
 * - A join where the branches of no fork meet has nothing to wait for, and fires for each token.
 */
import type { Graph } from '../check/graph.ts'
import type { Playbook } from './playbook.ts'

export interface Joins {
  /** Outermost first. */
  readonly scopes: ReadonlyMap<string, readonly string[]>
  /** Steps declared as joins, by themselves or by policy. */
  readonly asked: ReadonlySet<string>
  /** Those among them that a fork waits for. */
  readonly joined: ReadonlySet<string>
}

export function joinsOf(playbook: Playbook, graph: Graph, reached: ReadonlySet<string>): Joins {
  const asked = askedIn(playbook, graph, reached)
  const scopes = new Map<string, readonly string[]>()
  if (asked.size > 0) {
    const meetings = new Meetings(graph, asked)
    for (const { name, next } of playbook.steps) {
      if (!reached.has(name) || next.mode !== 'inclusive') continue
      const met = meetings.of(name)
      if (met.length > 0) scopes.set(name, met.reverse())
    }
  }
  return { scopes, asked, joined: new Set([...scopes.values()].flat()) }
}

/** Steps where branches of a fork meet although they are not declared as joins, each with the fork. */
export function meetingsAt(playbook: Playbook, graph: Graph, steps: ReadonlySet<string>): ReadonlyMap<string, string> {
  const found = new Map<string, string>()
  if (steps.size === 0) return found
  const meetings = new Meetings(graph, steps)
  for (const { name, next } of playbook.steps) {
    if (next.mode !== 'inclusive' || !meetings.knows(name)) continue
    for (const step of meetings.of(name)) if (!found.has(step)) found.set(step, name)
  }
  return found
}

function askedIn({ steps, executor }: Playbook, graph: Graph, reached: ReadonlySet<string>): ReadonlySet<string> {
  const live = steps.filter((s) => reached.has(s.name) && s.name !== graph.final)
  if (executor.join === 'each') return new Set(live.filter((s) => s.join === 'all').map((s) => s.name))
  const arrivals = new Map<string, number>()
  for (const { name } of live) for (const to of graph.targets(name)) arrivals.set(to, (arrivals.get(to) ?? 0) + 1)
  const joins = live.filter((s) => s.join === 'all' || (s.join === null && (arrivals.get(s.name) ?? 0) > 1))
  return new Set(joins.map((s) => s.name))
}

const NONE = 0
const SEVERAL = -1

/**
 * Steps by number, each before those it leads to, except within cycles: one pass over all of them, in order, follows a
 * fork to its ends.
 */
class Meetings {
  readonly #names: readonly string[]
  readonly #numbers: ReadonlyMap<string, number>
  readonly #targets: readonly (readonly number[])[]
  readonly #joins: readonly boolean[]

  constructor(graph: Graph, joins: ReadonlySet<string>) {
    this.#names = graph.ordered()
    this.#numbers = new Map(this.#names.map((name, i) => [name, i]))
    this.#targets = this.#names.map((name) => graph.targets(name).map((to) => this.#numbers.get(to) as number))
    this.#joins = this.#names.map((name) => joins.has(name))
  }

  /** false: no arc leads to it. */
  knows(step: string): boolean {
    return this.#numbers.has(step)
  }

  /** Where its branches meet, the innermost first. */
  of(fork: string): string[] {
    const met = new Set<number>()
    // For each step, the branch that leads there.
    const branches = new Int32Array(this.#names.length)
    const first = this.#targets[this.#numbers.get(fork) as number] ?? []
    for (const [i, to] of first.entries()) lead(branches, to, this.#names.length + 1 + i)
    for (let again = true; again; ) {
      again = false
      for (const [at, targets] of this.#targets.entries()) {
        let branch = branches[at] as number
        if (branch === NONE) continue
        if (branch === SEVERAL && this.#joins[at] === true) {
          met.add(at)
          branch = at + 1
        }
        for (const to of targets) if (lead(branches, to, branch) && to <= at) again = true
      }
    }
    return [...met].sort((a, b) => a - b).map((at) => this.#names[at] as string)
  }
}

/** false: nothing new. */
function lead(branches: Int32Array, to: number, branch: number): boolean {
  const before = branches[to]
  if (before === branch || before === SEVERAL) return false
  branches[to] = before === NONE ? branch : SEVERAL
  return true
}
