import { describe, expect, it } from 'vitest'
import { type Batch, readable, rowsUpTo } from './batches.ts'

const NUMBERS = [1, 2, 3, 4, 5, 6, 7]

/** Three at a time. */
const read = async (after: number | null): Promise<Batch<number, number>> => {
  const from = after ?? 0
  return { rows: NUMBERS.slice(from, from + 3), next: from + 3 < NUMBERS.length ? from + 3 : null }
}

describe('a list in batches', () => {
  it('is read until there are enough rows', async () => {
    expect(await rowsUpTo(4, read)).toEqual({ rows: [1, 2, 3, 4, 5, 6], hasMore: true })
  })

  it('ends where there are no more', async () => {
    expect(await rowsUpTo(100, read)).toEqual({ rows: NUMBERS, hasMore: false })
  })
})

describe('readable rows', () => {
  it('are those without the error of a row that cannot be shown', () => {
    const rows = [
      { id: 'a', state: 'open' },
      { id: 'b', error: { code: 'unreadable', message: '' } },
    ]
    expect(readable<{ id: string; state: string }>(rows as never, 'state')).toEqual([{ id: 'a', state: 'open' }])
  })
})
