/**
 * What a playbook can never do, found without running it. Any guard may hold or not, unless it is a constant: every
 * finding is true whatever the data. None of them refuses a playbook.
 */

import { type Joins, meetingsAt } from '../read/joins.ts'
import { type Arc, constantOf, type Playbook, type Step } from '../read/playbook.ts'
import type { Reading } from '../read/reading.ts'
import { type Graph, ringsOf } from './graph.ts'
import type { Mention } from './mentions.ts'

export interface Shape {
  readonly playbook: Playbook
  readonly graph: Graph
  readonly joins: Joins
  /** Steps that arcs lead to from the entry, whatever their guards. */
  readonly reached: ReadonlySet<string>
  readonly mentions: ReadonlyMap<string, readonly Mention[]>
}

export function checkSoundness(shape: Shape, reading: Reading): void {
  new Soundness(shape, reading).check()
}

class Soundness {
  readonly #shape: Shape
  readonly #reading: Reading
  readonly #ways = new Map<string, readonly string[]>()
  /** Steps that a token can reach. */
  readonly #live: ReadonlySet<string>

  constructor(shape: Shape, reading: Reading) {
    this.#shape = shape
    this.#reading = reading
    const { graph } = shape
    this.#live = graph.reached([graph.entry], (name) => this.#taken(name))
  }

  check(): void {
    const { playbook, graph } = this.#shape
    for (const step of playbook.steps) {
      if (step.name !== graph.final) this.#checkStep(step)
    }
    const endless = this.#endlessRings()
    for (const ring of endless) {
      const [first] = inOrder(ring, playbook.steps) as [Step]
      const names = wayRound(first.name, ring, (s) => graph.targets(s))
      this.#reading.warn(
        first.next.path,
        `these steps follow each other endlessly, no arc leads out and none can fail to match: ${names.join(' → ')}`,
        'an arc with a guard that leads elsewhere, or a guard on one of these',
        'endless_loop',
      )
    }
    this.#checkJoins(endless)
    this.#checkMeetings()
  }

  #checkStep(step: Step): void {
    const { reached } = this.#shape
    const at = [...step.path, 'step']
    if (!reached.has(step.name)) {
      this.#reading.warn(
        at,
        `no arc leads to step '${step.name}': it never runs`,
        'an arc to it, or remove it',
        'unreachable_step',
      )
      return
    }
    if (!this.#live.has(step.name)) {
      const why = 'every way to it is behind something that never happens'
      this.#reading.warn(
        at,
        `step '${step.name}' is dead: ${why}`,
        'look at the guards and admissions before it',
        'dead_step',
      )
    }
    if (neverAdmits(step)) {
      this.#reading.warn(
        step.admit?.path ?? at,
        `no token is ever admitted to step '${step.name}'`,
        'a rule with then: { allow: true } before the one that denies everything',
        'never_admitted',
      )
    }
    for (const { arc, line } of hiddenArcs(step, this.#reading)) {
      const message = `this arc is never taken: the one in line ${line} always is, and the first wins`
      this.#reading.warn(
        arc.path,
        message,
        'put it before that one, or next: { spec: { mode: inclusive } }',
        'hidden_arc',
      )
    }
    for (const arc of step.next.arcs) {
      if (constantOf(arc.when) !== false) continue
      this.#reading.warn([...arc.path, 'when'], 'this arc is never taken', 'leave it out', 'hidden_arc')
    }
  }

  /** Where tokens can go: not along arcs that are never taken, and not from steps that admit nothing. */
  #taken(name: string): readonly string[] {
    let known = this.#ways.get(name)
    if (known === undefined) {
      known = this.#waysFrom(name)
      this.#ways.set(name, known)
    }
    return known
  }

  #waysFrom(name: string): readonly string[] {
    const { graph } = this.#shape
    const step = graph.byName.get(name) as Step
    if (neverAdmits(step)) return []
    const hidden = new Set(hiddenArcs(step, null).map(({ arc }) => arc))
    return graph
      .arcs(name)
      .filter((arc) => !hidden.has(arc) && constantOf(arc.when) !== false && arc.to !== graph.final)
      .map((arc) => arc.to)
  }

  /** Rings that no token can leave: no arc leads out, and every step lets it in and always has one that is taken. */
  #endlessRings(): readonly (readonly string[])[] {
    const { graph } = this.#shape
    return ringsOf([...this.#live], (s) => this.#taken(s)).filter((ring) => {
      const inside = new Set(ring)
      return ring.every((name) => {
        const arcs = graph.arcs(name)
        const goesOn = admitsAll(graph.byName.get(name) as Step) && arcs.some((arc) => constantOf(arc.when) === true)
        const ends = arcs.some((arc) => arc.to === graph.final && constantOf(arc.when) !== false)
        return goesOn && !ends && this.#taken(name).every((to) => inside.has(to))
      })
    })
  }

  /** A step that combines the results of several branches, and runs once for each of them. */
  #checkMeetings(): void {
    const { playbook, graph, joins } = this.#shape
    const named = new Map<string, readonly string[]>()
    for (const { name, join } of playbook.steps) {
      if (name === graph.final || join !== null || joins.asked.has(name) || !this.#live.has(name)) continue
      const steps = this.#resultsNamedIn(name)
      if (steps.length > 1) named.set(name, steps)
    }
    for (const [step, fork] of meetingsAt(playbook, graph, new Set(named.keys()))) {
      const inside = graph.reached(graph.targets(fork))
      const side = (named.get(step) as readonly string[]).filter((one) => inside.has(one) && !this.#leads(step, one))
      const pair = side.flatMap((a) =>
        side.filter((b) => a < b && !this.#leads(a, b) && !this.#leads(b, a)).map((b) => [a, b]),
      )[0]
      if (pair === undefined) continue
      const { path } = graph.byName.get(step) as Step
      this.#reading.warn(
        [...path, 'step'],
        `step '${step}' runs once for each branch of '${fork}' that comes to it, and reads the results of '${pair[0]}' and '${pair[1]}', of which one may still be missing`,
        'spec: { join: all } lets it wait for all of them and run once; join: each declares that this is intended',
        'looks_like_join',
      )
    }
  }

  #leads(from: string, to: string): boolean {
    const { graph } = this.#shape
    return graph.leads(from, new Set([to]), (s) => graph.targets(s))
  }

  /** Other steps whose results a step reads. */
  #resultsNamedIn(name: string): readonly string[] {
    const { graph, mentions } = this.#shape
    const roots = (mentions.get(name) ?? []).map(({ name: [root, key] }) => (root === 'results' ? key : root))
    return [...new Set(roots)].filter(
      (root): root is string => root !== undefined && root !== name && graph.byName.has(root),
    )
  }

  #checkJoins(endless: readonly (readonly string[])[]): void {
    const { playbook, graph, joins } = this.#shape
    for (const step of playbook.steps) {
      if (step.join !== 'all' || !joins.asked.has(step.name) || joins.joined.has(step.name)) continue
      this.#reading.warn(
        [...step.path, 'spec', 'join'],
        `no two branches of a fork ever meet at step '${step.name}': it has nothing to wait for`,
        'a step before it with next: { spec: { mode: inclusive } } and several arcs that lead here, or leave it out',
        'join_without_fork',
      )
    }
    const trapped = new Set(endless.flat())
    for (const [fork, scopes] of joins.scopes) {
      const met = new Set(scopes)
      const within = (step: string): readonly string[] => (met.has(step) ? [] : this.#taken(step))
      for (const arc of graph.arcs(fork)) {
        if (arc.to === graph.final) continue
        const at = arc.toPath
        const outer = scopes[0] as string
        if (trapped.size > 0 && graph.leads(arc.to, trapped, within)) {
          const message = `this branch can loop endlessly, so that '${outer}' may wait endlessly`
          this.#reading.warn(at, message, 'a way out of the loop', 'join_cannot_complete')
        } else if (!graph.leads(arc.to, met, within)) {
          const message = `this branch never comes to '${scopes.at(-1)}', which joins the others: it only waits until the branch has ended`
          this.#reading.warn(
            at,
            message,
            `an arc to '${scopes.at(-1)}', or make it a fork of its own`,
            'branch_never_joins',
          )
        }
      }
    }
  }
}

