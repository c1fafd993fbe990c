/** An instance as a block of lines that is redrawn: what `watch`, `run` and `dev` show on a terminal. */
import type { InstanceRow, RunRow } from '../../model/rows.ts'
import { TERMINAL } from '../../net/marking.ts'
import type { Progress } from '../../notations/interface/sheet.ts'
import { projectionOf } from '../../notations/notations.ts'
import { count, span } from '../../views/words.ts'
import { json } from '../../wire/value.ts'
import { tableLines } from '../terminal/sheet.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { brief, headline, paintState, placeOf, runState } from '../terminal/words.ts'
import type { ShellReading } from './reading.ts'

const SHOWN_RUNS = 20
const READ_RUNS = 200
const MAX_DEPTH = 3

export async function progressLines(terminal: Terminal, reading: ShellReading, id: string): Promise<readonly string[]> {
  const instance = await reading.queries.instance(id)
  if (instance === null) return []
  const now = await reading.queries.now()
  return [headLine(terminal, instance, now), ...(await linesOf(terminal, reading, instance, now, 1))]
}

export function headLine(terminal: Terminal, row: InstanceRow, now: number): string {
  const state = headline(row)
  const parts = [`${row.succeeded} done`]
  if (row.failed > 0) parts.push(`${row.failed} failed`)
  if (row.open > 0) parts.push(`${row.open} open`)
  const word = state.startsWith(`${row.state} `)
    ? `${paintState(terminal, row.state)}${state.slice(row.state.length)}`
    : paintState(terminal, state)
  const time = span((row.endedAt ?? now) - row.createdAt)
  return `${terminal.paint('bold', row.name)}  ${word}  ${parts.join(', ')}  ${terminal.paint('dim', `${time}  ${row.id}`)}`
}

async function linesOf(
  terminal: Terminal,
  reading: ShellReading,
  row: InstanceRow,
  now: number,
  depth: number,
): Promise<string[]> {
  const { queries } = reading
  const indent = '  '.repeat(depth)
  const { progress } = projectionOf(row)
  const own = progress === undefined ? null : await progress(reading, row, { now, most: SHOWN_RUNS })
  if (own !== null) return linesOfSteps(terminal, reading, row, own, now, depth)
  const runs = await queries.instanceRuns({ instanceId: row.id, limit: READ_RUNS, after: null })
  const children = depth < MAX_DEPTH ? (await queries.children(row.id)).slice(0, SHOWN_RUNS) : []
  const lines: string[] = []
  const byTime = [...summarised(runs), ...children].sort((a, b) => createdAt(a) - createdAt(b))
  for (const entry of byTime) {
    if (typeof entry === 'string') lines.push(indent + entry)
    else if ('type' in entry) lines.push(indent + runLine(terminal, entry, now))
    else {
      lines.push(indent + headLine(terminal, entry, now))
      if (!TERMINAL.has(entry.state)) lines.push(...(await linesOf(terminal, reading, entry, now, depth + 1)))
    }
  }
  if (row.gates > 0) {
    for (const gate of await queries.openGates({ instanceId: row.id, limit: 10 })) {
      lines.push(
        `${indent}${gate.node.padEnd(14)} ${paintState(terminal, 'waiting')} for an answer  ${terminal.paint('dim', `petrel approve ${gate.id}`)}`,
      )
    }
  }
  if (row.held > 0)
    lines.push(
      `${indent}${count(row.held, 'token')} held until an admission rule allows ${row.held === 1 ? 'it' : 'them'}`,
    )
  return lines
}

/** One line for each step that has begun, or is held. */
async function linesOfSteps(
  terminal: Terminal,
  reading: ShellReading,
  row: InstanceRow,
  { earlier, steps, children }: Progress,
  now: number,
  depth: number,
): Promise<string[]> {
  const indent = '  '.repeat(depth)
  const [, ...lines] = tableLines(terminal, steps)
  const nested: string[] = []
  for (const child of depth < MAX_DEPTH ? children : []) {
    nested.push(indent + headLine(terminal, child, now))
    if (!TERMINAL.has(child.state)) nested.push(...(await linesOf(terminal, reading, child, now, depth + 1)))
  }
  const waits = row.held === 0 ? [] : (await import('./waits.ts')).waitsOfTokens(reading, row)
  return [
    ...(earlier > 0 ? [`${indent}${earlier} more before these`] : []),
    ...lines.map((line) => indent + line),
    ...nested,
    ...(await waits).map(({ text }) => indent + text),
  ]
}

function createdAt(entry: RunRow | InstanceRow | string): number {
  return typeof entry === 'string' ? 0 : entry.createdAt
}

/** Large fan-outs are summarised in numbers, with the failed and retried runs named. */
function summarised(runs: readonly RunRow[]): readonly (RunRow | string)[] {
  if (runs.length <= SHOWN_RUNS) return runs
  const named = runs
    .filter((r) => r.status === 'failed' || (r.attempt > 0 && r.status !== 'succeeded'))
    .slice(0, SHOWN_RUNS - 1)
  const by = new Map<string, number>()
  for (const run of runs) by.set(run.status, (by.get(run.status) ?? 0) + 1)
  const more = runs.length >= READ_RUNS ? ` (first ${READ_RUNS})` : ''
  return [`${[...by].map(([status, n]) => `${n} ${status}`).join(', ')}${more}`, ...named]
}

function runLine(terminal: Terminal, run: RunRow, now: number): string {
  const state = runState(run, now)
  const parts: string[] = []
  if (state === 'retrying') parts.push(`attempt ${run.attempt + 1} of ${run.maxAttempts} in ${span(run.runAt - now)}`)
  else if (state === 'scheduled') parts.push(`in ${span(run.runAt - now)}`)
  else if (run.attempt > 0 && run.status !== 'failed') parts.push(`attempt ${run.attempt + 1}`)
  if (run.startedAt !== null && state !== 'retrying') parts.push(span((run.finishedAt ?? now) - run.startedAt))
  const error =
    run.status === 'succeeded' ? null : (run.lastError ?? (json(run.error) as { message?: string } | null)?.message)
  if (error) parts.push(brief(error, 50))
  return `${placeOf(run).padEnd(14)} ${terminal.paint('dim', run.type.padEnd(18))} ${paintState(terminal, state)}  ${terminal.paint('dim', parts.join('  '))}`.trimEnd()
}
