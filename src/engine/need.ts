/** How the parts of a fold ask for what was not loaded. */
import { type Missing, Unloaded } from '../net/facts.ts'
import type { Need } from '../store/store.ts'
import { PetrelError } from './errors.ts'

/** Thrown by anything that meets something not loaded; caught once per root. */
export class NeedMore extends Unloaded {
  readonly need: Need
  constructor(need: Need) {
    super('need more')
    this.need = need
  }
}

/** What fire lacks, in the store's words. Several at once are results of one join. */
export function needOf(instanceId: string, missing: readonly Missing[]): Need {
  const m = missing[0]
  if (m === undefined) throw new PetrelError('engine_error', 'fire asked for nothing')
  switch (m.fact) {
    case 'slot':
      return { slots: [{ instanceId, keys: [m.key] }] }
    case 'slotsWith':
      return { slotsWith: [{ instanceId, prefix: m.prefix }] }
    case 'topSlot':
      return { topSlot: [{ instanceId, prefix: m.prefix }] }
    case 'result':
      return { results: missing.flatMap((one) => (one.fact === 'result' ? { instanceId, node: one.node } : [])) }
    case 'items':
      return { items: [{ instanceId, node: m.node, fire: m.fire, from: m.from, count: m.count }] }
    case 'unstarted':
      return { unstarted: [{ instanceId, limit: m.limit }] }
    case 'openChildren':
      return { openChildren: [{ instanceId, limit: m.limit }] }
    case 'openGates':
      return { openGates: [{ instanceId, limit: m.limit }] }
  }
}
