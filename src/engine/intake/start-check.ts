/** The rules for a start. They need no store, so that a thread that plans a definition can apply the same rules. */

import { PetrelError } from '../../kernel/errors.ts'
import { storableText } from '../../kernel/json-limits.ts'
import { checkLimit } from '../../model/limits.ts'
import { checkFairKey } from '../../model/queues/fair.ts'
import { checkedTags } from '../../model/search/terms.ts'
import type { ChildStart, Item, StartLimits, StartParams } from '../../model/start.ts'
import type { Json, Net } from '../../net/net.ts'
import { checkInput } from '../fold/instance/input-defaults.ts'
import { checkQuotas } from '../fold/quotas.ts'
import type { Nets } from '../transaction/nets.ts'

export interface CheckedStart {
  /** The hashes of its nets, its own first. */
  readonly hashes: readonly string[]
  /** Approximately how much it will store. */
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

/** Refuses an input, meta, tags or a key that cannot be stored; returns the length of the first two. */
export function checkGiven(
  { input = null, meta = null, tags = [], fairKey }: Pick<StartParams, 'input' | 'meta' | 'tags' | 'fairKey'>,
  limits: StartLimits,
): number {
  checkedTags(tags, 'start.tags')
  if (fairKey !== undefined) checkFairKey(fairKey, 'start.fairKey')
  return bytesOf(input, 'start.input', limits) + bytesOf(meta, 'start.meta', limits)
}

function bytesOf(value: Json, place: string, { maxPayloadBytes }: StartLimits): number {
  return value === null ? 4 : storableText(value, place, maxPayloadBytes).length
}

type Spec = Pick<ChildStart, 'literals' | 'items'>

/**
 * Nested workflows are checked before anything is stored: every net they name is known, and none is nested too deep.
 */
function checkNesting(params: StartParams, hashes: readonly string[], nets: readonly Net[], maxDepth: number): void {
  const byHash = new Map(hashes.map((hash, i) => [hash, nets[i] as Net]))
  const visit = (net: Net, spec: Spec, depth: number, path: string): void => {
    if (depth > maxDepth) {
      throw new PetrelError('too_deep', `${path} is nested ${depth} levels deep; at most ${maxDepth} are allowed`, {
        path,
      })
    }
    const child = (hash: string, start: Spec, at: string): void => {
      const nested = byHash.get(hash)
      // A net stored earlier was checked then, and can only be reached through its hash.
      if (nested !== undefined) visit(nested, start, depth + 1, at)
    }
    for (const node of net.nodes) {
      const at = `${path}.${node.key}`
      const { work } = node
      if (work.kind === 'child') child(work.net, spec.literals?.[node.key]?.start ?? {}, at)
      if (work.kind !== 'each') continue
      if (work.body?.kind === 'child') child(work.body.net, {}, at)
      else if (work.body === null) visitItems(spec.items?.[node.key] ?? [], at, child)
    }
  }
  visit(params.net, params, 1, params.net.name)
}

function visitItems(items: readonly Item[], at: string, child: (hash: string, start: Spec, at: string) => void): void {
  for (const [i, item] of items.entries()) {
    const named = item as {
      readonly child?: Json
      readonly start?: ChildStart
      readonly run?: { readonly type?: Json }
    } | null
    if (typeof named?.child === 'string') child(named.child, named.start ?? {}, `${at}[${i}]`)
    else if (typeof named?.run?.type !== 'string') {
      throw new PetrelError(
        'invalid_request',
        `${at}[${i}]: an item names its work: { run: { type, args } } or { child, start }`,
      )
    }
  }
}
