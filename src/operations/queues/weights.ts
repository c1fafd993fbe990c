/** How much the keys of a queue weigh: how many runs each gives in its turn. All tenants share queues. */
import { inputError, PetrelError } from '../../kernel/errors.ts'
import { MAX_FAIR_WEIGHTS, MAX_TYPE_LENGTH } from '../../kernel/limits.ts'
import { scopedName } from '../../kernel/scoped-names.ts'
import { checkFairKey, checkFairWeight, type NamedWeight, namedWeight } from '../../model/queues/fair.ts'
import { operation } from '../operation.ts'

interface ByQueue {
  readonly queue: string
}

interface ByKey extends ByQueue {
  readonly key: string
  /** Whose key it is; null: of runs without a tenant. */
  readonly tenant: string | null
}

/** Those that were set, by key. All others weigh 1. */
export const listWeights = operation(
  { scope: 'read', shared: true },
  async ({ engine }, { queue }: ByQueue): Promise<readonly NamedWeight[]> =>
    (await engine.records.settings.fairWeights({ queue })).map(namedWeight),
)

/** Counts for what waits already. */
export const setWeight = operation(
  { scope: 'admin', shared: true },
  async ({ engine }, { queue, key, tenant, weight }: ByKey & { readonly weight: number }): Promise<NamedWeight> => {
    if (queue === '' || queue.length > MAX_TYPE_LENGTH) {
      throw inputError('invalid_request', 'queue', `a name of 1 to ${MAX_TYPE_LENGTH} characters`)
    }
    checkFairKey(key, 'key')
    checkFairWeight(weight, 'weight')
    const row = { queue, key: scopedName(key, tenant), weight }
    if (await engine.records.settings.putFairWeight(row)) return namedWeight(row)
    throw new PetrelError('conflict', `queue ${queue} has weights for ${MAX_FAIR_WEIGHTS} keys, which is the most`)
  },
)

/** The key weighs 1 again. */
export const removeWeight = operation(
  { scope: 'admin', shared: true },
  async ({ engine }, { queue, key, tenant }: ByKey): Promise<void> => {
    const removed = await engine.records.settings.removeFairWeight({ queue, key: scopedName(key, tenant) })
    if (!removed) throw new PetrelError('not_found', `key ${key} of queue ${queue} has no weight`)
  },
)
