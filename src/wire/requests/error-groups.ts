/** The filter of a list of error groups, and changes of their state. */
import { parseDuration } from '../../kernel/duration.ts'
import { ERROR_GROUP_STATES, type ErrorGroupQuery, parseGroupCursor } from '../../model/errors/groups.ts'
import { asked, line, named, nullable, optional, text, type Value, whole } from '../schema.ts'
import { type Given, pageSize, parsed, readQuery, storedText, wordsOf } from './params.ts'
import type { Query } from './query.ts'

export const ERROR_GROUP_PARAMS = {
  state: wordsOf(ERROR_GROUP_STATES, 'Only in these states: `open,ignored`.'),
  q: storedText('Part of the type, the code, the node, the message or the name of a workflow, in any case.'),
  limit: pageSize(),
  before: parsed('`next_before` of the previous page.', text(), parseGroupCursor, 'the next_before of a page'),
}

export function errorGroupsAsked(given: Given<typeof ERROR_GROUP_PARAMS>): Omit<ErrorGroupQuery, 'tenant'> {
  const { state: states, q, limit, before } = given
  return { states, text: q, limit, before }
}

export function readErrorGroupsQuery(query: Query): Omit<ErrorGroupQuery, 'tenant'> {
  return errorGroupsAsked(readQuery(ERROR_GROUP_PARAMS, query))
}

const REASON = { reason: optional(nullable(line(1_000, 'Shown with the state.'))) }

export const GroupStateRequest = named('ErrorGroupStateRequest', asked('a state', REASON))

const LONGEST = 'at most 100 years'

export const IgnoreRequest = named(
  'IgnoreErrorGroupRequest',
  asked('an ignore', {
    ...REASON,
    times: optional(
      nullable(whole({ description: 'Until it has recurred so many times.', minimum: 1, maximum: 2 ** 31 - 1 })),
    ),
    for: optional(
      nullable(
        text({
          description: 'For so long: 30m, 12h, 7d.',
          is: 'a duration longer than zero',
          hint: `such as 30m, 12h or 7d; ${LONGEST}`,
          fits: (value: string) => (parseDuration(value) ?? 0) > 0,
        }),
      ),
    ),
  }),
)

export function ignoreAsked({ reason, times, for: span }: Value<typeof IgnoreRequest>) {
  return { reason: reason ?? null, times: times ?? null, forMs: span == null ? null : parseDuration(span) }
}
