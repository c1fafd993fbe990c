/** The events of an instance, the newest first: the last page, what follows live, and earlier pages on request. */
import type { StreamEvent } from '../../../api/event-stream.ts'
import { eventIn, type HistoryEvent } from '../../../ui/history/events.ts'
import { elementsOf, memberAt } from '../../../ui/json/json-members.ts'

export const PAGE = 500

export interface Feed {
  /** The newest first. */
  readonly events: readonly HistoryEvent[]
  /** All events from this number on have been read. */
  readonly from: number
  /** And up to this one. */
  readonly to: number
}

/** Before the first page: `last` is the number up to which it reads. */
export function emptyFeed(last: number): Feed {
  return { events: [], from: last + 1, to: last }
}

/** The page before the events that have been read; null: there is none. */
export function pageBefore({ from }: Feed): { readonly after: number; readonly limit: number } | null {
  if (from <= 1) return null
  const after = Math.max(0, from - 1 - PAGE)
  return { after, limit: from - 1 - after }
}

/** `text`: the answer to `pageBefore`. */
export function withEarlier(feed: Feed, text: string, { after }: { readonly after: number }): Feed {
  const found = elementsOf(memberAt(text, 'events') ?? '[]').flatMap((event) => eventIn(event) ?? [])
  return { ...feed, events: [...feed.events, ...found.reverse()], from: after + 1 }
}

export function withNew(feed: Feed, arrived: readonly StreamEvent[]): Feed {
  const found = arrived.flatMap(({ data }) => eventIn(data) ?? []).filter(({ seq }) => seq > feed.to)
  const last = found.at(-1)
  return last === undefined ? feed : { ...feed, events: [...found.reverse(), ...feed.events], to: last.seq }
}
