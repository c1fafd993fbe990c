/** GET /v1/instances/:id/why: what an instance waits for, node by node. */

import { explainInstance } from '../../operations/instances/look.ts'
import { isWhyCursor } from '../../views/why.ts'
import { pageSize, parsed } from '../../wire/requests/params.ts'
import { text } from '../../wire/schema.ts'
import { WhyReply, whyWire } from '../../wire/why.ts'
import { route } from '../context.ts'

const cursor = (given: string): string | null => (isWhyCursor(given) ? given : null)

export const WHY_ROUTES = [
  route(
    'GET /v1/instances/:id/why',
    {
      tag: 'Instances',
      summary: 'What an instance waits for',
      does: explainInstance,
      description:
        'As a whole (`about`), and each node that has not ended (`waits`): first those at which something is, then those ' +
        'that have not been reached. Every reason has a `kind`, its facts and a sentence.',
      query: {
        after: parsed('`next_after` of the previous page.', text(), cursor, 'the next_after of a page'),
        limit: pageSize(),
      },
      answers: { '200': { description: 'The reasons, as of `now`.', schema: WhyReply } },
      errors: ['not_found', 'invalid_request'],
    },
    async ({ params, query, perform }) => whyWire(await perform(explainInstance, { ...params, ...query })),
  ),
]
