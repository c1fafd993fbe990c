/** Nested workflows are checked before anything is stored: every net they name is there, none lies too deep. */

import { PetrelError } from '../../kernel/errors.ts'
import type { ChildStart, Item, StartParams } from '../../model/start.ts'
import type { Json, Net } from '../../net/net.ts'

type Spec = Pick<ChildStart, 'literals' | 'items'>

export function checkNesting(
  params: StartParams,
  hashes: readonly string[],
  nets: readonly Net[],
  maxDepth: number,
): void {
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
