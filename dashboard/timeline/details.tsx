/** What is pointed at, or selected, in words: reasons and exact times. */
import { href } from '../browser/router.ts'
import { span } from '../ui/moments.tsx'
import { State } from '../ui/state.tsx'
import type { Row, Segment } from './decode.ts'
import type { Lane } from './lanes.ts'
import { waitWords } from './paint.ts'

export interface DetailsProps {
  readonly lane: Lane
  /** null: of the whole line. */
  readonly segment: Segment | null
  readonly now: number
  readonly onSelect: ((node: string) => void) | undefined
}

/** Segments that are listed of a line. */
const MOST = 12

export function Details({ lane, segment, now, onSelect }: DetailsProps) {
  const row = lane.rows.find(({ segments }) => segment !== null && segments.includes(segment)) ?? lane.rows[0]
  if (row === undefined) return null
  const shown = segment === null ? row.segments.slice(0, MOST) : [segment]
  return (
    <>
      <p class="row">
        <State state={segment === null ? lane.state : row.state} />
        <strong class="timeline-name">
          <bdi>{lane.depth === 1 ? `${lane.node}, ${lane.label}` : lane.label}</bdi>
        </strong>
        <span class="dim">
          {place(row)}
          {lane.rows.length > 1 && segment === null && `${lane.rows.length} runs; the first of them:`}
        </span>
        {lane.node !== '' && onSelect !== undefined && (
          <button type="button" class="small" onClick={() => onSelect(lane.node)}>
            Show the step
          </button>
        )}
        {row.child !== null && <a href={href(`/instances/${row.child.id}`, { tab: 'timeline' })}>Its own timeline</a>}
      </p>
      <ul>
        {shown.map((one, i) => (
          <li key={i}>
            <SegmentWords row={row} segment={one} now={now} />
          </li>
        ))}
        {row.gate?.votes.map(({ by, at, approved }) => (
          <li key={`${by} ${at}`}>
            <State state={approved ? 'approved' : 'rejected'} /> by <bdi>{by ?? 'unknown'}</bdi> at{' '}
            <Exact at={Date.parse(at)} />
          </li>
        ))}
        {row.gate !== null && row.gate.decided_by !== null && (
          <li>
            decided by <bdi>{row.gate.decided_by}</bdi>
          </li>
        )}
        {row.gate?.due_at && row.to === null && (
          <li>
            due <Exact at={Date.parse(row.gate.due_at)} />
          </li>
        )}
        {row.reasons.map((reason) => (
          <li key={reason}>
            now: <bdi>{reason}</bdi>
          </li>
        ))}
        {row.shortened && <li class="dim">The middle of its history was not read.</li>}
      </ul>
    </>
  )
}

function place({ item, type, gate }: Row): string {
  const parts = [type, gate?.title, item === null ? null : `item ${item}`]
  const known = parts.filter((part) => part !== null && part !== undefined)
  return known.length === 0 ? '' : `${known.join(' · ')} `
}

function SegmentWords({ row, segment, now }: { readonly row: Row; readonly segment: Segment; readonly now: number }) {
  const { from, to, waits, worker, error, attempt } = segment
  return (
    <>
      {waits === null ? (row.role === 'undo' ? 'undoes' : 'runs') : waitWords(waits, row.kind)}{' '}
      <strong>{span((to ?? now) - from)}</strong>
      {waits === null && row.kind === 'run' && `, attempt ${attempt}`}
      {worker !== null && (
        <>
          , worker <bdi>{worker}</bdi>
        </>
      )}
      {error !== null && (
        <>
          , failed: <bdi>{error}</bdi>
        </>
      )}{' '}
      <span class="dim">
        <Exact at={from} /> – {to === null ? 'now' : <Exact at={to} />}
      </span>
    </>
  )
}

function Exact({ at }: { readonly at: number }) {
  const date = new Date(at)
  return <time dateTime={date.toISOString()}>{date.toISOString().replace('T', ' ')}</time>
}
