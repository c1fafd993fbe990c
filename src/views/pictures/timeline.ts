/**
 * The rows of an instance with what happened to each and when: gates, children and runs, page by page in the order of their
 * places (node, firing, item), which is the order of an index. What has not ended also has the reason for its wait, as why.ts
 * determines it.
 */
import { gateOptions, votesOf } from '../../model/gates.ts'
import type { Queries } from '../../model/queries/queries.ts'
import type { StepRun } from '../../model/queries/steps.ts'
import type { GateRow, InstanceRow, StoredEvent } from '../../model/rows.ts'
import { TERMINAL } from '../../net/marking.ts'
import type { Reason } from '../why-reasons.ts'
import type { RunReasons } from '../why-run.ts'
import { type Cursor, cursorIn, cursorText } from './cursor.ts'
import { type Pause, type Segment, segmentsOf, type WaitKind } from './segments.ts'
import { sinceOf } from './times.ts'

export interface Timeline {
  readonly instance: InstanceRow
  readonly now: number
  readonly rows: readonly TimelineRow[]
  /** Where the next page begins; null: this was the last. */
  readonly next: string | null
}

interface Place {
  /** Empty: of a detached child, which has no place. */
  readonly node: string
  readonly fire: number
  /** null: not of a list. */
  readonly item: number | null
}

interface Common extends Place {
  readonly from: number
  /** null: it has not ended. */
  readonly to: number | null
  readonly segments: readonly Segment[]
}

export interface RunLine extends Common {
  readonly kind: 'run'
  readonly run: StepRun
  /** What it waits for now; empty: it has ended. */
  readonly reasons: readonly Reason[]
  /** true: events in the middle of a very long history were not read. */
  readonly shortened: boolean
}

export interface ChildLine extends Common {
  readonly kind: 'child'
  readonly child: InstanceRow
}

export interface GateLine extends Common {
  readonly kind: 'gate'
  readonly gate: GateRow
  readonly title: string | null
  readonly votes: readonly GateVote[]
}

export interface GateVote {
  readonly by: string | null
  readonly at: number
  readonly approved: boolean
}

export type TimelineRow = RunLine | ChildLine | GateLine

export interface TimelineAsked {
  /** null: every node. */
  readonly node: string | null
  readonly after: string | null
  readonly limit: number
}

/** Events that are read of one run: the first so many, and the last so many. */
const MOST_EVENTS = 100
const MOST_VOTES = 20

export async function timelineOf(
  queries: Queries,
  instance: InstanceRow,
  reasons: RunReasons,
  { node, after, limit }: TimelineAsked,
): Promise<Timeline> {
  const { id: instanceId } = instance
  const { now } = reasons
  let place = after === null ? START : (cursorIn(after) ?? START)
  const rows: TimelineRow[] = []
  /** One more than there is room for shows whether others follow. */
  const page = () => ({ instanceId, node, limit: limit - rows.length + 1 })
  if (place.section === 'gate') {
    rows.push(...(await queries.places.gates({ ...page(), after: place.after })).map(gateLine))
    if (rows.length <= limit) place = { section: 'child', after: null }
  }
  if (place.section === 'child' && rows.length <= limit) {
    const children = await queries.places.children({ ...page(), after: place.after })
    rows.push(...children.map(childLine))
    if (rows.length <= limit) place = { section: node === null ? 'detached' : 'run', after: null }
  }
  if (place.section === 'detached' && rows.length <= limit) {
    rows.push(...(await queries.places.detached({ ...page(), after: place.after })).map(childLine))
    if (rows.length <= limit) place = { section: 'run', after: null }
  }
  if (place.section === 'run' && rows.length <= limit) {
    const runs = await queries.places.runs({ ...page(), after: place.after })
    const shown = runs.slice(0, limit - rows.length)
    rows.push(...(await runLines(queries, instance, shown, reasons)))
    const next = runs.length > shown.length || rows.length > limit ? cursorAfter(rows.slice(0, limit).at(-1)) : null
    return { instance, now, rows: rows.slice(0, limit), next }
  }
  const kept = rows.slice(0, limit)
  return { instance, now, rows: kept, next: cursorAfter(kept.at(-1)) }
}

async function runLines(
  queries: Queries,
  instance: InstanceRow,
  runs: readonly StepRun[],
  reasons: RunReasons,
): Promise<readonly RunLine[]> {
  if (runs.length === 0) return []
  const histories = await transitionsOf(queries, instance, runs)
  const pauses = await pausesOf(queries, instance)
  const lines: RunLine[] = []
  for (const run of runs) {
    const { events, shortened } = histories.get(run.id) ?? NO_HISTORY
    const open = run.settledAt === null
    lines.push({
      kind: 'run',
      ...placeOf(run.node, run.fire, run.item),
      from: run.createdAt,
      to: run.finishedAt,
      segments: segmentsOf(run, events, reasons.now, pauses),
      run,
      reasons: open ? await reasons.of(run) : [],
      shortened,
    })
  }
  return lines
}

