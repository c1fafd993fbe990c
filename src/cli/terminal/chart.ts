/** Segments of time as a row of characters: one character per equal part of the time shown. */
import type { Segment } from '../../views/pictures/segments.ts'

const RUNNING = '█'
const MARKS: { readonly [wait in NonNullable<Segment['waits']>]: string } = {
  scheduled: '·',
  retry: '·',
  activation: '·',
  paused: '·',
  queue: '░',
  start: '░',
  child: '░',
  completion: '▒',
  gate: '▒',
  ended: ' ',
}

export const LEGEND = '█ runs  ░ due, or held and not started  · due later  ▒ waits for people or a completion'

export interface Span {
  readonly from: number
  readonly to: number
}

/** An execution shorter than one part is shown, whatever else happens in that part. */
export function bar(segments: readonly Segment[], { from, to }: Span, width: number): string {
  const part = Math.max(1, to - from) / width
  const cells = Array.from({ length: width }, (_, at) => {
    const begin = from + at * part
    const touching = segments.filter((segment) => segment.from < begin + part && (segment.to ?? to) > begin)
    const shown = touching.find(({ waits }) => waits === null) ?? touching.at(-1)
    return shown === undefined ? ' ' : shown.waits === null ? RUNNING : MARKS[shown.waits]
  })
  return cells.join('').trimEnd()
}
