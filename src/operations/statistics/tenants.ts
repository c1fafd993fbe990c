/** Tenants, derived from their runs. */
import { PetrelError } from '../../kernel/errors.ts'
import type { RunWait } from '../../model/queries/queries.ts'
import type { RunStatus } from '../../model/rows.ts'
import { operation } from '../operation.ts'

const OF_ALL = { scope: 'read', shared: true } as const

/** Per state; counting a million runs would take too long. */
export const MOST_COUNTED = 100_000

const WAITS = ['available', 'scheduled', 'retryable', 'held', 'paused'] as const satisfies readonly RunWait[]
const STATUSES = ['leased', 'succeeded', 'failed', 'cancelled'] as const satisfies readonly RunStatus[]

type Standing = (typeof WAITS)[number] | (typeof STATUSES)[number]

/** Each up to MOST_COUNTED. */
export type TenantCounts = { readonly [S in Standing]: number }

/** By name, with the number of runs of each. */
export const listTenants = operation(
  OF_ALL,
  ({ engine }, _: null): Promise<readonly { readonly tenant: string; readonly runs: number }[]> =>
    engine.queries.overview.tenants(),
)

/** Refused if the tenant has no runs. */
export const countTenant = operation(
  OF_ALL,
  async ({ engine }, { tenant }: { readonly tenant: string }): Promise<TenantCounts> => {
    const about = { queue: null, type: null, deadLetter: null, tenant, limit: 0, before: null }
    const count = (status: readonly RunStatus[], wait: readonly RunWait[] | null): Promise<number> =>
      engine.queries.countListedRuns({ ...about, status, wait }, MOST_COUNTED)
    const counted = await Promise.all([
      ...WAITS.map(async (wait) => [wait, await count([], [wait])] as const),
      ...STATUSES.map(async (status) => [status, await count([status], null)] as const),
    ])
    if (counted.some(([, n]) => n > 0)) return Object.fromEntries(counted) as unknown as TenantCounts
    throw new PetrelError('not_found', `there is no tenant ${tenant}`, {
      kind: 'tenant',
      id: tenant,
      hint: 'A tenant is known by its jobs, and this one has none.',
    })
  },
)
