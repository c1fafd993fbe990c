import { describe, expect, it } from 'vitest'
import { emptyFeed, PAGE, pageBefore, withEarlier, withNew } from './feed.ts'

const text = (seq: number): string => JSON.stringify({ seq, type: 'created', at: '2026-11-20T00:00:00Z', data: null })
const page = (after: number, limit: number): string =>
  `{"events":[${Array.from({ length: limit }, (_, n) => text(after + n + 1)).join(',')}]}`

describe('the events of an instance', () => {
  it('are read backwards, page by page, to the first', () => {
    let feed = emptyFeed(PAGE * 2 + 100)
    const sizes: number[] = []
    for (let at = pageBefore(feed); at !== null; at = pageBefore(feed)) {
      sizes.push(at.limit)
      feed = withEarlier(feed, page(at.after, at.limit), at)
    }
    expect(sizes).toEqual([PAGE, PAGE, 100])
    const numbers = feed.events.map(({ seq }) => seq)
    expect(numbers).toEqual(Array.from({ length: PAGE * 2 + 100 }, (_, n) => PAGE * 2 + 100 - n))
  })

  it('that arrive come first, each once', () => {
    const arrived = (...numbers: readonly number[]) =>
      numbers.map((seq) => ({ id: String(seq), type: 'created', data: text(seq) }))
    const feed = withNew(withNew(emptyFeed(3), arrived(4, 5)), arrived(5, 6))
    expect(feed.events.map(({ seq }) => seq)).toEqual([6, 5, 4])
    expect([feed.from, feed.to]).toEqual([4, 6])
  })

  it('of an instance without any are none', () => {
    expect(pageBefore(emptyFeed(0))).toBeNull()
  })
})
