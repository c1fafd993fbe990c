/** Steps, compensation and policies: the spec of the file, or of a workflow nested in it. */

import type { Part } from '../../../kernel/reading/part.ts'
import { compileNet, NetError } from '../../../net/compile.ts'
import type { Net } from '../../../net/net.ts'
import { readGovernance } from './approval.ts'
import { type Reading, readTimeout } from './reading.ts'
import { readCompensation, readStep } from './step.ts'
import { type Approval, FAILURE_POLICIES, type Workflow } from './workflow.ts'

export const FLOW_FIELDS = [
  'description',
  'domainsInvolved',
  'steps',
  'compensation',
  'timeout',
  'failurePolicy',
  'governance',
]

/** `governance`: that of the surrounding workflow, for steps without one. */
export function readWorkflow(
  spec: Part,
  name: string,
  fields: readonly string[],
  governance: Approval | null,
  reading: Reading,
): Workflow {
  const known = !spec.given || reading.fields(spec, fields, 'a spec')
  const list = spec.get('steps')
  if (spec.given && known && !list.given) spec.wrong('a spec has steps', 'steps: [{ name: first, agent: someone }]')
  const asked = readGovernance(spec.get('governance'), reading) ?? governance
  const steps = list.items('steps').map((part) => {
    const step = readStep(part, reading)
    return step.governance === null && asked !== null ? { ...step, governance: asked } : step
  })
  if (Array.isArray(list.value) && steps.length === 0) list.wrong('steps is empty', 'at least one step')
  return {
    name,
    steps,
    compensation: spec
      .get('compensation')
      .items('compensation')
      .map((part) => readCompensation(part, reading)),
    timeoutMs: readTimeout(spec.get('timeout')),
    failurePolicy: spec.get('failurePolicy').choice('failurePolicy', FAILURE_POLICIES) ?? 'abort',
    governance: asked,
    path: spec.path,
  }
}

/** The net's own rules. Its templates were already checked at their places in the file. */
export function checkNet(net: Net, workflow: Workflow, reading: Reading): void {
  try {
    compileNet(net)
  } catch (error) {
    if (!(error instanceof NetError)) throw error
    for (const { message } of error.problems) {
      reading.reader.note({ path: [...workflow.path, 'steps'], message, hint: 'nest some: workflow: NAME' })
    }
  }
}
