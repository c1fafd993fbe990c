/** Which instances a list shows, from its query string. */

import { isId, keyParam, listParam, type Query, storableParam, textParam, wholeParam } from '../../http/query.ts'
import { PetrelError } from '../../kernel/errors.ts'
import { parseMoment } from '../../kernel/moments.ts'
import type { InstanceQuery } from '../../model/queries/queries.ts'
import { HELD_AT } from '../../model/rows.ts'
import { STATES } from '../../wire/instance.ts'

export const INSTANCE_PARAMS = [
  'state',
  'name',
  'dialect',
  'start_key',
  'retry_of',
  'created_after',
  'created_before',
  'all',
  'limit',
  'before',
] as const

export function readInstanceQuery(query: Query, tenant: string | null): InstanceQuery {
  const [all] = listParam(query, 'all', ['true', 'false']) ?? ['false']
  return {
    states: listParam(query, 'state', STATES),
    name: storableParam(query, 'name'),
    dialect: storableParam(query, 'dialect'),
    startKey: keyParam(query, 'start_key', tenant),
    retryOf: idParam(query, 'retry_of'),
    createdAfter: momentParam(query, 'created_after'),
    createdBefore: momentParam(query, 'created_before'),
    tenant,
    rootsOnly: all !== 'true',
    limit: wholeParam(query, 'limit', { least: 1, most: 200, fallback: 50 }),
    before: idParam(query, 'before'),
  }
}

function idParam(query: Query, name: string): string | null {
  const id = textParam(query, name)
  if (id === null || isId(id)) return id === null ? null : id.toLowerCase()
  throw new PetrelError('invalid_request', `${name} is an instance id, not '${id}'`, { parameter: name })
}

function momentParam(query: Query, name: string): number | null {
  const text = textParam(query, name)
  if (text === null) return null
  const at = text.startsWith('+') ? null : (parseMoment(text, 0)?.at ?? null)
  if (at !== null && at < HELD_AT) return at
  throw new PetrelError(
    'invalid_request',
    `${name} is a date and time with its zone, such as 2030-01-31T09:00:00Z, not '${text}'`,
    { parameter: name },
  )
}
