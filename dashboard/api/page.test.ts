import { describe, expect, it } from 'vitest'
import { followedBy, inPlace, newIn, type Page, withHead } from './page.ts'

interface Row {
  readonly id: string
  readonly state: string
}

const idOf = ({ id }: Row): string => id
const rows = (...ids: readonly string[]): readonly Row[] => ids.map((id) => ({ id, state: 'running' }))
const page = (ids: readonly string[], next: string | null, complete = true): Page<Row> => ({
  rows: rows(...ids),
  next,
  complete,
})
const idsOf = (list: Page<Row>): readonly string[] => list.rows.map(idOf)

describe('the first page, read again', () => {
  it('puts new rows on top and keeps the older pages', () => {
    const list = followedBy(page(['f', 'e'], 'e'), page(['d', 'c'], 'c'))
    const next = withHead(list, page(['g', 'f'], 'f'), idOf)
    expect(idsOf(next)).toEqual(['g', 'f', 'e', 'd', 'c'])
    expect(next.next).toBe('c')
  })

  it('removes rows of its own range that no longer match', () => {
    const list = followedBy(page(['f', 'e'], 'e'), page(['d'], null))
    expect(idsOf(withHead(list, page(['f', 'd'], 'd'), idOf))).toEqual(['f', 'd'])
  })

  it('begins the list again if rows between the two were never read', () => {
    const list = page(['c', 'b'], 'b')
    expect(withHead(list, page(['z', 'y'], 'y'), idOf)).toEqual(page(['z', 'y'], 'y'))
  })

  it('begins the list again if it reaches further, as after rows have disappeared', () => {
    const list = page(['f', 'e'], 'e')
    expect(withHead(list, page(['f', 'a'], 'a'), idOf)).toEqual(page(['f', 'a'], 'a'))
  })

  it('is the whole list where nothing follows it', () => {
    expect(withHead(page(['b', 'a'], 'a'), page(['b'], null), idOf)).toEqual(page(['b'], null))
  })

  it('of a list without rows is the list', () => {
    expect(withHead(page([], 'q', false), page(['b'], 'a'), idOf)).toEqual(page(['b'], 'a'))
  })
})

it('in place, states change and no row moves', () => {
  const list = page(['c', 'b', 'a'], null)
  const head = {
    rows: [
      { id: 'd', state: 'running' },
      { id: 'b', state: 'failed' },
    ],
    next: 'b',
    complete: true,
  }
  const changed = inPlace(list, head, idOf)
  expect(idsOf(changed)).toEqual(['c', 'b', 'a'])
  expect(changed.rows[1]?.state).toBe('failed')
  expect(newIn(list, head, idOf)).toBe(1)
})
