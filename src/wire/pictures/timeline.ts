/** The timeline of an instance, as columns. */
import type { Timeline, TimelineRow } from '../../views/pictures/timeline.ts'
import { Instance, instanceWire } from '../instance.ts'
import {
  flag,
  list,
  time as moment,
  named,
  nullable,
  object,
  optional,
  text,
  uuid,
  type Value,
  whole,
} from '../schema.ts'
import { time } from '../value.ts'
import { reasonWire, WhyReason } from '../why.ts'
import { differences, numbers, WordColumn, wordColumn } from './columns.ts'

const Rows = object({
  kind: WordColumn,
  node: WordColumn,
  fire: numbers('Which firing of the node.'),
  item: numbers('In a list.'),
  role: WordColumn,
  type: WordColumn,
  state: WordColumn,
  begin: numbers('Milliseconds after the entry before it; the first after `base`.'),
  took: numbers('Milliseconds from creation to end; null: not ended.'),
  ids: optional(list(uuid(), 'Only with `ids=true`: of the run, the child or the gate.')),
})

const Segments = object({
  row: numbers('Index of the row, as the difference from the entry before it.'),
  attempt: list(whole('From 1.')),
  waits: WordColumn,
  took: numbers('Milliseconds. Segments of a row follow one another from its begin. null: not ended.'),
  worker: WordColumn,
  error: WordColumn,
})

const ChildRow = object({ row: whole(), id: uuid(), name: text(), state: text() })

const GateRow = object({
  row: whole(),
  id: uuid(),
  title: nullable(text()),
  state: text(),
  due_at: nullable(moment()),
  decided_by: nullable(text()),
  votes: list(object({ by: nullable(text()), at: moment(), approved: flag() }), 'The last 20.'),
})

export const TimelineReply = named(
  'Timeline',
  object({
    instance: Instance,
    now: moment("The store's clock."),
    base: moment('Times are relative to it.'),
    rows: Rows,
    segments: Segments,
    children: list(ChildRow, 'Each has a timeline of its own.'),
    gates: list(GateRow),
    waiting: list(
      object({ row: whole(), reasons: list(WhyReason) }),
      'What each row that has not ended waits for now, as in /why.',
    ),
    shortened: list(whole(), 'Rows with so long a history that its middle was not read.'),
    next_after: nullable(text('Send it as `after`.')),
  }),
)

export function timelineWire({ instance, now, rows, next }: Timeline, ids: boolean): Value<typeof TimelineReply> {
  const segments = rows.flatMap(({ segments }, row) => segments.map((segment) => ({ row, ...segment })))
  return {
    instance: instanceWire(instance),
    now: time(now),
    base: time(instance.createdAt),
    rows: {
      ...rowColumns(rows, instance.createdAt),
      ...(ids ? { ids: rows.map(idOf) } : {}),
    },
    segments: {
      row: differences(
        segments.map(({ row }) => row),
        0,
      ),
      attempt: segments.map(({ attempt }) => attempt),
      waits: wordColumn(segments.map(({ waits }) => waits)),
      took: segments.map(({ from, to }) => (to === null ? null : to - from)),
      worker: wordColumn(segments.map(({ worker }) => worker)),
      error: wordColumn(segments.map(({ error }) => error)),
    },
    children: rows.flatMap((line, row) =>
      line.kind === 'child' ? [{ row, id: line.child.id, name: line.child.name, state: line.child.state }] : [],
    ),
    gates: rows.flatMap((line, row) => (line.kind === 'gate' ? [gateWire(line, row)] : [])),
    waiting: rows.flatMap((line, row) =>
      line.kind === 'run' && line.reasons.length > 0 ? [{ row, reasons: line.reasons.map(reasonWire) }] : [],
    ),
    shortened: rows.flatMap((line, row) => (line.kind === 'run' && line.shortened ? [row] : [])),
    next_after: next,
  }
}

function rowColumns(rows: readonly TimelineRow[], base: number): Omit<Value<typeof Rows>, 'ids'> {
  return {
    kind: wordColumn(rows.map(({ kind }) => kind)),
    node: wordColumn(rows.map(({ node }) => node)),
    fire: rows.map(({ fire }) => fire),
    item: rows.map(({ item }) => item),
    role: wordColumn(rows.map((line) => (line.kind === 'run' ? line.run.role : null))),
    type: wordColumn(rows.map((line) => (line.kind === 'run' ? line.run.type : null))),
    state: wordColumn(rows.map(stateOf)),
    begin: differences(
      rows.map(({ from }) => from),
      base,
    ),
    took: rows.map(({ from, to }) => (to === null ? null : Math.max(0, to - from))),
  }
}

function gateWire({ gate, title, votes }: TimelineRow & { readonly kind: 'gate' }, row: number): Value<typeof GateRow> {
  return {
    row,
    id: gate.id,
    title,
    state: gate.state,
    due_at: time(gate.dueAt),
    decided_by: gate.answeredBy,
    votes: votes.map(({ by, at, approved }) => ({ by, at: time(at), approved })),
  }
}

function idOf(line: TimelineRow): string {
  return line.kind === 'run' ? line.run.id : line.kind === 'child' ? line.child.id : line.gate.id
}

export function stateOf(line: TimelineRow): string {
  return line.kind === 'run' ? line.run.status : line.kind === 'child' ? line.child.state : line.gate.state
}