/** The first rule that always holds denies, and none before it allows. */
function neverAdmits({ admit }: Step): boolean {
  if (admit === null) return false
  for (const { when, allow } of admit.rules) {
    const constant = constantOf(when)
    if (constant === false) continue
    if (allow) return false
    if (constant === true) return true
  }
  return true
}

/** No rule before the first that always holds denies, and that one allows. */
function admitsAll({ admit }: Step): boolean {
  if (admit === null) return true
  for (const { when, allow } of admit.rules) {
    const constant = constantOf(when)
    if (constant === false) continue
    if (!allow) return false
    if (constant === true) return true
  }
  return false
}

/** Of an exclusive router: those after one that always holds. */
function hiddenArcs({ next }: Step, reading: Reading | null): readonly { readonly arc: Arc; readonly line: number }[] {
  if (next.mode !== 'exclusive') return []
  const always = next.arcs.findIndex((arc) => constantOf(arc.when) === true)
  if (always < 0) return []
  const line = reading?.line((next.arcs[always] as Arc).path) ?? 0
  return next.arcs
    .slice(always + 1)
    .filter((arc) => constantOf(arc.when) !== false)
    .map((arc) => ({ arc, line }))
}

function inOrder(ring: readonly string[], steps: readonly Step[]): readonly Step[] {
  const inside = new Set(ring)
  return steps.filter((s) => inside.has(s.name))
}

/** One way round, as a → b → a; of a long ring only the beginning is shown. */
function wayRound(
  first: string,
  ring: readonly string[],
  next: (step: string) => readonly string[],
): readonly string[] {
  const inside = new Set(ring)
  const before = new Map<string, string>()
  const todo = [first]
  for (const at of todo) {
    for (const to of next(at)) {
      if (!inside.has(to) || before.has(to)) continue
      before.set(to, at)
      todo.push(to)
    }
  }
  const names = [first]
  for (let at = before.get(first); at !== undefined && at !== first; at = before.get(at)) names.unshift(at)
  const way = [first, ...names]
  return way.length > 12 ? [...way.slice(0, 8), '…', ...way.slice(-2)] : way
}
