import { describe, expect, it } from 'vitest'
import { piecesOf, type Timeline } from './pieces.ts'

const words = (...all: readonly (string | null)[]) => {
  const known = [...new Set(all.filter((word) => word !== null))]
  return { words: known, of: all.map((word) => (word === null ? null : known.indexOf(word))) }
}

describe('the rows of a step', () => {
  it('have their begin, and what each attempt waited and ran', () => {
    const timeline = {
      base: '2026-11-20T00:00:00.000Z',
      rows: {
        kind: words('run', 'run'),
        fire: [1, 1],
        item: [0, 1],
        role: words('work', 'work'),
        state: words('succeeded', 'pending'),
        begin: [100, 50],
        took: [70, null],
        ids: ['a', 'b'],
      },
      segments: {
        row: [0, 0, 0, 0, 1],
        attempt: [1, 1, 2, 2, 1],
        waits: words('queue', null, 'retry', null, 'queue'),
        took: [10, 20, 30, 10, null],
        worker: words(null, 'w1', null, 'w2', null),
        error: words(null, 'busy', null, null, null),
      },
      waiting: [{ row: 1, reasons: [{ kind: 'queue', text: 'none before it' }] }],
    } as unknown as Timeline
    const base = Date.parse(timeline.base)
    expect(piecesOf(timeline)).toEqual([
      {
        id: 'a',
        kind: 'run',
        fire: 1,
        item: 0,
        role: 'work',
        state: 'succeeded',
        begin: base + 100,
        took: 70,
        reasons: [],
        attempts: [
          { number: 1, waitedMs: 10, ranMs: 20, isRunning: false, worker: 'w1', error: 'busy', waits: null },
          { number: 2, waitedMs: 30, ranMs: 10, isRunning: false, worker: 'w2', error: null, waits: null },
        ],
      },
      {
        id: 'b',
        kind: 'run',
        fire: 1,
        item: 1,
        role: 'work',
        state: 'pending',
        begin: base + 150,
        took: null,
        reasons: [{ kind: 'queue', text: 'none before it' }],
        attempts: [
          { number: 1, waitedMs: 0, ranMs: null, isRunning: false, worker: null, error: null, waits: 'queue' },
        ],
      },
    ])
  })
})
