/** What an instance was given: by whom it was started, with which input, and what its context holds now. */
import type { EngineApi } from '../../engine/api.ts'
import { PAGE_BYTES } from '../../model/shown.ts'
import { json, type Wire } from '../../wire/value.ts'

export async function aboutWire(engine: EngineApi, instanceId: string): Promise<Wire> {
  const { queries } = engine
  const [told, input, context] = await Promise.all([
    queries.slots({ instanceId, prefix: 'm' }),
    queries.slots({ instanceId, prefix: 'in', maxBytes: PAGE_BYTES }),
    contextWire(engine, instanceId),
  ])
  const about = (json(told.find(({ key }) => key === 'm')?.value ?? null) ?? {}) as {
    initiator?: string
    meta?: unknown
  }
  return {
    initiator: about.initiator ?? null,
    meta: about.meta ?? null,
    input: json(input.find(({ key }) => key === 'in')?.value ?? null),
    context,
  }
}

export async function contextWire(engine: EngineApi, instanceId: string): Promise<Wire> {
  const slots = await engine.queries.slots({ instanceId, prefix: 'c:', maxBytes: PAGE_BYTES })
  return Object.fromEntries(slots.map(({ key, value }) => [key.slice(2), json(value)]))
}
