/** What an instance was given: by whom it was started, with which input, and what its context holds now. */
import type { EngineApi } from '../../engine/api.ts'
import type { SlotRow } from '../../model/rows.ts'
import { PAGE_BYTES } from '../../model/shown.ts'
import { type About, SLOT, type SlotKey } from '../../net/slots.ts'
import { json, type Wire } from '../../wire/value.ts'

export async function aboutWire(engine: EngineApi, instanceId: string): Promise<Wire> {
  const { queries } = engine
  const [told, input, context] = await Promise.all([
    queries.slots({ instanceId, prefix: SLOT.about.prefix }),
    queries.slots({ instanceId, prefix: SLOT.input.prefix, maxBytes: PAGE_BYTES }),
    contextWire(engine, instanceId),
  ])
  const shown = (rows: readonly SlotRow[], wanted: SlotKey) =>
    json(rows.find(({ key }) => key === wanted)?.value ?? null)
  const about = shown(told, SLOT.about.key) as About | null
  return {
    initiator: about?.initiator ?? null,
    meta: about?.meta ?? null,
    input: shown(input, SLOT.input.key),
    context,
  }
}

export async function contextWire(engine: EngineApi, instanceId: string): Promise<Wire> {
  const slots = await engine.queries.slots({ instanceId, prefix: SLOT.context.prefix, maxBytes: PAGE_BYTES })
  return Object.fromEntries(slots.map(({ key, value }) => [SLOT.context.nameIn(key), json(value)]))
}
