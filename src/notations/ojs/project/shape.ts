/** The shape of a workflow that another process started: derived from its net and the nets of nested workflows. */
import { PetrelError } from '../../../kernel/errors.ts'
import type { InstanceRow } from '../../../model/rows.ts'
import type { Net } from '../../../net/net.ts'
import { SLOT } from '../../../net/slots.ts'
import type { Shape } from '../../../worker/shape.ts'
import type { Reading } from '../../interface/projection.ts'

export async function shapeOf(reading: Reading, row: InstanceRow): Promise<Shape> {
  const net = await netOf(reading, row)
  const children = await reading.queries.children(row.id)
  const nested = async (node: string, item: number): Promise<Shape> => {
    // Of several (a retry of a nested workflow), the newest: ids grow with time.
    const child = children
      .filter((c) => c.parentNode === node && c.parentItem === item)
      .sort(byId)
      .at(-1)
    return child === undefined ? null : await shapeOf(reading, child)
  }
  if (net.entry[0] !== 'jobs') {
    const last = String(net.nodes.length - 1)
    return { last, of: await nested(last, -1) }
  }
  const of: Record<string, Shape> = {}
  for (const { parentNode, parentItem } of children) {
    if (parentNode === 'jobs') of[parentItem] = await nested('jobs', parentItem)
  }
  return { each: 'jobs', count: await itemCount(reading, row.id), of }
}

async function netOf(reading: Reading, row: InstanceRow): Promise<Net> {
  const net = await reading.net(row.netHash)
  if (net === null) throw new PetrelError('engine_error', `the net of workflow ${row.id} is missing`)
  return net
}

async function itemCount(reading: Reading, instanceId: string): Promise<number> {
  const text = await reading.queries.slot({ instanceId, key: SLOT.givenItems.key('jobs') })
  return text === null ? 0 : (JSON.parse(text) as number)
}

function byId(a: InstanceRow, b: InstanceRow): number {
  return a.id < b.id ? -1 : 1
}
