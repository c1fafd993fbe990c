/** The history of an instance, live: the newest first, earlier events as one scrolls. */
import { type Signal, useSignal } from '@preact/signals'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import { api, rawText } from '../../../api/client.ts'
import type { StreamEvent } from '../../../api/event-stream.ts'
import { follow } from '../../../api/follow.ts'
import { href, param, setQuery } from '../../../browser/router.ts'
import { EventList } from '../../../ui/history/event-list.tsx'
import { EVERYTHING, type EventFilter, filters, passes } from '../../../ui/history/events.ts'
import { Problem } from '../../../ui/problem.tsx'
import type { Instance } from '../model.ts'
import { DownloadHistory } from './download.tsx'
import { emptyFeed, type Feed, pageBefore, withEarlier, withNew } from './feed.ts'

/** Pages that are read at a time while too few events pass the filter. */
const SEARCHED_PAGES = 10
const ENOUGH = 30

export function EventsTab({ instance: { id } }: { readonly instance: Instance }) {
  const wanted = Number(param('event'))
  const start = Number.isSafeInteger(wanted) && wanted > 0 ? wanted : null
  const held = useSignal(false)
  const filter = useSignal<EventFilter>({ ...EVERYTHING, node: param('node') === '' ? '' : `"${param('node')}"` })
  const feed = useFeed(id, start, held, filter)
  const current = feed.shown.value
  const events = useMemo(
    () => (current === null ? [] : current.events.filter((event) => passes(event, filter.value))),
    [current, filter.value],
  )
  useEffect(() => {
    if (current !== null && current.from > 1 && filters(filter.value) && events.length < ENOUGH) void feed.earlier()
  }, [filter.value])
  if (feed.error.value !== null && current === null) return <Problem error={feed.error.value} />
  if (current === null) return <p class="dim">Loading …</p>
  return (
    <div class="stack">
      <div class="row">
        <span class="grow dim">
          Events {Math.max(1, current.from)} to {current.to}
          {filters(filter.value) && `; ${events.length} pass the filter`}
        </span>
        {feed.waiting.value > 0 && (
          <button type="button" class="small" onClick={feed.show}>
            {feed.waiting.value === 1 ? '1 new event' : `${feed.waiting.value} new events`}
          </button>
        )}
        {start !== null && (
          <button type="button" class="small" onClick={() => setQuery({ event: null })}>
            Go to the newest
          </button>
        )}
        {current.from > 1 && (
          <button type="button" class="small" disabled={feed.busy.value} onClick={() => void feed.earlier()}>
            {feed.busy.value ? 'Reading …' : 'Earlier events'}
          </button>
        )}
        <DownloadHistory id={id} />
        <a href={href('/history')}>Open a history file</a>
      </div>
      {feed.error.value !== null && <Problem error={feed.error.value} />}
      <EventList
        label="Events"
        events={events}
        filter={filter}
        held={held}
        selected={start}
        onEnd={() => void feed.earlier()}
      />
    </div>
  )
}

interface LiveFeed {
  readonly shown: Signal<Feed | null>
  readonly error: Signal<Error | null>
  readonly busy: Signal<boolean>
  /** Events that arrived while the pointer was over the list. */
  readonly waiting: Signal<number>
  show(): void
  earlier(): Promise<void>
}

function useFeed(id: string, start: number | null, held: Signal<boolean>, filter: Signal<EventFilter>): LiveFeed {
  const shown = useSignal<Feed | null>(null)
  const arrived = useRef<readonly StreamEvent[]>([])
  const error = useSignal<Error | null>(null)
  const busy = useSignal(false)
  const waiting = useSignal(0)
  const show = (): void => {
    if (shown.value !== null) shown.value = withNew(shown.value, arrived.current)
    arrived.current = []
    waiting.value = 0
  }
  const earlier = async (): Promise<void> => {
    if (busy.value) return
    busy.value = true
    try {
      await readBack(id, shown, filter)
    } catch (refused) {
      error.value = refused as Error
    } finally {
      busy.value = false
    }
  }
  useEffect(() => {
    let stop = (): void => {}
    let isOver = false
    const begin = async (): Promise<void> => {
      const last = start ?? (await lastEvent(id))
      if (isOver) return
      shown.value = emptyFeed(last)
      arrived.current = []
      await earlier()
      if (isOver || start !== null) return
      stop = follow(`/v1/instances/${encodeURIComponent(id)}/events`, {
        after: last,
        onEvents: (events) => {
          arrived.current = [...arrived.current, ...events]
          waiting.value = arrived.current.length
          if (!held.value) show()
        },
        onError: (refused) => {
          error.value = refused
        },
      })
    }
    begin().catch((refused: Error) => {
      error.value = refused
    })
    const stopHolding = held.subscribe((isHeld) => {
      if (!isHeld) show()
    })
    return () => {
      isOver = true
      stopHolding()
      stop()
    }
  }, [id, start])
  return { shown, error, busy, waiting, show, earlier }
}

/** One page; while a filter lets few of them pass, several. */
async function readBack(id: string, shown: Signal<Feed | null>, filter: Signal<EventFilter>): Promise<void> {
  let found = 0
  for (let read = 0; read < SEARCHED_PAGES && found < ENOUGH; read++) {
    const feed = shown.value
    const page = feed === null ? null : pageBefore(feed)
    if (feed === null || page === null) return
    const query = new URLSearchParams({ after: String(page.after), limit: String(page.limit) })
    const text = await rawText(`/v1/instances/${encodeURIComponent(id)}/events?${query}`)
    const now = shown.value ?? feed
    const earlier = withEarlier(now, text, page)
    found += earlier.events.slice(now.events.length).filter((event) => passes(event, filter.value)).length
    shown.value = earlier
  }
}

async function lastEvent(id: string): Promise<number> {
  return (await api('GET /v1/instances/:id/marking', { params: { id }, query: { limit: 1 } })).seq
}
