/** `debounce` in the body of a start or a submit. */
import { MAX_DEBOUNCE_SECONDS } from '../../kernel/limits.ts'
import { BodyNotes } from '../../kernel/reading/part.ts'
import type { DebounceParams } from '../../model/schedules/debounce.ts'
import { refuseMistakes } from '../mistaken.ts'
import { asked, number, optional, type Value } from '../schema.ts'
import { key } from './fields.ts'

const SECONDS = { minimum: 0.1, maximum: MAX_DEBOUNCE_SECONDS }

export const Debounce = asked('debounce', {
  key: key('Unique within the tenant and the workflow, or the type: a later start under it replaces this one.'),
  delay_seconds: number({
    description: 'It starts when no other start has followed for this long.',
    ...SECONDS,
    hint: 'such as 5',
  }),
  max_seconds: optional(
    number({ description: 'It starts this long after the first start at the latest.', ...SECONDS }),
  ),
})

/** null: it starts at once. `others`: members of the body that contradict it. */
export function debounceGiven<B extends { readonly debounce?: Value<typeof Debounce> | null }>(
  body: B,
  others: readonly (keyof B & string)[],
): DebounceParams | null {
  const { debounce } = body
  if (debounce == null) return null
  const notes = new BodyNotes()
  const root = notes.root(body)
  for (const other of others) {
    if (body[other] != null) root.get(other).wrong('debounce is given as well', 'leave one of the two out')
  }
  refuseMistakes(notes)
  const { key: given, delay_seconds: delay, max_seconds: max } = debounce
  return { key: given, delayMs: Math.round(delay * 1000), maxMs: max == null ? null : Math.round(max * 1000) }
}
