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

/** What fire lacks, in the store's words. */
export function needOf(instanceId: string, missing: readonly Missing[]): Need {
  if (missing.length === 0) throw new PetrelError('engine_error', 'fire asked for nothing')
  // Results and slots come by the thousand, where many steps join; of the others there is one at a time.
  const results = missing.flatMap((m) => (m.fact === 'result' ? [{ instanceId, node: m.node }] : []))
  const keys = missing.flatMap((m) => (m.fact === 'slot' ? [m.key] : []))
  const other = missing.find((m) => m.fact !== 'result' && m.fact !== 'slot')
  return {
    ...(other === undefined ? {} : needOfOne(instanceId, other as Other)),
    ...(results.length === 0 ? {} : { results }),
    ...(keys.length === 0 ? {} : { slots: [{ instanceId, keys }] }),
  }
}

type Other = Exclude<Missing, { readonly fact: 'result' | 'slot' }>

function needOfOne(instanceId: string, m: Other): Need {
  switch (m.fact) {
    case 'slotsWith':
      return { slotsWith: [{ instanceId, prefix: m.prefix }] }
    case 'topSlot':
      return { topSlot: [{ instanceId, prefix: m.prefix }] }
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
