/** How the parts of a fold request rows that were not loaded. */

import { PetrelError } from '../../kernel/errors.ts'
import { LIST_BYTES } from '../../model/queries/firings.ts'
import type { Need } from '../../model/transaction.ts'
import { type Missing, Unloaded } from '../../net/facts.ts'

/** Thrown where a row is needed that was not loaded; caught once per root. */
export class NeedMore extends Unloaded {
  readonly need: Need
  constructor(need: Need) {
    super('need more')
    this.need = need
  }
}

/** What fire lacks, as a request to the store. */
export function needOf(instanceId: string, missing: readonly Missing[]): Need {
  if (missing.length === 0) throw new PetrelError('engine_error', 'fire asked for nothing')
  // Where many steps join, thousands of results and slots are requested; of the others there is one at a time.
  const results = missing.flatMap((m) =>
    m.fact === 'result' && m.fire === undefined ? [{ instanceId, node: m.node }] : [],
  )
  const resultsAt = missing.flatMap((m) =>
    m.fact === 'result' && m.fire !== undefined
      ? [{ instanceId, node: m.node, fire: m.fire, maxBytes: LIST_BYTES }]
      : [],
  )
  const keys = missing.flatMap((m) => (m.fact === 'slot' ? [m.key] : []))
  const other = missing.find((m) => m.fact !== 'result' && m.fact !== 'slot')
  return {
    ...(other === undefined ? {} : needOfOne(instanceId, other as Other)),
    ...(results.length === 0 ? {} : { results }),
    ...(resultsAt.length === 0 ? {} : { resultsAt }),
    ...(keys.length === 0 ? {} : { slots: [{ instanceId, keys }] }),
  }
}

/** Their chunk is read as a whole anyway. */
const ITEMS_AHEAD = 64

type Other = Exclude<Missing, { readonly fact: 'result' | 'slot' }>

function needOfOne(instanceId: string, m: Other): Need {
  switch (m.fact) {
    case 'slotsWith':
      return { slotsWith: [{ instanceId, prefix: m.prefix }] }
    case 'topSlot':
      return { topSlot: [{ instanceId, prefix: m.prefix }] }
    case 'items': {
      // Each item that ends needs one more: items that end in the same transaction will need the following ones.
      const count = Math.max(m.count, ITEMS_AHEAD)
      return { items: [{ instanceId, node: m.node, fire: m.fire, from: m.from, count }] }
    }
    case 'ran':
      return { ran: [instanceId] }
    case 'unstarted':
      return { unstarted: [{ instanceId, limit: m.limit }] }
    case 'openChildren':
      return { openChildren: [{ instanceId, limit: m.limit }] }
    case 'openGates':
      return { openGates: [{ instanceId, limit: m.limit }] }
  }
}
