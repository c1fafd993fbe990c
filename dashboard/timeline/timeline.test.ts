import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Timeline, TimelineRow } from '../../src/views/pictures/timeline.ts'
import { timelineWire } from '../../src/wire/pictures/timeline.ts'
import { axisOf, ticksOf } from './axis.ts'
import { type Row, rowsOf } from './decode.ts'
import { lanesOf } from './lanes.ts'
import { following, shifted, whole, zoomedRange } from './view.ts'

const BASE = Date.parse('2026-01-01T00:00:00.000Z')

interface Given {
  readonly from: number
  readonly segments: readonly { readonly took: number; readonly waits: string | null; readonly error: string | null }[]
  readonly ended: boolean
}

function lineOf({ from, segments, ended }: Given, at: number): TimelineRow {
  let end = BASE + from
  const own = segments.map(({ took, waits, error }, i) => {
    const begin = end
    end += took
    const isLast = i === segments.length - 1
    return { attempt: i + 1, waits, from: begin, to: isLast && !ended ? null : end, worker: `w${at % 3}`, error }
  })
  const run = { id: `r${at}`, role: at % 4 === 3 ? 'undo' : 'work', type: `t${at % 5}`, status: 'succeeded' }
  const place = { node: `n${at % 7}`, fire: at, item: at % 2 === 0 ? null : at }
  const rest = { kind: 'run', run, reasons: [], shortened: at === 2, segments: own }
  return { ...place, ...rest, from: BASE + from, to: ended ? end : null } as unknown as TimelineRow
}

const segment = fc.record({
  took: fc.nat(100_000),
  waits: fc.constantFrom(null, 'queue', 'retry'),
  error: fc.constantFrom(null, 'busy'),
})
const given = fc.array(
  fc.record({
    from: fc.nat(1_000_000),
    segments: fc.array(segment, { minLength: 1, maxLength: 5 }),
    ended: fc.boolean(),
  }),
  { maxLength: 30 },
)

function answered(lines: readonly TimelineRow[]) {
  const instance = {
    createdAt: BASE,
    startedAt: null,
    endedAt: null,
    deadlineAt: null,
    paused: null,
  } as unknown as Timeline['instance']
  return rowsOf(timelineWire({ instance, now: BASE + 2_000_000, rows: lines, next: null }, false))
}

describe('the rows of a timeline', () => {
  it('are read as the server had them before it wrote columns', () => {
    fc.assert(
      fc.property(given, (all) => {
        const lines = all.map(lineOf)
        const read = answered(lines)
        expect(read.map(({ node, fire, item, from, to }) => ({ node, fire, item, from, to }))).toEqual(
          lines.map(({ node, fire, item, from, to }) => ({ node, fire, item, from, to })),
        )
        expect(read.map(({ segments }) => segments)).toEqual(lines.map(({ segments }) => segments))
      }),
    )
  })

  it('have the gates with their votes, and the sentences of what waits', () => {
    const gate = { id: 'g', state: 'open', dueAt: null, answeredBy: null, createdAt: BASE }
    const votes = [{ by: 'ann', at: BASE + 5, approved: true }]
    const place = { node: 'ok', fire: 1, item: null, from: BASE, to: null, segments: [] }
    const [row] = answered([{ ...place, kind: 'gate', gate, title: 'Pay?', votes } as unknown as TimelineRow])
    expect([row?.kind, row?.gate?.title, row?.gate?.votes[0]?.by]).toEqual(['gate', 'Pay?', 'ann'])
  })
})

function row(node: string, from: number, took: number, more: Partial<Row> = {}): Row {
  const segments = [{ attempt: 1, waits: null, from, to: from + took, worker: null, error: null }]
  const rest = { gate: null, child: null, reasons: [], shortened: false }
  const facts = { kind: 'run', fire: 1, item: null, role: 'work', type: 't', state: 'succeeded' }
  return { ...facts, ...rest, node, from, to: from + took, segments, ...more }
}

describe('the lines', () => {
  const rows = [
    row('b', 20, 5),
    row('a', 10, 5, { fire: 2, item: 1 }),
    row('a', 0, 5, { fire: 2, item: 0, state: 'failed' }),
    row('a', 30, 5, { role: 'undo' }),
  ]

  it('are one for each step in the order of time, with the state that matters most', () => {
    expect(lanesOf(rows, new Set()).map(({ label, state, isOpen }) => [label, state, isOpen])).toEqual([
      ['a ×2', 'failed', false],
      ['b', 'succeeded', null],
      ['undo a', 'succeeded', null],
    ])
  })

  it('open into firings and items, and are found by their names', () => {
    const [first] = lanesOf(rows, new Set())
    expect(lanesOf(rows, new Set([first!.key])).map(({ label }) => label)).toEqual([
      'a ×2',
      'item 0',
      'item 1',
      'b',
      'undo a',
    ])
    expect(lanesOf(rows, new Set(), 'B').map(({ label }) => label)).toEqual(['b'])
  })
})

describe('the axis', () => {
  const day = 86_400_000
  const rows = [row('a', 0, 1000), row('b', day, 2000)]

  it('compresses a day in which nothing runs, and not if it is open', () => {
    const axis = axisOf(rows, day + 2000, new Set())
    expect(axis.bands).toHaveLength(1)
    expect(axis.length).toBeLessThan(day / 5)
    const open = axisOf(rows, day + 2000, new Set([axis.bands[0]!.from]))
    expect(open.length).toBe(day + 2000)
  })

  it('keeps the order of times, and leads back to them', () => {
    const some = fc.array(fc.tuple(fc.nat(10_000_000), fc.nat(50_000)), { minLength: 1, maxLength: 20 })
    fc.assert(
      fc.property(some, fc.array(fc.integer({ min: -1000, max: 11_000_000 }), { maxLength: 20 }), (all, times) => {
        const axis = axisOf(
          all.map(([from, took], i) => row(`n${i}`, from, took)),
          10_050_000,
          new Set(),
        )
        const positions = times.sort((a, b) => a - b).map(axis.toPosition)
        for (const [i, position] of positions.entries()) {
          if (i > 0) expect(position).toBeGreaterThanOrEqual(positions[i - 1]!)
          expect(axis.toTime(position)).toBeCloseTo(times[i]!, 2)
        }
      }),
    )
  })

  it('has round ticks, not too many', () => {
    expect(ticksOf(0, 10_000, 5)).toEqual([0, 2000, 4000, 6000, 8000, 10_000])
    fc.assert(
      fc.property(fc.nat(1_000_000_000), fc.integer({ min: 1, max: 1_000_000_000 }), (from, size) => {
        expect(ticksOf(from, from + size, 8).length).toBeLessThanOrEqual(9)
      }),
    )
  })
})

describe('the view of the axis', () => {
  it('keeps what is under the pointer while it zooms', () => {
    const before = { from: 200, to: 400 }
    const after = zoomedRange(before, 2, 0.25, 1000)
    expect(after.from + (after.to - after.from) * 0.25).toBeCloseTo(250)
    expect(after.to - after.from).toBe(100)
  })

  it('never leaves the picture, and follows its end', () => {
    expect(shifted({ from: 0, to: 100 }, 1e9, 1000).from).toBeLessThan(1000)
    expect(shifted({ from: 0, to: 100 }, -1e9, 1000).to).toBeGreaterThan(0)
    expect(following({ from: 0, to: 100 }, 1000).to).toBe(1003)
    expect(whole(100).from).toBeLessThan(0)
  })
})
