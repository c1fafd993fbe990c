/** Which runs a list shows, from its query string. */

import { keyParam, listParam, type Query, storableParam, textParam, wholeParam } from '../../http/query.ts'
import { PetrelError } from '../../kernel/errors.ts'
import { parseTypeFilter, TypeFilterError } from '../../kernel/type-filters.ts'
import type { InboxQuery } from '../../model/inbox.ts'
import { parseInboxCursor } from '../../model/inbox.ts'
import type { RunStatus } from '../../model/rows.ts'

export const RUN_PARAMS = ['type', 'status', 'idempotency_key', 'queue', 'deleted', 'limit', 'before'] as const

export const STATUSES: readonly RunStatus[] = ['pending', 'leased', 'succeeded', 'failed', 'cancelled']

export function readInboxQuery(query: Query, tenant: string | null): InboxQuery {
  const [deleted] = listParam(query, 'deleted', ['false', 'true', 'all']) ?? ['false']
  const before = textParam(query, 'before')
  const cursor = before === null ? null : parseInboxCursor(before)
  if (before !== null && cursor === null) {
    throw new PetrelError('invalid_request', 'before is what a page gave as next_before', { parameter: 'before' })
  }
  return {
    type: typeParam(query),
    status: listParam(query, 'status', STATUSES) as readonly RunStatus[] | null,
    idempotencyKey: keyParam(query, 'idempotency_key', tenant),
    queue: storableParam(query, 'queue'),
    deleted: deleted === 'all' ? null : deleted === 'true',
    tenant,
    limit: wholeParam(query, 'limit', { least: 1, most: 200, fallback: 50 }),
    before: cursor,
  }
}

function typeParam(query: Query): InboxQuery['type'] {
  const text = textParam(query, 'type')
  if (text === null) return null
  try {
    const filter = parseTypeFilter(text)
    if (!('tools' in filter)) return filter
    throw new TypeFilterError('a set of tools is for claims; a list takes a type or a prefix')
  } catch (error) {
    if (!(error instanceof TypeFilterError)) throw error
    throw new PetrelError('invalid_request', `type: ${error.message}`, { parameter: 'type' })
  }
}
