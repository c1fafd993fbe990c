/** The workflows under `workflows:`, each read once and compiled when a step names it. */
import { netHash } from '../../engine/hash.ts'
import type { Net } from '../../net/net.ts'
import { closest, type Part } from '../reader.ts'
import { compileWorkflow } from './compile.ts'
import { findStuck } from './graph.ts'
import { checkName } from './metadata.ts'
import type { Reading } from './reading.ts'
import { checkNet, FLOW_FIELDS, readWorkflow } from './spec.ts'
import type { Step, Workflow } from './workflow.ts'

/** Of the engine, the outermost included. */
const MAX_LEVELS = 10

export class Nested {
  readonly #part: Part
  readonly #reading: Reading
  readonly #workflows = new Map<string, Workflow>()
  readonly #references = new Map<string, string>()
  readonly #nets = new Map<string, Net>()

  constructor(part: Part, reading: Reading) {
    this.#part = part
    this.#reading = reading
  }

  get nets(): readonly Net[] {
    return [...this.#nets.values()]
  }

  /** Notes what is wrong with them, and with the steps that name them. */
  readFor(main: Workflow): void {
    for (const [name, part] of this.#part.entries('workflows')) {
      checkName(part, name)
      if (part.isObject) this.#workflows.set(name, readWorkflow(part, name, FLOW_FIELDS, this.#reading))
      else part.wrong(`workflow '${name}' is a mapping with steps`, 'steps: [ … ]')
    }
    for (const { steps } of [main, ...this.#workflows.values()]) for (const step of steps) this.#checkNamed(step)
    if (!this.#anyInItself()) this.#checkDepth(main)
    this.#warnOfUnused(main)
  }

  #checkNamed(step: Step): void {
    if (step.workflow === null || this.#part.has(step.workflow)) return
    const near = closest(step.workflow, [...this.#workflows.keys()])
    this.#reading.reader.note({
      path: [...step.path, 'workflow'],
      message: `there is no workflow '${step.workflow}' in this file`,
      hint: near === null ? 'nested workflows stand under spec.workflows' : `did you mean '${near}'?`,
    })
  }

  #anyInItself(): boolean {
    const contains = [...this.#workflows.values()].map(({ name, steps }) => ({
      name,
      dependsOn: [...new Set(steps.flatMap((s) => s.workflow ?? []))],
    }))
    const { cycles } = findStuck(contains)
    for (const cycle of cycles) {
      const [first, second] = cycle as readonly [string, string]
      const step = this.#workflows.get(first)?.steps.find((s) => s.workflow === second) as Step
      this.#reading.reader.note({
        path: [...step.path, 'workflow'],
        message: `workflow '${first}' contains itself: ${cycle.join(' → ')}`,
        hint: null,
      })
    }
    return cycles.length > 0
  }

  #checkDepth(main: Workflow): void {
    const known = new Map<Workflow, number>()
    // One level beyond the bound is all that need be known; a chain of thousands must not exhaust the stack.
    const levels = (workflow: Workflow, left: number): number => {
      if (left === 0) return 1
      let deepest = 0
      for (const step of workflow.steps) {
        const inner = step.workflow === null ? undefined : this.#workflows.get(step.workflow)
        if (inner !== undefined) deepest = Math.max(deepest, known.get(inner) ?? levels(inner, left - 1))
      }
      known.set(workflow, deepest + 1)
      return deepest + 1
    }
    if (levels(main, MAX_LEVELS) <= MAX_LEVELS) return
    this.#reading.reader.note({
      path: this.#part.path,
      message: `workflows are nested more than ${MAX_LEVELS} levels deep`,
      hint: null,
    })
  }

  #warnOfUnused(main: Workflow): void {
    const used = new Set([main, ...this.#workflows.values()].flatMap((w) => w.steps.map((s) => s.workflow)))
    for (const { name, path } of this.#workflows.values()) {
      if (!used.has(name)) this.#reading.warn(path, `no step is workflow '${name}': it never runs`)
    }
  }

  /** The step's own timeout is the clock of its nested workflow, if that has no shorter one. */
  reference(step: Step): string {
    const workflow = this.#workflows.get(step.workflow as string) as Workflow
    const clocks = [workflow.timeoutMs, step.timeoutMs].filter((ms) => ms !== null)
    const timeoutMs = clocks.length === 0 ? null : Math.min(...clocks)
    const known = this.#references.get(`${workflow.name}/${timeoutMs}`)
    if (known !== undefined) return known
    const net = compileWorkflow({ ...workflow, timeoutMs }, (inner) => this.reference(inner))
    checkNet(net, workflow, this.#reading)
    const hash = netHash(net)
    this.#nets.set(hash, net)
    this.#references.set(`${workflow.name}/${timeoutMs}`, hash)
    return hash
  }
}
