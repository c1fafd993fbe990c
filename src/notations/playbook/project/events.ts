/** The event log of an execution, page by page: a page costs what it shows, however long the log is. */

import { unscopedName } from '../../../kernel/scoped-names.ts'
import type { StepRun } from '../../../model/queries/steps.ts'
import type { InstanceRow, StoredEvent } from '../../../model/rows.ts'
import type { Net } from '../../../net/net.ts'
import type { LogAsked, LogPage, LogPlace } from '../../interface/events.ts'
import type { Reading } from '../../interface/projection.ts'
import { type ExecutionEvent, eventId, isBehind } from './envelope.ts'
import { envelope, logOf, unfold } from './unfold.ts'
import { started } from './unfold-runs.ts'
import { isStep } from './words.ts'

/** Lines of the history read for one page: a filter that matches little must not read a whole log at once. */
const MOST_LINES = 5_000
const LEAST = 50
const MOST = 500
const MOST_OPEN = 1_000

export interface EventsPage extends LogPage {
  /** Oldest first. */
  readonly events: readonly ExecutionEvent[]
  readonly next_after: string
  readonly has_more: boolean
  /** Begun and not ended, on the last page: the log repeats these events, under the same ids, when their work ends. */
  readonly in_flight: readonly ExecutionEvent[]
}

export async function loadEvents(
  reading: Reading,
  instance: InstanceRow,
  net: Net,
  asked: LogAsked,
): Promise<EventsPage> {
  const portion = Math.min(MOST, Math.max(LEAST, asked.limit))
  const events: ExecutionEvent[] = []
  let place = asked.after
  for (let read = 0; read < MOST_LINES; ) {
    // The line that a page ended in is read again: it may have more events.
    const afterSeq = Math.max(0, place.n === Number.MAX_SAFE_INTEGER ? place.seq : place.seq - 1)
    const lines = await reading.queries.instanceEvents({ instanceId: instance.id, afterSeq, limit: portion })
    read += lines.length
    for (const { event, at } of await unfoldAll(reading, instance, net, lines)) {
      if (!isBehind(at, place)) continue
      if (asked.types !== null && !asked.types.has(event.event_type)) continue
      if (events.length === asked.limit) return page(events, place, true, [])
      events.push(event)
      place = at
    }
    const last = lines.at(-1)?.seq ?? null
    if (last !== null) place = { seq: last, n: Number.MAX_SAFE_INTEGER }
    if ((last ?? instance.eventSeq) >= instance.eventSeq)
      return page(events, place, false, await inFlight(reading, instance, net, asked.types))
  }
  return page(events, place, true, [])
}

function page(
  events: readonly ExecutionEvent[],
  place: LogPlace,
  has_more: boolean,
  in_flight: readonly ExecutionEvent[],
): EventsPage {
  const next_after = place.n === Number.MAX_SAFE_INTEGER ? String(place.seq) : eventId(place)
  return { events, next_after, has_more, in_flight }
}

/** Each with its place in the log. */
export async function unfoldAll(
  reading: Reading,
  instance: InstanceRow,
  net: Net,
  lines: readonly StoredEvent[],
): Promise<readonly { readonly event: ExecutionEvent; readonly at: LogPlace }[]> {
  const ids = [...new Set(lines.flatMap(({ runId }) => runId ?? []))]
  const runs = ids.length === 0 ? [] : await reading.queries.trees.briefs({ ids, maxBytes: 0 })
  const log = logOf(instance, net, runs)
  return lines.flatMap((line) => unfold(log, line).map((event, i) => ({ event, at: { seq: line.seq ?? 0, n: i + 1 } })))
}

async function inFlight(
  reading: Reading,
  instance: InstanceRow,
  net: Net,
  types: ReadonlySet<string> | null,
): Promise<readonly ExecutionEvent[]> {
  if (instance.open === 0 || instance.endedAt !== null) return []
  const open: ExecutionEvent[] = []
  for (const run of await openRuns(reading, instance, net)) {
    const { node, status, startedAt, leasedAt, leasedBy } = run
    if (node === null || !isStep(node) || status !== 'leased' || startedAt === null) continue
    // Leased again, and not begun since.
    if (leasedAt !== null && startedAt < leasedAt) continue
    const payload = leasedBy === null ? {} : { worker: unscopedName(leasedBy) }
    const at = Math.max(startedAt, run.createdAt)
    const fields = started(run, node, { attempt: run.attempt + 1, at, payload })
    const event = envelope(instance, fields, { seq: instance.eventSeq, id: '', at })
    if (types === null || types.has(event.event_type)) open.push(event)
  }
  return open
}

/** The latest runs of steps, and the active runs of loops: never all the finished items of a loop. */
async function openRuns(reading: Reading, { id }: InstanceRow, net: Net): Promise<readonly StepRun[]> {
  const { steps } = reading.queries
  const at = net.nodes.filter(({ work }) => work.kind === 'run').map(({ key }) => ({ instanceId: id, node: key }))
  const loops = net.nodes.some(({ work }) => work.kind === 'each')
  const [plain, items] = await Promise.all([
    steps.runsAt(at),
    loops ? steps.openItems({ instanceId: id, limit: MOST_OPEN }) : [],
  ])
  return [...plain, ...items]
}
