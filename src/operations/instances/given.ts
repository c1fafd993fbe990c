/** The origin of an instance: who started it, its input, and its current context. */
import type { EngineApi } from '../../engine/api.ts'
import type { JsonText, SlotRow } from '../../model/rows.ts'
import { PAGE_BYTES } from '../../model/shown.ts'
import { SLOT, type SlotKey } from '../../net/slots.ts'

export interface Given {
  /** The initiator and the data given at the start; null: none. */
  readonly about: JsonText | null
  readonly input: JsonText | null
  readonly context: ReadonlyMap<string, JsonText>
}

export async function given({ queries }: EngineApi, instanceId: string): Promise<Given> {
  const [about, input, context] = await Promise.all([
    queries.slots({ instanceId, prefix: SLOT.about.prefix }),
    queries.slots({ instanceId, prefix: SLOT.input.prefix, maxBytes: PAGE_BYTES }),
    queries.slots({ instanceId, prefix: SLOT.context.prefix, maxBytes: PAGE_BYTES }),
  ])
  return {
    about: slotText(about, SLOT.about.key),
    input: slotText(input, SLOT.input.key),
    context: new Map(context.map(({ key, value }) => [SLOT.context.nameIn(key), value])),
  }
}

function slotText(rows: readonly SlotRow[], wanted: SlotKey): JsonText | null {
  return rows.find(({ key }) => key === wanted)?.value ?? null
}
