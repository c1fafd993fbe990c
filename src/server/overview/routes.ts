/** GET /v1/overview: what an operator wants to know first. */
import { readOverview } from '../../operations/overview/overview.ts'
import { OverviewReply, overviewWire } from '../../wire/overview/overview.ts'
import { route } from '../context.ts'

export const OVERVIEW_ROUTES = [
  route(
    'GET /v1/overview',
    {
      tag: 'Server',
      summary: 'What an operator wants to know first',
      does: readOverview,
      description:
        'Costs the same however much the store contains. A caller that belongs to a tenant sees its gates, failures, pauses ' +
        'and bulk operations; `shared`, which concerns all tenants, is null. `shared` is read at most once a second; its `doctor` ' +
        'is the last check of invariants, made beside other work (null: none yet).',
      answers: { '200': { description: 'Of now.', schema: OverviewReply } },
    },
    async ({ perform }) => overviewWire(await perform(readOverview, null)),
  ),
]
