/** Debounced starts that wait. */
import { type DebounceRow, debounceKeyGiven } from '../../model/schedules/debounce.ts'
import { list, time as moment, named, nullable, object, text, uuid, type Value, whole, word } from '../schema.ts'
import { time } from '../value.ts'

export const DebouncedStart = named(
  'DebouncedStart',
  object({
    key: text(),
    kind: word(['instance', 'run']),
    id: uuid('Of the instance or run that will be made.'),
    name: text('The workflow, or the type of the run.'),
    version: nullable(text('Of the workflow; null: the latest when it starts.')),
    due_at: moment('When it starts, if no other start follows.'),
    first_at: moment('The first start of this series.'),
    replaced: whole('Earlier starts that the last one has replaced.'),
    by: nullable(text('Who requested the last start.')),
    tenant: nullable(text()),
  }),
)

export const DebouncedReply = named('DebouncedReply', object({ debounced: DebouncedStart }))

export const DebouncedList = named(
  'DebouncedList',
  object({ debounced: list(DebouncedStart), next_before: nullable(uuid('Send it as `before`.')) }),
)

export function debouncedWire(row: DebounceRow): Value<typeof DebouncedStart> {
  const { id, kind, name, version, dueAt, firstAt, replaced, actor: by, tenant } = row
  const times = { due_at: time(dueAt), first_at: time(firstAt) }
  return { key: debounceKeyGiven(row), kind, id, name, version, ...times, replaced, by, tenant }
}

export function debouncedListWire(rows: readonly DebounceRow[], more: boolean): Value<typeof DebouncedList> {
  return { debounced: rows.map(debouncedWire), next_before: more ? (rows.at(-1)?.id ?? null) : null }
}
