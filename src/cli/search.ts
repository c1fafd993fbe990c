/** Queries on the command line: pages one after another, and how the result ends. */
import { MAX_SEARCHED } from '../kernel/limits.ts'
import type { CountedState, Found } from '../model/search/queries.ts'
import { CliError } from './terminal/failure.ts'
import type { Terminal } from './terminal/terminal.ts'
import { paintState } from './terminal/words.ts'

/** A command checks this many rows at most, and then says where to continue. */
const MOST_PAGES = 100

interface Page {
  readonly limit: number
  readonly before: string | null
}

/** Reads pages until there are enough rows, nothing is left, or MOST_PAGES are checked. */
export async function pagesOf<Row>(
  { limit, before = null }: { readonly limit: number; readonly before?: string | null },
  read: (page: Page) => Promise<Found<Row>>,
): Promise<{ readonly rows: readonly Row[]; readonly next: string | null }> {
  const rows: Row[] = []
  let next: string | null = before
  for (let pages = 0; pages < MOST_PAGES; pages++) {
    const found: Found<Row> = await read({ limit: limit - rows.length, before: next })
    rows.push(...found.rows)
    next = found.next
    if (next === null || rows.length >= limit) break
  }
  return { rows, next }
}

interface End {
  readonly what: string
  readonly found: number
  readonly limit: number
  readonly next: string | null
}

/** Whether there may be more, and how to see them. */
export function printEnd(terminal: Terminal, { what, found, limit, next }: End): void {
  if (next === null) {
    if (found === 0) terminal.print(`no ${what}`)
    return
  }
  const searched = (MOST_PAGES * MAX_SEARCHED).toLocaleString('en-US')
  const all = found === limit ? 'older ones' : `${found} ${what} among the ${searched} checked; older ones`
  terminal.print(terminal.paint('dim', `${all}: --before ${next}`))
}

export function printCounts(terminal: Terminal, counts: readonly CountedState[], what: string): void {
  if (counts.length === 0) return terminal.print(`no ${what}`)
  terminal.table(
    [{ title: 'STATE' }, { title: 'COUNT', align: 'right' }],
    counts.map(({ state, count, more }) => [
      paintState(terminal, state),
      `${count.toLocaleString('en-US')}${more ? '+' : ''}`,
    ]),
  )
}

/** Options that filter are not combined with a query: it has filters of its own. */
export function refuseFilters<O extends object>(options: O, names: readonly (keyof O & string)[]): void {
  const given = names.find((name) => options[name] !== undefined)
  if (given === undefined) return
  throw new CliError('invalid_request', `--${given} cannot be combined with a query`, 'write the filter into the query')
}
