/** /ojs/v1/admin/tenants: list, look, count. */
import { countTenant, listTenants, MOST_COUNTED, type TenantCounts } from '../../../../operations/statistics/tenants.ts'
import { flag, list, named, object, optional, text, type Value, whole } from '../../../../wire/schema.ts'
import { route } from '../context.ts'
import { OFFSET_PAGE, OffsetPagination, offsetPageWire, pageAsked } from '../paging.ts'
import { JobCounts } from './queue-wire.ts'

const Tenant = object({ id: text(), name: text('The same.'), total_jobs: whole() })

const TenantStats = named(
  'TenantStats',
  object({
    tenant_id: text(),
    total_jobs: whole(),
    jobs: JobCounts,
    counts_are_at_least: optional(flag('There are too many jobs to count them all.')),
  }),
)

export const TENANT_ROUTES = [
  route(
    'GET /ojs/v1/admin/tenants',
    {
      tag: 'Administration',
      summary: 'List tenants',
      does: listTenants,
      query: OFFSET_PAGE,
      answers: {
        '200': { description: 'By name.', schema: object({ items: list(Tenant), pagination: OffsetPagination }) },
      },
    },
    async ({ query, perform }) => {
      const page = pageAsked(query)
      const all = await perform(listTenants, null)
      const items = all
        .slice(page.offset, page.offset + page.limit)
        .map(({ tenant, runs }) => ({ id: tenant, name: tenant, total_jobs: runs }))
      const hasMore = page.offset + items.length < all.length
      return { items, pagination: offsetPageWire({ page, total: all.length, hasMore }) }
    },
  ),

  route(
    'GET /ojs/v1/admin/tenants/:id',
    {
      tag: 'Administration',
      summary: 'Get a tenant',
      does: countTenant,
      otherQuery: 'ignored',
      answers: {
        '200': { description: 'With counts.', schema: object({ id: text(), name: text(), stats: TenantStats }) },
      },
      errors: ['not_found'],
    },
    async ({ params: { id }, perform }) => ({
      id,
      name: id,
      stats: statsWire(id, await perform(countTenant, { tenant: id })),
    }),
  ),

  route(
    'GET /ojs/v1/admin/tenants/:id/stats',
    {
      tag: 'Administration',
      summary: 'Count the jobs of a tenant',
      does: countTenant,
      otherQuery: 'ignored',
      answers: { '200': { description: 'By state.', schema: TenantStats } },
      errors: ['not_found'],
    },
    async ({ params: { id }, perform }) => statsWire(id, await perform(countTenant, { tenant: id })),
  ),
]

function statsWire(tenant: string, counts: TenantCounts): Value<typeof TenantStats> {
  const all = Object.values(counts)
  return {
    tenant_id: tenant,
    total_jobs: all.reduce((sum, n) => sum + n, 0),
    jobs: {
      available: counts.available,
      scheduled: counts.scheduled,
      retryable: counts.retryable,
      pending: counts.held,
      active: counts.leased,
      completed: counts.succeeded,
      discarded: counts.failed,
      cancelled: counts.cancelled,
    },
    ...(all.some((n) => n >= MOST_COUNTED) ? { counts_are_at_least: true } : {}),
  }
}
