/** What the page of a definition shows, besides its text and its net. */
import type { Answer } from '../../api/answer.ts'
import { api } from '../../api/client.ts'
import { pausesOf } from '../../api/pauses.ts'
import { queryValue } from '../../api/query-value.ts'
import { ratesOf } from './rates.ts'

export type Version = Answer<'GET /v1/definitions'>['definitions'][number]

/** Versions shown, and instances that the rates are computed from. */
export const MOST_VERSIONS = 100
export const MOST_INSTANCES = 200

export async function readDefinition(name: string, signal: AbortSignal) {
  const [{ definitions: versions, next_before: olderVersions }, pauses] = await Promise.all([
    api('GET /v1/definitions/:name/versions', { params: { name }, query: { limit: MOST_VERSIONS }, signal }),
    pausesOf('definition', signal),
  ])
  return { versions, hasOlder: olderVersions !== null, pause: pauses.get(name) ?? null }
}

export async function readRates(name: string, signal: AbortSignal) {
  const q = nameQuery(name)
  const [{ instances }, { counts }] = await Promise.all([
    api('GET /v1/instances', { query: { q, limit: MOST_INSTANCES }, signal }),
    api('GET /v1/instances/counts', { query: { q }, signal }),
  ])
  return { rates: ratesOf(instances), sample: instances.length, counts }
}

/** A query for the instances of a definition. */
export function nameQuery(name: string): string {
  return `name:${queryValue(name)}`
}
