/**
 * One saga as it is shown, with the effects that its rollback left. Separate from the catalog: a command that only
 * shows a saga need not load the parser of definitions.
 */
import type { EngineApi } from '../../engine/api.ts'
import type { OpenEffect, SagaRow, SagaView } from '../../model/sagas.ts'
import type { Place } from '../../net/marking.ts'
import { SLOT } from '../../net/slots.ts'

/** With its steps, and the effects that its rollback has not undone. */
export async function sagaView(engine: EngineApi, saga: SagaRow): Promise<SagaView> {
  const [steps, open] = await Promise.all([engine.queries.sagas.steps(saga.id), openEffects(engine, saga.id)])
  return { saga, steps, open }
}

/** In the order of the steps. */
export async function openEffects(engine: EngineApi, id: string): Promise<readonly OpenEffect[]> {
  const row = await engine.queries.instance(id)
  if (row?.outcome !== 'rolled_back_partial') return []
  const [listed, doubted, stopped] = await Promise.all(
    [SLOT.undo.prefix, SLOT.doubt.prefix, SLOT.undoAtHand.prefix].map((prefix) =>
      engine.queries.slots({ instanceId: id, prefix }),
    ),
  )
  const reasons = new Map<string, OpenEffect['reason']>()
  const note = (found: typeof listed, reason: OpenEffect['reason']): void => {
    for (const { value } of found ?? []) reasons.set((JSON.parse(value) as Place).node, reason)
  }
  note(listed, 'not_undone')
  note(doubted, 'in_doubt')
  note(stopped, 'undo_failed')
  const steps = await engine.queries.sagas.steps(id)
  return steps.flatMap(({ id: stepId, stepIndex, name }) => {
    const reason = stepIndex < 0 ? undefined : reasons.get(name)
    return reason === undefined ? [] : [{ stepId, stepIndex, name, reason }]
  })
}
