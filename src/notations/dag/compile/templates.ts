/**
 * Checks the names in templates: the input, and the results of steps that ended before. Any other name would silently
 * be null.
 */
import { newEvaluator } from '../../../expr/index.ts'
import type { Path } from '../../../kernel/reading/mistakes.ts'
import { closest } from '../../../kernel/reading/part.ts'
import type { Evaluate } from '../../../net/facts.ts'
import type { Json } from '../../../net/net.ts'
import { Ancestors } from '../../source/dependencies.ts'
import type { Nested } from './nested.ts'
import type { Reading } from './reading.ts'
import { listed } from './rules.ts'
import type { Step, Task, Workflow } from './workflow.ts'

/** Names of other notations, unknown here. */
const ELSEWHERE = ['ctx', 'args', 'event', 'item']
const ROOTS = ['input', 'results']

/** The place of a template: its step, and the path. */
interface Spot {
  readonly step: Step
  /** The compensation of a step may name the step itself. */
  readonly undo: boolean
  readonly path: Path
}

interface Problem {
  readonly message: string
  readonly near: string | null
}

/** Assumes that the steps are known, and none waits for itself. */
export function checkTemplates(workflow: Workflow, nested: Nested, reading: Reading): void {
  new Templates(workflow, nested, reading).check()
}

class Templates {
  readonly #workflow: Workflow
  readonly #nested: Nested
  readonly #reading: Reading
  readonly #evaluate: Evaluate = newEvaluator()
  readonly #steps: ReadonlyMap<string, Step>
  readonly #ancestors: Ancestors
  readonly #inner = new Map<string, ReadonlySet<string> | null>()

  constructor(workflow: Workflow, nested: Nested, reading: Reading) {
    this.#workflow = workflow
    this.#nested = nested
    this.#reading = reading
    this.#steps = new Map(workflow.steps.map((s) => [s.name, s]))
    this.#ancestors = new Ancestors(workflow.steps)
  }

  check(): void {
    for (const step of this.#workflow.steps) this.#task(step, step.path, step, false)
    for (const entry of this.#workflow.compensation) {
      this.#task(entry, entry.path, this.#steps.get(entry.step) as Step, true)
    }
  }

  #task(task: Task, path: Path, step: Step, undo: boolean): void {
    this.#template(task.action, { step, undo, path: [...path, 'action'] })
    this.#template(task.with, { step, undo, path: [...path, 'with'] })
  }

  #template(template: Json | null, spot: Spot): void {
    if (template === null) return
    for (const name of this.#namesIn(template, spot.path)) {
      const problem = this.#problemOf(name, spot)
      if (problem === null) continue
      const hint = problem.near === null ? this.#seen(spot) : `did you mean '${problem.near}'?`
      this.#reading.reader.note({ path: spot.path, message: problem.message, hint })
    }
  }

  #namesIn(template: Json, path: Path): readonly (readonly string[])[] {
    try {
      return this.#evaluate.templateNames(template)
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error)
      this.#reading.reader.note({ path, message, hint: 'an expression as in {{ input.name }}' })
      return []
    }
  }

  #problemOf(name: readonly string[], spot: Spot): Problem | null {
    const [root, key] = name as readonly [string, ...string[]]
    if (root === 'input') return null
    if (root === 'results') {
      if (key === undefined) return { message: "'results' needs the name of a step: results.STEP", near: null }
      if (this.#steps.has(key)) return this.#ofStep(key, name[2], spot)
      return { message: `there is no step '${key}'`, near: closest(key, this.#before(spot)) }
    }
    if (this.#steps.has(root)) return this.#ofStep(root, key, spot)
    if (ELSEWHERE.includes(root)) return { message: `there is no '${root}' here`, near: null }
    const near = closest(root, ROOTS)
    if (near !== null && key !== undefined) {
      this.#reading.warn(spot.path, `'${root}' is looked for in the input: input.${root}`, `did you mean '${near}'?`)
    }
    return null
  }

  /** `inner`: the key read from its result. The keys for a nested workflow are known: its steps. */
  #ofStep(name: string, inner: string | undefined, spot: Spot): Problem | null {
    const own = spot.undo && name === spot.step.name
    if (!own && !spot.step.dependsOn.includes(name) && !this.#ancestors.has(spot.step.name, name)) {
      return { message: `step '${name}' has not ended by then: it is not a dependency`, near: null }
    }
    const steps = inner === undefined ? null : this.#stepsIn(name)
    if (inner === undefined || steps === null || steps.has(inner)) return null
    return { message: `the workflow '${name}' has no step '${inner}'`, near: closest(inner, [...steps]) }
  }

  /** null: the step is not a workflow, or its result may have any keys. */
  #stepsIn(name: string): ReadonlySet<string> | null {
    const known = this.#inner.get(name)
    if (known !== undefined) return known
    const target = this.#nested.targetOf(this.#steps.get(name) as Step)
    let steps: ReadonlySet<string> | null = null
    if (target?.workflow) steps = new Set(target.workflow.steps.map((s) => s.name))
    else if (target?.definition?.dialect === 'dag') {
      steps = new Set(target.definition.start.net.nodes.map((n) => n.key))
    }
    this.#inner.set(name, steps)
    return steps
  }

  #before({ step, undo }: Spot): readonly string[] {
    return [...this.#ancestors.of(step.name), ...(undo ? [step.name] : [])]
  }

  #seen(spot: Spot): string {
    return `names: input, results.STEP of ${listed(this.#before(spot))}`
  }
}
