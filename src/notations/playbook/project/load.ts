/** Loads the rows of an execution in a few statements. */

import type { InstanceRow } from '../../../model/rows.ts'
import { SLOT } from '../../../net/slots.ts'
import type { Reading } from '../../interface/projection.ts'
import { type Execution, executionOf } from './execution.ts'
import { loadMarks, loadPlaybookSteps, type PlaybookStep } from './steps.ts'
import { playbookNodes } from './words.ts'

export interface LoadedExecution {
  readonly execution: Execution
  readonly steps: readonly PlaybookStep[]
}

/** null: its net is gone. */
export async function loadExecution(reading: Reading, instance: InstanceRow): Promise<LoadedExecution | null> {
  const net = await reading.net(instance.netHash)
  if (net === null) return null
  const { queries } = reading
  const [marks, now] = await Promise.all([loadMarks(queries, instance.id), queries.now()])
  const steps = await loadPlaybookSteps({ queries, net, instance, nodes: playbookNodes(net), marks })
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
