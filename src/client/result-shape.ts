/** The shape of a workflow that another process started: derived from its net and the nets of nested workflows. */
import type { EngineApi } from '../engine/api.ts'
import { PetrelError } from '../kernel/errors.ts'
import type { InstanceRow } from '../model/rows.ts'
import type { Net } from '../net/net.ts'
import { SLOT } from '../net/slots.ts'
import type { Shape } from '../worker/shape.ts'

/** null: not a chain, group or batch; its value is its results by node. */
export async function shapeOfInstance(engine: EngineApi, id: string): Promise<Shape> {
  const row = await engine.queries.instance(id)
  if (row === null) throw new PetrelError('not_found', `there is no workflow ${id}`)
  return row.dialect === 'ojs' ? await shapeOf(engine, row) : null
}

async function shapeOf(engine: EngineApi, row: InstanceRow): Promise<Shape> {
  const net = await netOf(engine, row)
  const children = await engine.queries.children(row.id)
  const nested = async (node: string, item: number): Promise<Shape> => {
    // Of several (a retry of a nested workflow), the newest: ids grow with time.
    const child = children
      .filter((c) => c.parentNode === node && c.parentItem === item)
      .sort(byId)
      .at(-1)
    return child === undefined ? null : await shapeOf(engine, child)
  }
  if (net.entry[0] !== 'jobs') {
    const last = String(net.nodes.length - 1)
    return { last, of: await nested(last, -1) }
  }
  const of: Record<string, Shape> = {}
  for (const { parentNode, parentItem } of children) {
    if (parentNode === 'jobs') of[parentItem] = await nested('jobs', parentItem)
  }
  return { each: 'jobs', count: await itemCount(engine, row.id), of }
}

async function netOf(engine: EngineApi, row: InstanceRow): Promise<Net> {
  const net = await engine.net(row.netHash)
  if (net === null) throw new PetrelError('engine_error', `the net of workflow ${row.id} is missing`)
  return net
}

async function itemCount(engine: EngineApi, instanceId: string): Promise<number> {
  const text = await engine.queries.slot({ instanceId, key: SLOT.givenItems.key('jobs') })
  return text === null ? 0 : (JSON.parse(text) as number)
}

function byId(a: InstanceRow, b: InstanceRow): number {
  return a.id < b.id ? -1 : 1
}
