/** Definitions that run but will cause trouble later: reported by `petrel check`, refused only with --strict. */
import type { Nested, Target } from './nested.ts'
import type { Reading } from './reading.ts'
import type { Step, Workflow } from './workflow.ts'

const MANY_STEPS = 10

export function lintWorkflow(workflow: Workflow, nested: Nested, reading: Reading): void {
  const { steps, compensation, failurePolicy } = workflow
  const undone = new Set(compensation.map((c) => c.step))
  for (const step of steps) {
    warnOfTimeout(step, workflow, nested.targetOf(step), reading)
    if (!compensates(step, workflow) || undone.has(step.name) || !mutates(step, nested, new Set())) continue
    reading.warn(
      [...step.path, 'name'],
      `step '${step.name}' compensates on failure but nothing undoes it`,
      'add a compensation entry for it, or readOnly: true if there is nothing to undo',
      'compensation_gap',
    )
  }
  for (const entry of compensation) {
    if (entry.timeoutMs !== null) continue
    reading.warn(
      [...entry.path, 'step'],
      `the compensation of '${entry.step}' has no timeout: it can hang indefinitely`,
      'timeout: 5m',
      'no_timeout',
    )
  }
  if (compensation.length > 0 && failurePolicy !== 'compensate' && !steps.some((s) => compensates(s, workflow))) {
    reading.warn(
      [...workflow.path, 'compensation'],
      'nothing in this workflow compensates: these entries never run',
      'onFailure: compensate on steps, or failurePolicy: compensate',
      'never_runs',
    )
  }
  const eleventh = steps[MANY_STEPS]
  if (eleventh !== undefined) {
    reading.warn(
      [...eleventh.path, 'name'],
      `${steps.length} steps; more than ${MANY_STEPS} are hard to follow`,
      'make nested workflows of some: workflow: NAME',
      'many_steps',
    )
  }
}

function compensates(step: Step, { failurePolicy }: Workflow): boolean {
  return (step.onFailure ?? failurePolicy) === 'compensate'
}

/** A nested workflow changes something if one of its steps does; workflows in other files are not examined. */
function mutates(step: Step, nested: Nested, seen: Set<Workflow>): boolean {
  if (step.readOnly || step.approval !== null) return false
  const inner = nested.targetOf(step)?.workflow ?? null
  if (inner === null) return true
  if (seen.has(inner)) return false
  seen.add(inner)
  return inner.steps.some((s) => mutates(s, nested, seen))
}

function warnOfTimeout(step: Step, workflow: Workflow, target: Target | null, reading: Reading): void {
  const own = step.approval === null ? step.timeoutMs : step.approval.timeoutMs
  const inner = target === null ? null : (target.workflow?.timeoutMs ?? target.definition?.start.net.timeoutMs ?? null)
  const name = [...step.path, 'name']
  if (own === null && inner === null) {
    // The timeout of the whole workflow does not replace one for the step.
    reading.warn(name, `step '${step.name}' has no timeout: it can hang indefinitely`, 'timeout: 5m', 'no_timeout')
    return
  }
  const ms = Math.min(own ?? Number.POSITIVE_INFINITY, inner ?? Number.POSITIVE_INFINITY)
  if (workflow.timeoutMs === null || ms <= workflow.timeoutMs) return
  const field = own === null ? ['workflow'] : step.timeoutMs === null ? ['approval', 'deadline'] : ['timeout']
  reading.warn(
    [...step.path, ...field],
    `step '${step.name}' may take longer than the whole workflow, whose timeout comes first`,
    'a shorter one, or a longer timeout of the workflow',
    'timeout_beyond_workflow',
  )
}
