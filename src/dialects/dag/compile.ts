/** A workflow as a net: a step is a node, a dependency an arc, several dependencies a count join. */
import type { Arc, Json, Net, Node, RunWork, Timeout, Undo, Work } from '../../net/net.ts'
import type { Compensation, Step, Task, Workflow } from './workflow.ts'

/** The reference of the nested workflow that is this step. */
export type ChildOf = (step: Step) => string

export function compileWorkflow(workflow: Workflow, childOf: ChildOf): Net {
  const arcs = new Map<string, Arc[]>(workflow.steps.map((s) => [s.name, []]))
  for (const step of workflow.steps) {
    for (const d of step.dependsOn) arcs.get(d)?.push({ to: step.name, when: null, args: null, set: null })
  }
  const undos = new Map(workflow.compensation.map((c) => [c.step, c]))
  const nested = new Set(workflow.steps.filter((s) => s.workflow !== null).map((s) => s.name))
  const nodes = workflow.steps.map((step): Node => {
    const undo = undos.get(step.name)
    const isRun = step.approval === null && step.workflow === null
    return {
      key: step.name,
      work: workOf(step, nested, childOf),
      join: step.dependsOn.length > 1 ? 'count' : 'each',
      admit: null,
      retry: isRun ? step.retry : null,
      timeout: isRun ? clockOf(step) : null,
      onFailure: step.onFailure ?? 'net',
      undo: undo === undefined ? null : undoOf(step, undo, nested),
      next: { mode: 'every', arcs: arcs.get(step.name) ?? [], scope: null },
    }
  })
  return {
    version: 1,
    name: workflow.name,
    dialect: 'dag',
    nodes,
    entry: workflow.steps.filter((s) => s.dependsOn.length === 0).map((s) => s.name),
    finals: [],
    onFailure: workflow.failurePolicy,
    verdict: { failedOn: 'unhandled', partial: false },
    unknown: 'ignore',
    timeoutMs: workflow.timeoutMs,
    undoTimeoutMs: null,
    held: 'wait',
    noMatch: 'end',
  }
}

/** Names of the steps that are nested workflows. */
type Nested = ReadonlySet<string>

function workOf(step: Step, nested: Nested, childOf: ChildOf): Work {
  if (step.workflow !== null) {
    return { kind: 'child', net: childOf(step), mode: 'attached', input: inputOf(step, nested) }
  }
  const { approval } = step
  if (approval !== null) {
    return { kind: 'gate', options: approval.options, timeoutMs: approval.timeoutMs, onTimeout: approval.onTimeout }
  }
  return runOf(step, step.uses ?? step.agent ?? step.name, inputOf(step, nested))
}

/** One clock from the first start over all attempts. */
function clockOf(task: Task): Timeout | null {
  return task.timeoutMs === null ? null : { ms: task.timeoutMs, per: 'node' }
}

/** A worker asks for types, so one queue starves nobody; who wants lanes names them. */
function runOf(task: Task, type: string, args: Json): RunWork {
  return {
    kind: 'run',
    type,
    queue: task.queue ?? 'default',
    priority: 100,
    delayMs: 0,
    args,
    limitKey: null,
  }
}

/**
 * What the step is given. A skipped dependency is there with null. A nested workflow is not there: its result is that
 * of all its steps, which would be copied into every argument; a handler asks for it (`ctx.results()`).
 */
function inputOf(step: Step, nested: Nested): Json {
  if (step.workflow !== null) return step.with ?? '{{ input }}'
  return {
    ...toldTo(step),
    results: Object.fromEntries(step.dependsOn.filter((d) => !nested.has(d)).map((d) => [d, resultOf(d)])),
    ...(step.with === null ? {} : { with: step.with }),
  }
}

function toldTo(task: Task): { readonly [key: string]: Json } {
  return { agent: task.agent, action: task.action, input: '{{ input }}' }
}

function resultOf(step: string): string {
  return `{{ results['${step}'] }}`
}

/** Input and results never change, so rendering the step's template again gives what the step was given. */
function undoOf(step: Step, entry: Compensation, nested: Nested): Undo {
  const result = nested.has(step.name) ? {} : { result: resultOf(step.name) }
  const args: Json = {
    ...toldTo(entry),
    step: { name: step.name, input: inputOf(step, nested), ...result },
    ...(entry.with === null ? {} : { with: entry.with }),
  }
  const type = entry.uses ?? entry.agent ?? step.name
  return { work: runOf(entry, type, args), retry: entry.retry, timeout: clockOf(entry) }
}