/** Of an instance with more events, only the current pause of a run is known. */
const MOST_SEARCHED = 2_000
const MOST_STATE_EVENTS = 1_000

/** When its tree was paused, oldest first. */
async function pausesOf(queries: Queries, instance: InstanceRow): Promise<readonly Pause[]> {
  const root = instance.rootId === instance.id ? instance : await queries.instance(instance.rootId)
  if (root === null || root.eventSeq > MOST_SEARCHED) return []
  const found: Pause[] = []
  for (const { type, at } of await queries.steps.stateEvents({ instanceId: root.id, limit: MOST_STATE_EVENTS })) {
    const last = found.at(-1)
    if (type === 'instance.paused') found.push({ from: at, to: null })
    else if (type === 'instance.unpaused' && last?.to === null) found[found.length - 1] = { ...last, to: at }
  }
  return found
}

interface RunHistory {
  readonly events: readonly StoredEvent[]
  readonly shortened: boolean
}

const NO_HISTORY: RunHistory = { events: [], shortened: false }

/** The transitions of runs by run, in two reads at most. */
export async function transitionsOf(
  { places }: Queries,
  instance: InstanceRow,
  runs: readonly { readonly id: string }[],
): Promise<ReadonlyMap<string, RunHistory>> {
  const asked = { since: sinceOf(instance), most: MOST_EVENTS }
  const found = byRun(await places.transitions({ ...asked, runIds: runs.map(({ id }) => id), from: 'first' }))
  const long = [...found].filter(([, events]) => events.length >= MOST_EVENTS).map(([id]) => id)
  const rest = byRun(await places.transitions({ ...asked, runIds: long, from: 'last' }))
  return new Map(
    [...found].map(([id, events]) => {
      const last = events.at(-1)?.id ?? 0
      const later = (rest.get(id) ?? []).filter((event) => event.id > last)
      return [id, { events: [...events, ...later], shortened: later.length === MOST_EVENTS }]
    }),
  )
}

function byRun(events: readonly StoredEvent[]): ReadonlyMap<string, StoredEvent[]> {
  const found = new Map<string, StoredEvent[]>()
  for (const event of events) {
    const own = found.get(event.runId ?? '')
    if (own === undefined) found.set(event.runId ?? '', [event])
    else own.push(event)
  }
  return found
}

function gateLine(gate: GateRow): GateLine {
  const to = gate.state === 'open' ? null : gate.answeredAt
  const votes = votesOf(gate)
    .slice(-MOST_VOTES)
    .map(({ by, at, approved }) => ({ by, at, approved }))
  return {
    kind: 'gate',
    ...placeOf(gate.node, gate.fire, -1),
    from: gate.createdAt,
    to,
    segments: [segment('gate', gate.createdAt, to)],
    gate,
    title: gateOptions(gate.options).title ?? null,
    votes,
  }
}

function childLine(child: InstanceRow): ChildLine {
  const to = TERMINAL.has(child.state) ? child.endedAt : null
  const begun = child.startedAt ?? to
  const waiting = segment('child', child.createdAt, begun)
  const both = begun === null ? [waiting] : [waiting, segment(null, Math.max(begun, child.createdAt), to)]
  return {
    kind: 'child',
    ...placeOf(child.parentNode, child.parentFire, child.parentItem),
    from: child.createdAt,
    to,
    segments: both.filter(({ from, to }) => to === null || to > from),
    child,
  }
}

function segment(waits: WaitKind | null, from: number, to: number | null): Segment {
  return { attempt: 1, waits, from, to: to === null ? null : Math.max(from, to), worker: null, error: null }
}

function placeOf(node: string | null, fire: number, item: number): Place {
  return { node: node ?? '', fire, item: item < 0 ? null : item }
}

const START: Cursor = { section: 'gate', after: null }

function cursorAfter(line: TimelineRow | undefined): string | null {
  if (line === undefined) return null
  const place = { node: line.node, fire: line.fire, item: line.item ?? -1 }
  if (line.kind === 'child' && line.child.parentNode === null) {
    return cursorText({ section: 'detached', after: line.child.id })
  }
  if (line.kind === 'run') return cursorText({ section: 'run', after: { ...place, role: line.run.role } })
  return cursorText({ section: line.kind, after: place })
}

/** Whether a text is a valid `next` of a page. */
export function isTimelineCursor(text: string): boolean {
  return cursorIn(text) !== null
}
