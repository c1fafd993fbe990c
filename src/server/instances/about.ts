/** What an instance was given: by whom it was started, with which input, and what its context holds now. */
import type { EngineApi } from '../../engine/api.ts'
import type { SlotRow } from '../../model/rows.ts'
import { PAGE_BYTES } from '../../model/shown.ts'
import { type About, SLOT, type SlotKey } from '../../net/slots.ts'
import { anything, entries, nullable, text, type Value } from '../../wire/schema.ts'
import { json } from '../../wire/value.ts'

export const Context = entries(anything(), 'By name; what steps and patches have set.')

export const ABOUT = {
  initiator: nullable(text('Who started it.')),
  meta: anything('What they added.'),
  input: anything('What it was started with.'),
  context: Context,
}

type AboutWire = { readonly [K in keyof typeof ABOUT]: Value<(typeof ABOUT)[K]> }

export async function aboutWire(engine: EngineApi, instanceId: string): Promise<AboutWire> {
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

export async function contextWire(engine: EngineApi, instanceId: string): Promise<Value<typeof Context>> {
  const slots = await engine.queries.slots({ instanceId, prefix: SLOT.context.prefix, maxBytes: PAGE_BYTES })
  return Object.fromEntries(slots.map(({ key, value }) => [SLOT.context.nameIn(key), json(value)]))
}
