/** The result of one node. What a final returned is nobody's input, so the engine keeps it only in its run. */

import type { EngineApi } from '../../engine/api.ts'
import type { InstanceRow } from '../../model/rows.ts'
import type { Net, Node } from '../../net/net.ts'
import { projectionOf } from '../../notations/notations.ts'
import type { StepState } from '../../views/steps.ts'
import { json } from '../../wire/value.ts'

export interface NodeResult {
  readonly state: StepState
  /** null: none, or it returned none. */
  readonly result: unknown
}

export async function loadResult(engine: EngineApi, instance: InstanceRow, net: Net, node: Node): Promise<NodeResult> {
  const [step] = await projectionOf(instance).steps.load(engine, net, instance, [node])
  const state = step?.state ?? 'pending'
  const final = net.finals.some((f) => f.node === node.key)
  if (!final) return { state, result: json((await engine.results(instance.id, [node.key])).get(node.key) ?? null) }
  const id = step?.run?.id ?? null
  return { state, result: id === null ? null : json((await engine.queries.run(id))?.result ?? null) }
}
