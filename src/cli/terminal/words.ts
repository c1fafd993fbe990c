/** Times, states and values as text on a terminal. */

import type { InstanceRow, RunRow } from '../../model/rows.ts'
import { executionStatus } from '../../notations/playbook/project/words.ts'
import { type Colour, harmless, type Terminal } from './terminal.ts'

const COLOURS: { readonly [word: string]: Colour } = {
  completed: 'green',
  success: 'green',
  done: 'green',
  succeeded: 'green',
  approved: 'green',
  failed: 'red',
  rejected: 'red',
  'timed out': 'red',
  cancelled: 'yellow',
  cancelling: 'yellow',
  compensating: 'yellow',
  compensated: 'yellow',
  retrying: 'yellow',
  waiting: 'blue',
  executing: 'blue',
  blocked: 'yellow',
  skipped: 'yellow',
  partial: 'yellow',
  held: 'yellow',
  discarded: 'yellow',
  running: 'blue',
  queued: 'dim',
  pending: 'dim',
  scheduled: 'dim',
}

export function paintState(terminal: Terminal, word: string): string {
  const colour = COLOURS[word]
  return colour === undefined ? word : terminal.paint(colour, word)
}

/** `completed (partial)`: with the outcome if it is more precise than the state. */
export function instanceState(row: InstanceRow): string {
  const plain = row.outcome === null || ['success', 'failed', 'cancelled', 'rolled_back'].includes(row.outcome)
  return plain ? row.state : `${row.state} (${row.outcome})`
}

/** The notation's own term for the state of the whole, if it has one. */
export function ownState(row: InstanceRow): string {
  return row.dialect === 'playbook' ? executionStatus(row) : instanceState(row)
}

/** One word for the state of a run. */
export function runState(row: RunRow, now: number): string {
  if (row.status === 'leased') return row.deferred ? 'deferred' : row.startedAt === null ? 'leased' : 'running'
  if (row.status === 'pending' && row.runAt > now) return row.attempt > 0 ? 'retrying' : 'scheduled'
  return row.status
}

export function placeOf(run: { readonly node: string | null; readonly item: number; readonly role: string }): string {
  const item = run.item >= 0 ? `[${run.item}]` : ''
  return `${run.role === 'undo' ? 'undo ' : ''}${run.node ?? ''}${item}`
}

/** A duration in its largest units. */
export function span(ms: number): string {
  if (ms < 0) return `-${span(-ms)}`
  if (ms < 1000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${trim(ms / 1000)} s`
  if (ms < 3_600_000) return two(ms, 60_000, 'min', 1000, 's')
  if (ms < 86_400_000) return two(ms, 3_600_000, 'h', 60_000, 'min')
  return two(ms, 86_400_000, 'd', 3_600_000, 'h')
}

function two(ms: number, large: number, largeName: string, small: number, smallName: string): string {
  const whole = Math.floor(ms / large)
  const rest = Math.floor((ms - whole * large) / small)
  return rest === 0 ? `${whole} ${largeName}` : `${whole} ${largeName} ${rest} ${smallName}`
}

function trim(value: number): string {
  return value < 10 ? value.toFixed(1).replace(/\.0$/, '') : String(Math.round(value))
}

export function ago(at: number | null, now: number): string {
  return at === null ? '–' : now - at < 1000 ? 'now' : `${span(now - at)} ago`
}

export function clock(at: number): string {
  return new Date(at)
    .toISOString()
    .replace('T', ' ')
    .replace(/\.\d+Z$/, 'Z')
}

/** A value in one short line. */
export function brief(value: unknown, length = 60): string {
  const text = harmless(typeof value === 'string' ? value : (JSON.stringify(value) ?? 'null'))
  return text.length > length ? `${text.slice(0, length - 1)}…` : text
}

export function count(n: number, one: string, many = `${one}s`): string {
  return `${n} ${n === 1 ? one : many}`
}
