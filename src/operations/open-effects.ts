/** What a saga's rollback left undone. Apart from the catalog: a command that only shows a saga need not load the parser of definitions. */
import type { EngineApi } from '../engine/api.ts'
import type { Place } from '../net/marking.ts'
import { UNDO_AT_HAND } from '../net/phases.ts'

/** What a saga did, or may have done, that its rollback has not undone; empty unless the rollback stopped. */
export interface OpenEffect {
  readonly stepId: string
  readonly stepIndex: number
  readonly name: string
  /** Its undo failed; its undo was never sent; the step may have taken effect, but has not answered. */
  readonly reason: 'undo_failed' | 'not_undone' | 'in_doubt'
}

/** In the order of the steps. */
export async function openEffects(engine: EngineApi, id: string): Promise<readonly OpenEffect[]> {
  const row = await engine.store.read.instance(id)
  if (row?.outcome !== 'rolled_back_partial') return []
  const [listed, doubted, stopped] = await Promise.all(
    ['u:', 'd:', UNDO_AT_HAND].map((prefix) => engine.store.read.slots({ instanceId: id, prefix })),
  )
  const reasons = new Map<string, OpenEffect['reason']>()
  const note = (found: typeof listed, reason: OpenEffect['reason']): void => {
    for (const { value } of found ?? []) reasons.set((JSON.parse(value) as Place).node, reason)
  }
  note(listed, 'not_undone')
  note(doubted, 'in_doubt')
  note(stopped, 'undo_failed')
  const steps = await engine.store.sagas.steps(id)
  return steps.flatMap(({ id: stepId, stepIndex, name }) => {
    const reason = stepIndex < 0 ? undefined : reasons.get(name)
    return reason === undefined ? [] : [{ stepId, stepIndex, name, reason }]
  })
}
