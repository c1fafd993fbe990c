/** Loads the rows of an execution in a few statements. */
import type { EngineApi } from '../../../engine/api.ts'
import type { InstanceRow } from '../../../model/rows.ts'
import { SLOT } from '../../../net/slots.ts'
import { type Execution, executionOf } from './execution.ts'
import { loadMarks, loadPlaybookSteps, type PlaybookStep, playbookNodes } from './steps.ts'

export interface LoadedExecution {
  readonly execution: Execution
  readonly steps: readonly PlaybookStep[]
}

/** null: of another notation. */
export async function loadExecution(engine: EngineApi, instance: InstanceRow): Promise<LoadedExecution | null> {
  if (instance.dialect !== 'playbook') return null
  const net = await engine.net(instance.netHash)
  if (net === null) return null
  const { store } = engine
  const [marks, now] = await Promise.all([loadMarks(store, instance.id), store.now()])
  const steps = await loadPlaybookSteps({ store, net, instance, nodes: playbookNodes(net), marks })
  const left = marks.value(SLOT.discarded.key)
  const execution = executionOf({
    instance,
    net,
    steps,
    error: marks.value(SLOT.error.key),
    noted: marks.noted,
    left: left?.nodes ?? [],
    now,
  })
  return { execution, steps }
}
