/** Events with their filter; the selected one is shown complete. */
import { type Signal, useSignal } from '@preact/signals'
import { href } from '../../browser/router.ts'
import { JsonText } from '../json/json.tsx'
import { Moment } from '../moments.tsx'
import { type Column, Rows } from '../rows.tsx'
import { EVERYTHING, type EventFilter, filters, type HistoryEvent } from './events.ts'

export interface EventListProps {
  readonly label: string
  /** Those that pass the filter, in the order in which they are shown. */
  readonly events: readonly HistoryEvent[]
  readonly filter: Signal<EventFilter>
  readonly held?: Signal<boolean>
  readonly onEnd?: () => void
  /** Of the event to begin with. */
  readonly selected?: number | null
  /** Without a server, runs have no links. */
  readonly linked?: boolean
}

const FIELDS: readonly { readonly key: keyof EventFilter; readonly title: string; readonly example: string }[] = [
  { key: 'type', title: 'Type', example: 'failed' },
  { key: 'node', title: 'Step', example: 'pay' },
  { key: 'who', title: 'Who', example: 'a person or worker' },
  { key: 'text', title: 'Text', example: 'anywhere in the event' },
]

export function EventList(props: EventListProps) {
  const { label, events, filter, held, onEnd, selected = null, linked = true } = props
  const chosen = useSignal<number | null>(selected)
  const event = events.find(({ seq }) => seq === chosen.value)
  return (
    <div class="stack">
      <FilterFields filter={filter} />
      <Rows
        label={label}
        rows={events}
        columns={COLUMNS}
        keyOf={({ seq }) => String(seq)}
        onSelect={({ seq }) => {
          chosen.value = seq
        }}
        {...(held === undefined ? {} : { held })}
        {...(onEnd === undefined ? {} : { onEnd })}
        height={`min(${Math.max(events.length, 3) * 34 + 2}px, 55vh)`}
        empty={<p>{filters(filter.value) ? 'No event passes this filter.' : 'No events.'}</p>}
      />
      {event !== undefined && <EventDetail key={event.seq} event={event} linked={linked} />}
    </div>
  )
}

const COLUMNS: readonly Column<HistoryEvent>[] = [
  { key: 'seq', title: '#', width: 'minmax(2rem, 3.5rem)', numeric: true, cell: ({ seq }) => seq },
  { key: 'at', title: 'Time', width: '6.2rem', cell: ({ at }) => <ClockTime at={at} /> },
  { key: 'ago', title: 'When', width: '7rem', optional: true, cell: ({ at }) => <Moment at={at} /> },
  {
    key: 'type',
    title: 'Type',
    width: 'minmax(5rem, 1fr)',
    cell: ({ type }) => <span title={type}>{type}</span>,
  },
  { key: 'node', title: 'Step', width: 'minmax(3.5rem, 1fr)', cell: ({ node }) => <Words text={node} /> },
  { key: 'who', title: 'Who', width: 'minmax(5rem, 1fr)', optional: true, cell: ({ who }) => <Words text={who} /> },
  {
    key: 'data',
    title: 'Data',
    width: 'minmax(6rem, 2fr)',
    optional: true,
    cell: ({ data }) => (data === null ? '' : <code title={data.slice(0, 2000)}>{data.slice(0, 300)}</code>),
  },
]

function Words({ text }: { readonly text: string | null }) {
  return text === null ? <span class="dim">–</span> : <bdi title={text.slice(0, 2000)}>{text.slice(0, 300)}</bdi>
}

const CLOCK = {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  fractionalSecondDigits: 3,
  hour12: false,
} as const

/** With the milliseconds; the day and the zone where one points. */
function ClockTime({ at }: { readonly at: string }) {
  const date = new Date(at)
  const clock = date.toLocaleTimeString([], CLOCK)
  return (
    <time class="clock" dateTime={at} title={`${date.toLocaleString()} · ${at}`}>
      {clock}
    </time>
  )
}

function FilterFields({ filter }: { readonly filter: Signal<EventFilter> }) {
  return (
    <fieldset class="event-filter">
      <legend class="visually-hidden">Show only events with</legend>
      {FIELDS.map(({ key, title, example }) => (
        <label key={key}>
          <span>{title}</span>
          <input
            type="text"
            value={filter.value[key]}
            placeholder={example}
            {...(key === 'text' ? { 'data-search': true } : {})}
            onInput={({ currentTarget }) => {
              filter.value = { ...filter.value, [key]: currentTarget.value }
            }}
          />
        </label>
      ))}
      <button
        type="button"
        class="small"
        disabled={!filters(filter.value)}
        onClick={() => {
          filter.value = EVERYTHING
        }}
      >
        Clear
      </button>
    </fieldset>
  )
}

function EventDetail({ event, linked }: { readonly event: HistoryEvent; readonly linked: boolean }) {
  const { seq, type, at, node, run, who, data } = event
  return (
    <section class="card" aria-label={`Event ${seq}`}>
      <h2>
        {seq} · {type}
      </h2>
      <dl class="facts">
        <dt>time</dt>
        <dd>
          {new Date(at).toLocaleString()} · <code>{at}</code> · <Moment at={at} />
        </dd>
        {node !== null && (
          <>
            <dt>step</dt>
            <dd>
              <bdi>{node}</bdi>
            </dd>
          </>
        )}
        {who !== null && (
          <>
            <dt>who</dt>
            <dd>
              <bdi>{who}</bdi>
            </dd>
          </>
        )}
        {run !== null && (
          <>
            <dt>run</dt>
            <dd>{linked ? <a href={href(`/runs/${encodeURIComponent(run)}`)}>{run}</a> : <bdi>{run}</bdi>}</dd>
          </>
        )}
      </dl>
      {data === null ? <p class="dim">It has no further data.</p> : <JsonText text={data} label="data of the event" />}
    </section>
  )
}
