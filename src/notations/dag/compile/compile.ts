/**
 * A workflow as a net: a step is a node, a dependency an arc, several dependencies a count join, shared where possible.
 */
import type { Arc, GateWork, Json, Net, Node, NodeSchema, RunWork, Timeout, Undo, Work } from '../../../net/net.ts'
import { type Join, joinsOf } from './joins.ts'
import type { Approval, Compensation, Step, Task, Workflow } from './workflow.ts'

/** The hash of the nested workflow for a step. */
export type ChildOf = (step: Step) => string

export function compileWorkflow(workflow: Workflow, childOf: ChildOf): Net {
  const { shared, sourcesOf } = joinsOf(workflow.steps)
  const arcs = new Map<string, Arc[]>(
    [...workflow.steps.map((s) => s.name), ...shared.map((j) => j.key)].map((k) => [k, []]),
  )
  const connect = (from: string, to: string) => arcs.get(from)?.push({ to, when: null, args: null, set: null })
  for (const join of shared) for (const d of join.dependsOn) connect(d, join.key)
  for (const step of workflow.steps) for (const source of sourcesOf(step)) connect(source, step.name)
  const undos = new Map(workflow.compensation.map((c) => [c.step, c]))
  const nodes = workflow.steps.map((step): Node => {
    const undo = undos.get(step.name)
    return {
      key: step.name,
      work: workOf(step, childOf),
      join: sourcesOf(step).length > 1 ? 'count' : 'each',
      admit: null,
      retry: isRun(step) ? step.retry : null,
      timeout: isRun(step) ? clockOf(step) : null,
      onFailure: step.onFailure ?? 'net',
      undo: undo === undefined ? null : undoOf(step, undo),
      next: { mode: 'every', arcs: arcs.get(step.name) ?? [], scope: null },
      ...(isRun(step) ? { appeal: appealOf(step), ...schemaOf(step) } : {}),
    }
  })
  return {
    version: 1,
    name: workflow.name,
    dialect: 'dag',
    nodes: [...nodes, ...shared.map((join) => joinNode(join, arcs.get(join.key) ?? []))],
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

/** Hidden: views of a workflow show only its steps. */
function joinNode({ key }: Join, arcs: readonly Arc[]): Node {
  return {
    key,
    work: { kind: 'pass' },
    join: 'count',
    admit: null,
    retry: null,
    timeout: null,
    onFailure: 'net',
    undo: null,
    next: { mode: 'every', arcs, scope: null },
  }
}

function workOf(step: Step, childOf: ChildOf): Work {
  if (step.workflow !== null) return { kind: 'child', net: childOf(step), mode: 'attached', input: inputOf(step) }
  if (step.approval !== null) return gateOf(step.approval)
  return runOf(step, step.uses ?? step.agent ?? step.name, inputOf(step))
}

function gateOf({ options, timeoutMs, onTimeout }: Approval): GateWork {
  return { kind: 'gate', options, timeoutMs, onTimeout }
}

/** Governance blocks and escalates: unless it is restricted, any person may decide. */
function appealOf({ name, governance }: Step): GateWork {
  const gate = governance ?? { options: {}, timeoutMs: null, onTimeout: 'reject' }
  return gateOf({ ...gate, options: { title: `governance: ${name}`, ...gate.options } })
}

function schemaOf(step: Step): { readonly schema?: NodeSchema } {
  const { inputSchema, outputSchema } = step
  if (inputSchema === null && outputSchema === null) return {}
  const path = [step.with === null ? 'input' : 'with']
  return { schema: { input: inputSchema === null ? null : { path, schema: inputSchema }, output: outputSchema } }
}

/** One timeout from the first start over all attempts. */
function clockOf(task: Task): Timeout | null {
  return task.timeoutMs === null ? null : { ms: task.timeoutMs, per: 'node' }
}

function runOf(task: Task, type: string, args: Json): RunWork {
  return {
    kind: 'run',
    type,
    queue: task.queue ?? type,
    priority: 100,
    delayMs: 0,
    args,
    limitKey: null,
  }
}

/** The input of the step. A skipped dependency is present as null; a nested workflow with the results of its steps. */
function inputOf(step: Step): Json {
  if (step.workflow !== null) return step.with ?? '{{ input }}'
  return {
    ...taskInput(step),
    results: Object.fromEntries(step.dependsOn.map((d) => [d, resultOf(d)])),
    ...(step.with === null ? {} : { with: step.with }),
  }
}

function taskInput(task: Task): { readonly [key: string]: Json } {
  return { agent: task.agent, action: task.action, input: '{{ input }}' }
}

function resultOf(step: string): string {
  return `{{ results['${step}'] }}`
}

/** The run has the input of its step; for a nested workflow or a gate it is rendered again. */
function undoOf(step: Step, entry: Compensation): Undo {
  const args: Json = {
    ...taskInput(entry),
    step: { name: step.name, input: isRun(step) ? null : inputOf(step), result: resultOf(step.name) },
    ...(entry.with === null ? {} : { with: entry.with }),
  }
  const type = entry.uses ?? entry.agent ?? step.name
  const given = isRun(step) ? { given: ['step', 'input'] as const } : {}
  return { work: runOf(entry, type, args), ...given, retry: entry.retry, timeout: clockOf(entry) }
}

function isRun({ approval, workflow }: Step): boolean {
  return approval === null && workflow === null
}
