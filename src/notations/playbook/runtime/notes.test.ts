import { describe, expect, it } from 'vitest'
import { Notes, tryNote } from './notes.ts'

const note = (n: number, message: string | null = null) =>
  tryNote({
    task: 'fetch',
    kind: 'http',
    visit: n,
    attempt: 1,
    at: 1_700_000_000_000,
    ms: 3,
    status: message === null ? 'ok' : 'error',
    error: message === null ? null : { kind: 'server_error', retryable: true, code: 'HTTP_500', message },
    http: { status: 200, headers: { secret: 'x' } } as never,
    verdict: { rule: 1, do: 'jump', to: 'fetch' },
    hasRules: true,
    restMs: null,
  })

describe('a note', () => {
  it('records the attempt, its outcome and the decision', () => {
    expect(note(4)).toEqual({
      task: 'fetch',
      kind: 'http',
      visit: 4,
      attempt: 1,
      at: 1_700_000_000_000,
      ms: 3,
      status: 'ok',
      rule: { index: 1, do: 'jump', to: 'fetch' },
      http: { status: 200 },
      last: true,
    })
  })
})

describe('many notes', () => {
  it('up to 200 are all kept', () => {
    const notes = new Notes()
    for (let n = 1; n <= 200; n++) notes.add(note(n))
    expect(notes.all().map((each: any) => each.visit)).toEqual(Array.from({ length: 200 }, (_, i) => i + 1))
  })

  it('of a million: the first and the last 100, and how many are missing', () => {
    const notes = new Notes()
    for (let n = 1; n <= 1_000_000; n++) notes.add({ n })
    const all = notes.all() as any[]
    expect(all).toHaveLength(201)
    expect([all[0].n, all[99].n, all[101].n, all[200].n]).toEqual([1, 100, 999_901, 1_000_000])
    expect(all[100]).toEqual({ event: 'notes.omitted', count: 999_800 })
  })

  it('together they stay below the limit of an event, however long their errors are', () => {
    const notes = new Notes()
    for (let n = 1; n <= 1_000; n++) notes.add(note(n, 'é'.repeat(5_000)))
    const all = notes.all() as any[]
    expect(Buffer.byteLength(JSON.stringify(all))).toBeLessThan(64 * 1024)
    expect(all[0].visit).toBe(1)
    expect(all.at(-1).visit).toBe(1_000)
    const omitted = all.find((each) => each.event === 'notes.omitted').count
    expect(omitted + all.length - 1).toBe(1_000)
  })
})
