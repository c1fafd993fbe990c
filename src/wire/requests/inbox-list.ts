/** The filter of a list of inbox runs. */

import { PetrelError } from '../../kernel/errors.ts'
import { parseTypeFilter, TypeFilterError } from '../../kernel/type-filters.ts'
import { type InboxQuery, parseInboxCursor } from '../../model/inbox.ts'
import { RUN_STATUSES } from '../run.ts'
import { text } from '../schema.ts'
import { type Given, type Param, pageSize, parsed, readQuery, storedText, textOf, wordOf, wordsOf } from './params.ts'
import type { Query } from './query.ts'

export const INBOX_PARAMS = {
  type: typeFilter('Only of this type, or with this prefix: `billing.%`.'),
  status: wordsOf(RUN_STATUSES, 'Only in these: `pending,leased`.'),
  idempotency_key: storedText('The run with this key.'),
  queue: storedText('Only of this queue.'),
  deleted: wordOf(['false', 'true', 'all'], 'false', 'true: only deleted ones.'),
  limit: pageSize(),
  before: parsed('`next_before` of the previous page.', text(), parseInboxCursor, 'the next_before of a page'),
}

type InboxAsked = Omit<InboxQuery, 'tenant'>

export function inboxAsked(given: Given<typeof INBOX_PARAMS>): InboxAsked {
  const { idempotency_key: idempotencyKey, deleted, ...rest } = given
  return { ...rest, idempotencyKey, deleted: deleted === 'all' ? null : deleted === 'true' }
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
