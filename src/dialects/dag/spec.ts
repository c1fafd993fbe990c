/** Steps, compensation and policies: the spec of the file, or of a workflow nested in it. */
import { newEvaluator } from '../../engine/evaluator.ts'
import { compileNet, NetError } from '../../net/compile.ts'
import type { Net } from '../../net/net.ts'
import type { Part } from '../reader.ts'
import { lintWorkflow } from './lint.ts'
import { type Reading, readTimeout } from './reading.ts'
import { checkWorkflow } from './rules.ts'
import { readCompensation, readStep } from './step.ts'
import type { Workflow } from './workflow.ts'

export const FLOW_FIELDS = ['description', 'domainsInvolved', 'steps', 'compensation', 'timeout', 'failurePolicy']

export function readWorkflow(spec: Part, name: string, fields: readonly string[], reading: Reading): Workflow {
  const known = !spec.given || reading.fields(spec, fields, 'a spec')
  const list = spec.get('steps')
  if (spec.given && known && !list.given) spec.wrong('a spec has steps', 'steps: [{ name: first, agent: someone }]')
  const steps = list.items('steps').map((part) => readStep(part, reading))
  if (Array.isArray(list.value) && steps.length === 0) list.wrong('steps is empty', 'at least one step')
  const workflow: Workflow = {
    name,
    steps,
    compensation: spec
      .get('compensation')
      .items('compensation')
      .map((part) => readCompensation(part, reading)),
    timeoutMs: readTimeout(spec.get('timeout')),
    failurePolicy: readFailurePolicy(spec.get('failurePolicy')),
    path: spec.path,
  }
  checkWorkflow(workflow, reading.reader)
  lintWorkflow(workflow, reading)
  return workflow
}

function readFailurePolicy(part: Part): Workflow['failurePolicy'] {
  if (part.value === 'retry') {
    part.wrong('failurePolicy: retry is not supported', 'give the steps a retryPolicy, and abort or compensate here')
  }
  return part.value === 'retry' ? 'abort' : (part.choice('failurePolicy', ['abort', 'compensate']) ?? 'abort')
}

/** The net's own bounds: how many nodes and arcs. */
export function checkNet(net: Net, workflow: Workflow, reading: Reading): void {
  try {
    compileNet(net, newEvaluator())
  } catch (error) {
    if (!(error instanceof NetError)) throw error
    for (const { message } of error.problems) {
      reading.reader.note({ path: [...workflow.path, 'steps'], message, hint: null })
    }
  }
}
