/** /v1/error-groups: failures for good, grouped by their cause. */
import {
  ignoreErrorGroup,
  listErrorGroups,
  reopenErrorGroup,
  resolveErrorGroup,
  showErrorGroup,
} from '../../operations/errors/groups.ts'
import {
  ErrorGroupList,
  ErrorGroupReply,
  ErrorGroupView,
  errorGroupsWire,
  errorGroupViewWire,
  errorGroupWire,
} from '../../wire/errors/group.ts'
import {
  ERROR_GROUP_PARAMS,
  errorGroupsAsked,
  GroupStateRequest,
  IgnoreRequest,
  ignoreAsked,
} from '../../wire/requests/error-groups.ts'
import { route } from '../context.ts'

const CHANGED = { '200': { description: 'Its current state.', schema: ErrorGroupReply } }

export const ERROR_ROUTES = [
  route(
    'GET /v1/error-groups',
    {
      tag: 'Errors',
      summary: 'List groups of failures',
      does: listErrorGroups,
      description: 'The most recent failure first. A page checks at most 10,000 groups.',
      query: ERROR_GROUP_PARAMS,
      answers: { '200': { description: 'With what has failed so far.', schema: ErrorGroupList } },
      errors: ['invalid_request'],
    },
    async ({ query, perform }) => errorGroupsWire(await perform(listErrorGroups, errorGroupsAsked(query))),
  ),

  route(
    'GET /v1/error-groups/:fingerprint',
    {
      tag: 'Errors',
      summary: 'Get a group of failures',
      does: showErrorGroup,
      answers: { '200': { description: 'With the last run that failed.', schema: ErrorGroupView } },
      errors: ['not_found'],
    },
    async ({ params, perform }) => errorGroupViewWire(await perform(showErrorGroup, params)),
  ),

  route(
    'POST /v1/error-groups/:fingerprint/resolve',
    {
      tag: 'Errors',
      summary: 'Resolve a group of failures',
      does: resolveErrorGroup,
      description: 'A failure after this opens it again, as regressed.',
      body: { schema: GroupStateRequest, optional: true, example: { reason: 'fixed in version 2' } },
      answers: CHANGED,
      errors: ['not_found'],
    },
    async ({ params, body, perform }) => ({
      group: errorGroupWire(await perform(resolveErrorGroup, { ...params, reason: body.reason ?? null })),
    }),
  ),

  route(
    'POST /v1/error-groups/:fingerprint/ignore',
    {
      tag: 'Errors',
      summary: 'Ignore a group of failures',
      does: ignoreErrorGroup,
      description:
        'Until it has recurred `times` times, or with the first failure after `for`. One of the two is required.',
      body: { schema: IgnoreRequest, example: { times: 100, reason: 'known' } },
      answers: CHANGED,
      errors: ['not_found'],
    },
    async ({ params, body, perform }) => ({
      group: errorGroupWire(await perform(ignoreErrorGroup, { ...params, ...ignoreAsked(body) })),
    }),
  ),

  route(
    'POST /v1/error-groups/:fingerprint/reopen',
    {
      tag: 'Errors',
      summary: 'Open a group of failures again',
      does: reopenErrorGroup,
      body: { schema: GroupStateRequest, optional: true },
      answers: CHANGED,
      errors: ['not_found'],
    },
    async ({ params, body, perform }) => ({
      group: errorGroupWire(await perform(reopenErrorGroup, { ...params, reason: body.reason ?? null })),
    }),
  ),
]
