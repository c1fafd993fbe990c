/** A query in the query string, and its answers. */
import { PetrelError } from '../../kernel/errors.ts'
import type { CountedState } from '../../model/search/queries.ts'
import { flag, list, named, object, optional, text, type Value, whole } from '../schema.ts'
import { type Param, textOf } from './params.ts'

/** Only present where a query was answered. */
export const COMPLETE = optional(
  flag(
    'Of a query, and of a list of instances. false: the page ends early, since it has checked 10,000 rows; `next_before` continues.',
  ),
)

export const Counts = named(
  'Counts',
  object({
    counts: list(
      object({ state: text(), count: whole(), more: flag('There are more: only so many rows were counted.') }),
      'By state, those that have any.',
    ),
  }),
)

export const QUERY: Param<string | null> = textOf(
  'A query: `state:failed name:order* -tag:test age:>1h`. docs/operate/search.md lists the filters.',
)

export function countsWire(counts: readonly CountedState[]): Value<typeof Counts> {
  return { counts: counts.map(({ state, count, more }) => ({ state, count, more })) }
}

/** Refuses parameters beside a query that filter, too: one of both would be ignored. */
export function refuseBeside(
  given: { readonly [name: string]: unknown },
  fields: Readonly<Record<string, string>>,
): void {
  for (const [name, field] of Object.entries(fields)) {
    if (given[name] === null) continue
    const hint = field === '' ? 'Leave one of the two out.' : `Write it into the query: ${field}.`
    throw new PetrelError('invalid_request', `${name} cannot be given beside q`, { parameter: name, hint })
  }
}
