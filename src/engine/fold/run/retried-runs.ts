/**
 * A run of an ended instance is part of that instance's record, which never changes. Retrying it makes a run of its own,
 * outside of the instance, that is given the same arguments, program and results: `meta.petrel.retries` of the new run
 * names the old one and its place, a slot of the instance names the new one.
 */

import { runError } from '../../../kernel/errors.ts'
import type { RetriedRun } from '../../../model/retried-runs.ts'
import type { RunRow } from '../../../model/rows.ts'
import { SLOT } from '../../../net/slots.ts'
import { dereferenced } from '../dereference.ts'
import { memberOf } from '../members.ts'
import { putSlot, slotOf } from '../slots.ts'
import type { WorkingSet } from '../working-set.ts'
import { addRun, replaceRun } from './changed-runs.ts'
import { policyOf } from './retry-policy.ts'
import { newRun } from './runs.ts'

/** The new run; a run is retried once. */
export function retryOutside(change: WorkingSet, run: RunRow, actor: string | null): RunRow {
  const { instanceId, node, item, role } = run
  const member = memberOf(change, instanceId as string)
  const slot = SLOT.retriedRun.key(run.id)
  const before = slotOf(change, member.row.id, slot)
  if (before !== null) {
    const facts = { status: run.status, expected: 'failed' }
    throw runError('conflict', run.id, `was retried before, as run ${before}`, facts)
  }
  const id = change.deps.newId()
  const payload = dereferenced(change, member, run.payload)
  const again = newRun(
    { id, type: run.type, payload, now: change.now },
    {
      priority: run.priority,
      maxAttempts: run.maxAttempts,
      queue: run.queue,
      tenant: run.tenant,
      timeoutMs: run.timeoutMs,
      timeoutPer: run.timeoutPer,
      retry: JSON.stringify(policyOf(change, run)),
      limitKey: run.limitKey,
      meta: marked(run.meta, { run: run.id, instanceId, node, item, role }),
    },
  )
  if (run.deadLetter) replaceRun(change, { ...run, deadLetter: false })
  putSlot(member, slot, id)
  member.dirty = true
  addRun(change, again, actor)
  return again
}

function marked(meta: string | null, retries: RetriedRun): string {
  const kept = (meta === null ? {} : JSON.parse(meta)) as { readonly petrel?: object }
  return JSON.stringify({ ...kept, petrel: { ...kept.petrel, retries } })
}
