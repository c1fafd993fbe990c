/** Limits of concurrency and rate: of the keys that runs name, and of queues. */
import { PetrelError } from '../../kernel/errors.ts'
import { scopedName } from '../../kernel/scoped-names.ts'
import { isQuotaKey, type LimitParams } from '../../model/limits.ts'
import type { LimitRow } from '../../model/rows.ts'
import { type Caller, mayDo } from '../caller.ts'
import { operation, type Use } from '../operation.ts'
import type { Rate } from './config.ts'

const QUEUE = 'queue:'

interface ByKey {
  /** As named by the caller: `queue:NAME`, or a key of its tenant. */
  readonly key: string
}

interface AsOf {
  readonly now: number
}

/** Limits of the caller's keys, and of queues, which all tenants share. */
export const listLimits = operation(
  { scope: 'read' },
  async ({ engine, caller }): Promise<AsOf & { readonly rows: readonly LimitRow[] }> => {
    const [rows, now] = await Promise.all([engine.queries.limits(), engine.queries.now()])
    // Quotas limit instances, not runs.
    return { rows: rows.filter((row) => !isQuotaKey(row.key) && maySeeLimit(caller, row)), now }
  },
)

export const showLimit = operation(
  { scope: 'read' },
  async (use, { key }: ByKey): Promise<AsOf & { readonly row: LimitRow }> => ({
    row: await findLimit(use, key),
    now: await use.engine.queries.now(),
  }),
)

/** Applies until a run names another rate for the key. null: no rate. */
export const setRate = operation(
  { scope: 'admin' },
  async (use, { key: name, rate }: ByKey & { readonly rate: Rate | null }): Promise<void> => {
    const { key, maxConcurrent } = await findLimit(use, name)
    if (use.caller.bound && key.startsWith(QUEUE)) {
      throw new PetrelError('permission_denied', 'this key belongs to one tenant, and this limit is of a whole queue', {
        tenant: use.caller.tenant,
        hint: 'Use a key that is bound to no tenant.',
      })
    }
    await use.engine.setLimit({
      key,
      maxConcurrent,
      ratePer: rate?.ratePer ?? null,
      periodMs: rate?.periodMs ?? null,
    })
  },
)

/** A run may limit its key within its own tenant. Only an operator limits what all tenants share. */
export function refuseQueueLimits(caller: Caller, limits: readonly LimitParams[] = []): void {
  if (!limits.some(({ key }) => key.startsWith(QUEUE))) return
  if (mayDo(caller, 'admin') && !caller.bound) return
  throw new PetrelError('permission_denied', 'rate_limit.max_per_second limits the whole queue, for all who use it', {
    field: 'rate_limit.max_per_second',
    required_scope: 'admin',
    scopes: [...caller.scopes],
    hint: 'Use rate_limit.key with rate or concurrency, which limits the jobs of this tenant that name the key; or a key with the scope admin that is bound to no tenant.',
  })
}

async function findLimit({ engine, caller: { tenant } }: Use, key: string): Promise<LimitRow> {
  const keyed = `key:${tenant === null ? key : scopedName(key, tenant)}`
  const rows = await engine.queries.limits()
  const row = rows.find((limit) => limit.key === keyed || (limit.key === key && key.startsWith(QUEUE)))
  if (row !== undefined) return row
  throw new PetrelError('not_found', `there is no rate limit ${key}`, {
    kind: 'limit',
    id: key,
    hint: 'A limit exists from the first job that names it in options.rate_limit.',
  })
}

function maySeeLimit({ tenant }: Caller, { key }: LimitRow): boolean {
  return tenant === null || key.startsWith(QUEUE) || key.startsWith(`key:${scopedName('', tenant)}`)
}
