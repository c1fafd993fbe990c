/** What follows a list that is read page by page, and the new rows that wait above it. */

import type { Page } from '../../api/page.ts'
import type { PagedList } from '../../api/paged.ts'
import { Problem } from '../problem.tsx'

export function FreshChip<Row>({ list, what }: { readonly list: PagedList<Row>; readonly what: string }) {
  const count = list.fresh.value
  return (
    <span class="fresh" aria-live="polite">
      {count > 0 && (
        <button type="button" class="small primary" onClick={() => list.show()}>
          ↑ {count.toLocaleString('en')} new {counted(count, what)}
        </button>
      )}
    </span>
  )
}

export function ListFoot<Row>({
  list,
  page,
  what,
}: {
  readonly list: PagedList<Row>
  readonly page: Page<Row>
  readonly what: string
}) {
  const { rows, next, complete } = page
  if (list.failure.value !== null) {
    return (
      <div class="foot">
        <Problem error={list.failure.value} />
        <button type="button" class="small" onClick={() => void list.more()}>
          Try again
        </button>
      </div>
    )
  }
  if (rows.length === 0 && next === null) return null
  const words = `${rows.length.toLocaleString('en')} ${counted(rows.length, what)}`
  return (
    <p class="foot dim" aria-live="polite">
      {next === null ? `${words}: all that are found.` : `The newest ${words}.`}{' '}
      {!complete && (
        <>
          {list.busy.value
            ? 'The search checks 10,000 rows at a time, and continues …'
            : 'The search has checked part of the rows; older ones may match.'}{' '}
        </>
      )}
      {complete && list.busy.value && 'Older ones are being read …'}
      {next !== null && !list.busy.value && (
        <button type="button" class="small" onClick={() => void list.more()}>
          {complete ? 'Read older ones' : 'Search on'}
        </button>
      )}
    </p>
  )
}

/** `what`: the plural. */
function counted(count: number, what: string): string {
  return count === 1 ? what.replace(/s$/, '') : what
}
