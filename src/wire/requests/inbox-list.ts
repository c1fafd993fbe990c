/** The filter of a list of inbox runs. */

import { PetrelError } from '../../kernel/errors.ts'
import { readId } from '../../kernel/ids.ts'
import { parseTypeFilter, TypeFilterError } from '../../kernel/type-filters.ts'
import { type InboxCursor, type InboxQuery, parseInboxCursor } from '../../model/inbox.ts'
import { RUN_STATUSES } from '../run.ts'
import { text } from '../schema.ts'
import { type Given, type Param, pageSize, parsed, readQuery, storedText, textOf, wordOf, wordsOf } from './params.ts'
import type { Query } from './query.ts'
import { QUERY, refuseBeside } from './search.ts'

/** An empty query finds runs of any origin, too. */
const FINDING: typeof QUERY = {
  ...QUERY,
  read: (query, name) => (query[name] === '' ? '' : QUERY.read(query, name)),
}

export const INBOX_PARAMS = {
  q: FINDING,
  type: typeFilter('Only of this type, or with this prefix: `billing.%`.'),
  status: wordsOf(RUN_STATUSES, 'Only in these: `pending,leased`.'),
  idempotency_key: storedText('The run with this key.'),
  queue: storedText('Only of this queue.'),
  deleted: wordOf(['false', 'true', 'all'], 'false', 'true: only deleted ones.'),
  limit: pageSize(),
  before: parsed('`next_before` of the previous page.', text(), readPlace, 'the next_before of a page'),
}

type InboxAsked = Omit<InboxQuery, 'tenant'>

/** A place in the list of the inbox, or an id: where a query continues. */
function readPlace(given: string): InboxCursor | string | null {
  return parseInboxCursor(given) ?? readId(given)
}

export function inboxAsked(given: Given<typeof INBOX_PARAMS>): InboxAsked {
  const { q: _, idempotency_key: idempotencyKey, deleted, before, ...rest } = given
  if (typeof before === 'string') throw wrongPlace('the next_before of a page of this list')
  return { ...rest, idempotencyKey, deleted: deleted === 'all' ? null : deleted === 'true', before }
}

/** The query, if there is one, and its page. */
export function runsFound(given: Given<typeof INBOX_PARAMS>): RunsAsked | null {
  const { q, limit, before, deleted } = given
  if (q === null) return null
  refuseBeside({ ...given, deleted: deleted === 'false' ? null : deleted }, REPLACED)
  if (before !== null && typeof before !== 'string') throw wrongPlace('the next_before of a page of this query')
  return { q, limit, before }
}

export interface RunsAsked {
  readonly q: string
  readonly limit: number
  readonly before: string | null
}

const REPLACED = {
  type: 'type:billing.*',
  status: 'status:failed',
  idempotency_key: 'key:invoice-7',
  queue: 'queue:mail',
  deleted: '',
}

function wrongPlace(expected: string): PetrelError {
  return new PetrelError('invalid_request', `before must be ${expected}`, { parameter: 'before' })
}

export function readInboxQuery(query: Query): InboxAsked {
  return inboxAsked(readQuery(INBOX_PARAMS, query))
}

function typeFilter(description: string): Param<InboxQuery['type']> {
  const { schema, read } = textOf(description)
  return {
    description,
    schema,
    read: (query, name) => {
      const given = read(query, name)
      if (given === null) return null
      try {
        const filter = parseTypeFilter(given)
        if (!('tools' in filter)) return filter
        throw new TypeFilterError('a set of tools is for claims; a list takes a type or a prefix')
      } catch (error) {
        if (!(error instanceof TypeFilterError)) throw error
        throw new PetrelError('invalid_request', `type: ${error.message}`, { parameter: 'type' })
      }
    },
  }
}
