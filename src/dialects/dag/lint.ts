/** What runs but will trouble somebody at night: told by `petrel check`, refused only with --strict. */
import type { Reading } from './reading.ts'
import type { Step, Workflow } from './workflow.ts'

const MANY_STEPS = 10

export function lintWorkflow(workflow: Workflow, reading: Reading): void {
  const { steps, compensation, timeoutMs, failurePolicy } = workflow
  const undone = new Set(compensation.map((c) => c.step))
  const compensates = (step: Step): boolean => (step.onFailure ?? failurePolicy) === 'compensate'
  for (const step of steps) {
    warnOfTimeout(step, timeoutMs, reading)
    const mutates = !step.readOnly && step.approval === null
    if (compensates(step) && mutates && !undone.has(step.name)) {
      reading.warn(
        [...step.path, 'name'],
        `step '${step.name}' compensates on failure but nothing undoes it`,
        'add a compensation entry for it, or readOnly: true if there is nothing to undo',
      )
    }
  }
  for (const entry of compensation) {
    if (entry.timeoutMs !== null) continue
    reading.warn(
      [...entry.path, 'step'],
      `the compensation of '${entry.step}' has no timeout: it can hang for ever`,
      'timeout: 5m',
    )
  }
  const [first] = compensation
  if (first !== undefined && failurePolicy !== 'compensate' && !steps.some(compensates)) {
    reading.warn(
      [...workflow.path, 'compensation'],
      'nothing in this workflow compensates: these entries never run',
      'onFailure: compensate on steps, or failurePolicy: compensate',
    )
  }
  const eleventh = steps[MANY_STEPS]
  if (eleventh !== undefined) {
    reading.warn(
      [...eleventh.path, 'name'],
      `${steps.length} steps; more than ${MANY_STEPS} are hard to follow`,
      'make nested workflows of some: workflow: NAME',
    )
  }
}

function warnOfTimeout(step: Step, workflowMs: number | null, reading: Reading): void {
  const ms = step.approval === null ? step.timeoutMs : step.approval.timeoutMs
  if (ms === null) {
    // A nested workflow may bring its own clock; that of the whole is no clock of the step.
    reading.warn([...step.path, 'name'], `step '${step.name}' has no timeout: it can hang for ever`, 'timeout: 5m')
  } else if (workflowMs !== null && ms > workflowMs) {
    const field = step.timeoutMs === null ? ['approval', 'deadline'] : ['timeout']
    reading.warn(
      [...step.path, ...field],
      `step '${step.name}' may take longer than the whole workflow, whose timeout comes first`,
      null,
    )
  }
}
