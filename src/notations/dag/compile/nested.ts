/**
 * The targets of steps `workflow: NAME`: workflows under `spec.workflows`, otherwise definitions of their own, in other
 * files. Finding them also finds mistakes between them: unknown names, workflows that contain themselves, too many
 * levels.
 */

import { netHash } from '../../../kernel/hash.ts'
import { MAX_NESTING } from '../../../kernel/limits.ts'
import { closest, type Part } from '../../../kernel/reading/part.ts'
import type { Net } from '../../../net/net.ts'
import type { Definition } from '../../source/definition.ts'
import { findStuck } from '../../source/dependencies.ts'
import type { LocatedMistake } from '../../source/mistakes.ts'
import type { Others, Stop } from '../../source/named-definitions.ts'
import { checkName } from './metadata.ts'
import type { Reading } from './reading.ts'
import { FLOW_FIELDS, readWorkflow } from './spec.ts'
import type { Step, Workflow } from './workflow.ts'

/** A workflow of the file, or one that is a definition of its own. */
export type Target =
  | { readonly workflow: Workflow; readonly definition: null }
  | { readonly workflow: null; readonly definition: Definition }

export class Nested {
  readonly main: Workflow
  readonly #part: Part
  readonly #reading: Reading
  readonly #others: Others
  readonly #inside = new Map<string, Workflow>()
  readonly #outside = new Map<string, Definition>()

  constructor(main: Workflow, part: Part, others: Others, reading: Reading) {
    this.main = main
    this.#part = part
    this.#others = others
    this.#reading = reading
    for (const [name, inner] of part.entries('workflows')) {
      checkName(inner, name)
      if (inner.isObject) {
        this.#inside.set(name, readWorkflow(inner, name, FLOW_FIELDS, main.governance, reading))
      } else inner.wrong(`workflow '${name}' is a mapping with steps`, 'steps: [ … ]')
    }
  }

  /** All workflows in the file, the outermost first. */
  get workflows(): readonly Workflow[] {
    return [this.main, ...this.#inside.values()]
  }

  /** null: the step is not a workflow, or one that could not be read. */
  targetOf(step: Step): Target | null {
    if (step.workflow === null) return null
    const workflow = this.#inside.get(step.workflow)
    if (workflow !== undefined) return { workflow, definition: null }
    const definition = this.#outside.get(step.workflow)
    return definition === undefined ? null : { workflow: null, definition }
  }

  /** Reads the definitions that steps name, and notes mistakes between workflows. */
  async find(): Promise<void> {
    const ways = this.#ways()
    for (const workflow of this.workflows) {
      for (const step of workflow.steps) {
        if (step.workflow === null || this.#part.has(step.workflow)) continue
        const inside = ways.get(workflow.name) ?? [workflow.name]
        await this.#findOutside(step, step.workflow, workflow === this.main ? [] : inside)
      }
    }
    if (!this.#anyInItself()) this.#checkDepth()
    this.#warnOfUnused()
  }

  async #findOutside(step: Step, name: string, inside: readonly string[]): Promise<void> {
    if (this.#outside.has(name)) return
    const here: readonly Stop[] = [...this.#others.trail, { definition: this.main.name, inside }]
    const again = here.findIndex((stop) => stop.definition === name)
    if (again >= 0) {
      const ring = [...here.slice(again).flatMap((stop) => [stop.definition, ...stop.inside]), name]
      return this.#wrong(step, `workflow '${name}' contains itself: ${ring.join(' → ')}`, 'remove one of these steps')
    }
    if (here.reduce((levels, stop) => levels + 1 + stop.inside.length, 0) >= MAX_NESTING) {
      return this.#wrong(
        step,
        `workflows are nested more than ${MAX_NESTING} levels deep`,
        'make steps of the innermost',
      )
    }
    const other = await this.#others.find(name, here)
    if (other === null) return this.#wrong(step, `there is no workflow '${name}'`, await this.#meant(name))
    const named = (m: LocatedMistake): LocatedMistake => ({ ...m, file: m.file ?? other.file })
    if ('error' in other) return this.#reading.reader.noteElsewhere(other.error.problems.map(named))
    const { definition, file } = other
    if (definition.dialect === 'dag' && definition.name !== name) {
      return this.#wrong(step, `${file} is workflow '${definition.name}', not '${name}'`, 'one name for both')
    }
    this.#outside.set(name, definition)
    this.#reading.warnElsewhere((definition.warnings ?? []).map(named))
  }

  async #meant(name: string): Promise<string> {
    const near = closest(name, [...this.#inside.keys(), ...(await this.#others.names())])
    return near === null ? 'one under spec.workflows, or a definition of its own' : `did you mean '${near}'?`
  }

  /** How each is reached from the outermost, itself included. */
  #ways(): ReadonlyMap<string, readonly string[]> {
    const ways = new Map<string, readonly string[]>()
    const todo: { readonly workflow: Workflow; readonly way: readonly string[] }[] = [{ workflow: this.main, way: [] }]
    for (let next = todo.shift(); next !== undefined; next = todo.shift()) {
      for (const { workflow: name } of next.workflow.steps) {
        const workflow = name === null ? undefined : this.#inside.get(name)
        if (workflow === undefined || ways.has(workflow.name) || next.way.length > MAX_NESTING) continue
        const way = [...next.way, workflow.name]
        ways.set(workflow.name, way)
        todo.push({ workflow, way })
      }
    }
    return ways
  }

  #anyInItself(): boolean {
    const contains = [...this.#inside.values()].map(({ name, steps }) => ({
      name,
      dependsOn: [...new Set(steps.flatMap((s) => s.workflow ?? []))],
    }))
    const { cycles } = findStuck(contains)
    for (const cycle of cycles) {
      const [first, second] = cycle as readonly [string, string]
      const step = this.#inside.get(first)?.steps.find((s) => s.workflow === second) as Step
      this.#wrong(step, `workflow '${first}' contains itself: ${cycle.join(' → ')}`, 'remove one of these steps')
    }
    return cycles.length > 0
  }

