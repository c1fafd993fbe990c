/** Times, states and values as text on a terminal. */

import { type InstanceRow, PARKED_AT, type RunRow } from '../../model/rows.ts'
import { plain } from '../../notations/interface/plain.ts'
import { projectionOf } from '../../notations/notations.ts'
import { brief as shortened, span } from '../../views/words.ts'
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

/** In the words of its notation, with the outcome where the word leaves it open. */
export function headline(row: InstanceRow): string {
  return projectionOf(row).headline(row)
}

/** In the words of the engine: `completed (partial)`. */
export function instanceState(row: InstanceRow): string {
  return plain.headline(row)
}

/** One word for the state of a run. */
export function runState(row: RunRow, now: number): string {
  if (row.status === 'leased') return row.deferred ? 'deferred' : row.startedAt === null ? 'leased' : 'running'
  if (row.status === 'pending' && row.runAt >= PARKED_AT) return 'paused'
  if (row.status === 'pending' && row.runAt > now) return row.attempt > 0 ? 'retrying' : 'scheduled'
  return row.status
}

export function placeOf(run: { readonly node: string | null; readonly item: number; readonly role: string }): string {
  const item = run.item >= 0 ? `[${run.item}]` : ''
  return `${run.role === 'undo' ? 'undo ' : ''}${run.node ?? ''}${item}`
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
  return harmless(shortened(value, length))
}
