/** timeline: when the work of an instance waited and ran, as a picture of text. */
import type { Command } from 'commander'
import { projectionOf } from '../../notations/notations.ts'
import { showTimeline } from '../../operations/instances/pictures.ts'
import type { Segment } from '../../views/pictures/segments.ts'
import type { Timeline, TimelineRow } from '../../views/pictures/timeline.ts'
import { count, span } from '../../views/words.ts'
import { stateOf, timelineWire } from '../../wire/pictures/timeline.ts'
import { withOperations } from '../process/connect.ts'
import { act, jsonOption, type Shared, storeOptions, wholeNumber } from '../terminal/act.ts'
import { bar, LEGEND } from '../terminal/chart.ts'
import { EXIT } from '../terminal/failure.ts'
import { harmless, type Terminal } from '../terminal/terminal.ts'
import { paintState, placeOf } from '../terminal/words.ts'

interface TimelineOptions extends Shared {
  readonly limit: number
  readonly after?: string
  readonly step?: string
}

const MOST_ROWS = 1000
const WIDEST_LABEL = 24
const WIDEST_NOTE = 48
const LEAST_BAR = 10

export function defineTimeline(program: Command): void {
  const command = program
    .command('timeline')
    .argument('<id>', 'instance')
    .description('when the runs, children and gates of an instance waited and ran')
    .option('--step <name>', 'only of this step')
    .option('--limit <n>', 'how many rows', wholeNumber(1, 'limit'), 50)
    .option('--after <place>', 'continue where the last page ended')
  jsonOption(storeOptions(command)).action(
    act<TimelineOptions, readonly [string]>((terminal, options, id) =>
      withOperations(options, async (perform) => {
        const { step = null, after = null, limit } = options
        const asked = { id, node: step, after, limit: Math.min(limit, MOST_ROWS) }
        const timeline = await perform(showTimeline, asked)
        if (terminal.json) terminal.data(timelineWire(timeline, true))
        else printTimeline(terminal, timeline)
        return EXIT.ok
      }),
    ),
  )
}

function printTimeline(terminal: Terminal, { instance, now, rows, next }: Timeline): void {
  const shown = { from: instance.createdAt, to: instance.endedAt ?? now }
  const state = paintState(terminal, projectionOf(instance).state(instance))
  terminal.print(`${terminal.paint('bold', harmless(instance.name))}  ${state}  ${instance.id}`)
  terminal.print(terminal.paint('dim', `${span(shown.to - shown.from)}: ${LEGEND}`))
  terminal.print()
  const sorted = rows.toSorted((a, b) => a.from - b.from)
  const labels = sorted.map((row) => cut(harmless(labelOf(row)), WIDEST_LABEL))
  const notes = sorted.map((row) => cut(harmless(noteOf(row, now)), WIDEST_NOTE))
  const labelWidth = Math.max(0, ...labels.map(lengthOf))
  const noteWidth = Math.max(0, ...notes.map(lengthOf))
  const width = Math.max(LEAST_BAR, terminal.columns - labelWidth - noteWidth - 5)
  sorted.forEach((row, i) => {
    const drawn = bar(row.segments, shown, width)
    const label = padded(labels[i] as string, labelWidth)
    terminal.print(`${label}  ${drawn}${' '.repeat(width - lengthOf(drawn))}  ${notes[i]}`)
  })
  if (next !== null) terminal.print(terminal.paint('dim', `more: petrel timeline ${instance.id} --after ${next}`))
}

function labelOf(row: TimelineRow): string {
  const item = row.item === null ? '' : `[${row.item}]`
  if (row.kind === 'run') return placeOf(row.run)
  if (row.kind === 'gate') return `${row.node} (gate)`
  return `${row.node === '' ? 'detached' : row.node}${item} > ${row.child.name}`
}

/** The state, how long it took, and by whom. */
function noteOf(row: TimelineRow, now: number): string {
  const parts = [stateOf(row), span((row.to ?? now) - row.from)]
  const attempts = attemptsIn(row.segments)
  if (attempts > 1) parts.push(count(attempts, 'attempt'))
  const by =
    row.kind === 'gate' ? row.gate.answeredBy : (row.segments.findLast(({ worker }) => worker !== null)?.worker ?? null)
  if (by !== null) parts.push(`by ${by}`)
  if (row.kind === 'child') parts.push(row.child.id)
  return parts.join(', ')
}

function attemptsIn(segments: readonly Segment[]): number {
  return segments.filter(({ waits }) => waits === null).length
}

function lengthOf(text: string): number {
  return [...text].length
}

function cut(text: string, most: number): string {
  const letters = [...text]
  return letters.length > most ? `${letters.slice(0, most - 1).join('')}…` : text
}

function padded(text: string, width: number): string {
  return text + ' '.repeat(width - lengthOf(text))
}
