/** The filter of a list of instances, from its query string. */

import type { InstanceQuery } from '../../model/queries/queries.ts'
import { STATES } from '../../wire/instance.ts'
import { type Given, idOf, momentOf, pageSize, storedText, wordOf, wordsOf } from '../../wire/requests/params.ts'
import { QUERY } from '../../wire/requests/search.ts'

export const INSTANCE_PARAMS = {
  q: QUERY,
  state: wordsOf(STATES, 'Only in these states: `running,waiting`.'),
  name: storedText('Only of this name.'),
  dialect: storedText('Only of this notation.'),
  start_key: storedText('The instance with this start key.'),
  retry_of: idOf('an instance id', 'Only retries of this instance.'),
  created_after: momentOf('Created at this time or later: RFC 3339 with a time zone.'),
  created_before: momentOf('Created earlier than this.'),
  all: wordOf(['true', 'false'], 'false', 'true: including nested ones.'),
  limit: pageSize(),
  before: idOf('an instance id', '`next_before` of the previous page.'),
}

export function instanceQuery(given: Given<typeof INSTANCE_PARAMS>): Omit<InstanceQuery, 'tenant'> {
  const { state: states, name, dialect, limit, before } = given
  return {
    states,
    name,
    dialect,
    startKey: given.start_key,
    retryOf: given.retry_of,
    createdAfter: given.created_after,
    createdBefore: given.created_before,
    rootsOnly: given.all !== 'true',
    limit,
    before,
  }
}

/** Parameters that a query replaces, with its filters. */
export const REPLACED = {
  state: 'state:failed',
  name: 'name:order',
  dialect: 'notation:dag',
  start_key: 'key:order-17',
  retry_of: '',
  created_after: 'age:<1h',
  created_before: 'age:>1h',
} as const
