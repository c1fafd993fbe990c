/** What an intake loads at first, so that a hand-off needs no second read, and the error for an id that is taken. */

import { PetrelError } from '../../kernel/errors.ts'
import type { EnqueueParams } from '../../model/enqueue.ts'
import { limitKeys, tenantLimit } from '../../model/limits.ts'
import type { Need } from '../../model/transaction.ts'

export type FirstRun = { readonly queue: string; readonly limitKey: string | null }

/** Queue settings and limits. */
export function needOfRules(
  runs: readonly FirstRun[],
  asked: readonly { readonly params: Pick<EnqueueParams, 'limits' | 'tenant'> }[],
): Need {
  const queues = new Set<string>()
  const limits = new Set<string>()
  for (const run of runs) {
    queues.add(run.queue)
    for (const key of limitKeys(run)) limits.add(key)
  }
  for (const { params } of asked) {
    for (const limit of params.limits ?? []) limits.add(tenantLimit(limit, params.tenant).key)
  }
  return { queues: [...queues], limits: [...limits] }
}

export function idTaken(what: 'run' | 'instance', id: string): PetrelError {
  const message = `there is already ${what === 'run' ? 'a run' : 'an instance'} ${id}`
  return new PetrelError('duplicate', message, { kind: what, id, existing: id })
}