  #checkDepth(): void {
    if (levelsOf(this.main, (step) => this.targetOf(step)) <= MAX_NESTING) return
    this.#reading.reader.note({
      path: this.#part.given ? this.#part.path : [...this.main.path, 'steps'],
      message: `workflows are nested more than ${MAX_NESTING} levels deep`,
      hint: 'make steps of the innermost',
    })
  }

  #warnOfUnused(): void {
    const used = new Set(this.workflows.flatMap((w) => w.steps.map((s) => s.workflow)))
    for (const { name, path } of this.#inside.values()) {
      if (!used.has(name)) this.#reading.warn(path, `no step is workflow '${name}': it never runs`, null, 'never_runs')
    }
  }

  #wrong(step: Step, message: string, hint: string | null): void {
    this.#reading.reader.note({ path: [...step.path, 'workflow'], message, hint })
  }
}

/** How deep workflows are nested: exact up to the bound, one level more beyond it. */
function levelsOf(main: Workflow, targetOf: (step: Step) => Target | null): number {
  const known = new Map<Workflow | Definition, number>()
  // A chain of thousands must not exhaust the stack.
  const levels = (workflow: Workflow, left: number): number => {
    if (left === 0) return 1
    let deepest = 0
    for (const step of workflow.steps) {
      const target = targetOf(step)
      if (target === null) continue
      const inner = target.workflow ?? target.definition
      const found =
        known.get(inner) ?? (target.workflow ? levels(target.workflow, left - 1) : netLevels(target.definition))
      known.set(inner, found)
      deepest = Math.max(deepest, found)
    }
    return deepest + 1
  }
  return levels(main, MAX_NESTING)
}

function netLevels(definition: Definition | null): number {
  if (definition === null) return 0
  const { net, nets = [] } = definition.start
  const byHash = new Map(nets.map((n) => [netHash(n), n]))
  const known = new Map<Net, number>()
  const levels = (outer: Net): number => {
    const before = known.get(outer)
    if (before !== undefined) return before
    const inner = outer.nodes.flatMap(({ work }) => (work.kind === 'child' ? (byHash.get(work.net) ?? []) : []))
    const found = 1 + Math.max(0, ...inner.map(levels))
    known.set(outer, found)
    return found
  }
  return levels(net)
}
