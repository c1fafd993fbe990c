/** Records what instances and runs are found by (model/search/terms.ts): what they begin with, and the codes of failures. */
import type { InstanceRow, RunRow } from '../../model/rows.ts'
import { shortTerm, startTerms } from '../../model/search/terms.ts'
import type { Failure } from '../../net/marking.ts'
import type { Json } from '../../net/net.ts'
import type { About } from '../../net/slots.ts'
import type { Terms } from './working-set.ts'

export function recordStart(change: Terms, row: InstanceRow, about: About | null, input: Json | null): void {
  if (about === null && input === null) return
  for (const term of startTerms({ ...about, input })) add(change, row, term)
}

export function recordTags(change: Terms, run: RunRow, tags: readonly string[]): void {
  for (const tag of tags) add(change, run, shortTerm('runs', 'tag', tag))
}

/** A run has failed for good. Its instance, and the root of that, are found by the failure as well. */
export function recordFailure(change: Terms, run: RunRow, { code }: Failure): void {
  add(change, run, shortTerm('runs', 'error', code))
  if (run.instanceId !== null) recordInstanceFailure(change, { ...run, id: run.instanceId }, code)
}

/** Something in an instance has failed, or the instance itself. */
export function recordInstanceFailure(
  change: Terms,
  { id, rootId, tenant }: Pick<InstanceRow, 'id' | 'tenant'> & { readonly rootId: string | null },
  code: string,
): void {
  const term = shortTerm('instances', 'error', code)
  add(change, { id, tenant }, term)
  if (rootId !== null && rootId !== id) add(change, { id: rootId, tenant }, term)
}

function add({ terms }: Terms, { id, tenant }: Pick<InstanceRow, 'id' | 'tenant'>, term: string | null): void {
  if (term !== null) terms.set(`${id} ${term}`, { id, term, tenant })
}
