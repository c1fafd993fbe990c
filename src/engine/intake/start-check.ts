/** What a start must satisfy. Asks no store, so that a thread that plans a definition can refuse the same. */

import { storableText } from '../../kernel/json-limits.ts'
import { checkLimit } from '../../model/limits.ts'
import type { StartParams } from '../../model/start.ts'
import type { Json } from '../../net/net.ts'
import { checkInput } from '../fold/instance/input-defaults.ts'
import { checkQuotas } from '../fold/quotas.ts'
import type { Nets } from '../transaction/nets.ts'
import { checkNesting } from './nesting.ts'

export interface StartLimits {
  readonly maxDepth: number
  readonly maxPayloadBytes: number
}

export interface CheckedStart {
  /** Of its nets, its own first. */
  readonly hashes: readonly string[]
  /** About how much it will store. */
  readonly bytes: number
}

export function checkStart(params: StartParams, nets: Nets, limits: StartLimits): CheckedStart {
  for (const limit of params.limits ?? []) checkLimit(limit)
  if (params.slots !== undefined) checkQuotas(params.slots)
  const all = [params.net, ...(params.nets ?? [])]
  const hashes = all.map((net) => nets.admit(net))
  checkNesting(params, hashes, all, limits.maxDepth)
  checkInput(params.net.input, params.input, 'start.input')
  const bytes = checkGiven(params, limits)
  bytesOf((params.literals ?? null) as unknown as Json, 'start.literals', limits)
  let items = 0
  for (const [node, list] of Object.entries(params.items ?? {})) {
    for (const [i, item] of list.entries()) items += bytesOf(item as Json, `start.items.${node}[${i}]`, limits)
  }
  return { hashes, bytes: bytes + items + 1000 }
}

/** Refuses an input or meta that cannot be stored; how long they are. */
export function checkGiven(
  { input = null, meta = null }: { readonly input?: Json; readonly meta?: Json },
  limits: StartLimits,
): number {
  return bytesOf(input, 'start.input', limits) + bytesOf(meta, 'start.meta', limits)
}

function bytesOf(value: Json, place: string, { maxPayloadBytes }: StartLimits): number {
  return value === null ? 4 : storableText(value, place, maxPayloadBytes).length
}
