/** Pages of a list that is sorted by id, the newest first, and how a page that was read again is fitted in. */

export interface Page<Row> {
  readonly rows: readonly Row[]
  /** Everything up to this id has been read; older rows follow. null: there are none. */
  readonly next: string | null
  /** false: the page ends early, although older rows may match. */
  readonly complete: boolean
}

type IdOf<Row> = (row: Row) => string

/** The list with its first page as it is now: what is older than that page stays. */
export function withHead<Row>(list: Page<Row>, head: Page<Row>, idOf: IdOf<Row>): Page<Row> {
  const newest = list.rows[0]
  const { next } = head
  if (next === null || newest === undefined) return head
  // Between the page and the list may be rows that were never read; or the page reaches further than the list.
  if (next > idOf(newest) || (list.next !== null && list.next > next)) return head
  const older = list.rows.filter((row) => idOf(row) < next)
  return { rows: [...head.rows, ...older], next: list.next, complete: list.complete }
}

/** The list with the contents of the page, without a row added, removed or moved. */
export function inPlace<Row>(list: Page<Row>, head: Page<Row>, idOf: IdOf<Row>): Page<Row> {
  const current = new Map(head.rows.map((row) => [idOf(row), row]))
  return { ...list, rows: list.rows.map((row) => current.get(idOf(row)) ?? row) }
}

/** How many rows of the page the list does not have. */
export function newIn<Row>(list: Page<Row>, head: Page<Row>, idOf: IdOf<Row>): number {
  const known = new Set(list.rows.map(idOf))
  return head.rows.filter((row) => !known.has(idOf(row))).length
}

export function followedBy<Row>(list: Page<Row>, page: Page<Row>): Page<Row> {
  return { ...page, rows: [...list.rows, ...page.rows] }
}
