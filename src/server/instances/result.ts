/** The result of one node. What a final returned is nobody's input, so the engine keeps it only in its run. */

import type { EngineApi } from '../../engine/api.ts'
import type { InstanceRow } from '../../model/rows.ts'
import { indexNet } from '../../net/compile.ts'
import type { Net, Node } from '../../net/net.ts'
import { loadMarks, loadPlaybookSteps } from '../../notations/playbook/project/steps.ts'
import { loadSteps, type StepState, type StepView } from '../../views/steps.ts'
import { json } from '../../wire/value.ts'

export interface NodeResult {
  readonly state: StepState
  /** null: none, or it returned none. */
  readonly result: unknown
}

export async function loadResult(engine: EngineApi, instance: InstanceRow, net: Net, node: Node): Promise<NodeResult> {
  const { store } = engine
  const step = await loadStep(engine, instance, net, node)
  const state = step?.state ?? 'pending'
  const final = net.finals.some((f) => f.node === node.key)
  if (!final) return { state, result: json((await engine.results(instance.id, [node.key])).get(node.key) ?? null) }
  const id = step?.run?.id ?? null
  return { state, result: id === null ? null : json((await store.read.run(id))?.result ?? null) }
}

async function loadStep(
  { store }: EngineApi,
  instance: InstanceRow,
  net: Net,
  node: Node,
): Promise<StepView | undefined> {
  const nodes = [node]
  if (instance.dialect !== 'playbook') return (await loadSteps(store.read, indexNet(net), instance, nodes))[0]
  const marks = await loadMarks(store, instance.id)
  return (await loadPlaybookSteps({ store, net, instance, nodes, marks }))[0]
}
