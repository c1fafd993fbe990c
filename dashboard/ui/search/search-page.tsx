/** What the lists of instances and of runs have in common: the query in the address, its counts, and what follows. */
import { type Signal, useComputed, useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useRef } from 'preact/hooks'
import type { Fields } from '../../../src/model/search/fields.ts'
import type { Changes } from '../../api/changes.ts'
import { type Live, useLive } from '../../api/live.ts'
import { type Page, type PagedList, useLastList, usePaged } from '../../api/paged.ts'
import { go, href, param, setQuery } from '../../browser/router.ts'
import { type Action, ActionButton, usePageActions } from '../actions.tsx'
import { OrderDialog } from '../bulk/order-dialog.tsx'
import { ROW_HEIGHT, Rows } from '../rows.tsx'
import { SearchBox } from './box.tsx'
import { type ChosenColumns, ColumnChooser } from './columns.tsx'
import { type Counted, StateCounts } from './counts.tsx'
import { FreshChip, ListFoot } from './foot.tsx'
import { without } from './query.ts'

export interface Search<Row> {
  readonly query: string
  readonly search: (query: string) => void
  readonly list: PagedList<Row>
  readonly page: Page<Row> | null
  /** The rows are those of the query before. */
  readonly stale: boolean
  readonly held: Signal<boolean>
  readonly away: Signal<boolean>
  readonly counts: readonly Counted[]
}

export interface SearchSource<Row> {
  readonly of: 'instances' | 'runs'
  /** `state` or `status`. */
  readonly stateField: string
  readonly idOf: (row: Row) => string
  readonly load: (query: string, before: string | null, signal: AbortSignal) => Promise<Page<Row>>
  readonly count: (query: string, signal: AbortSignal) => Promise<readonly Counted[]>
  /** Whether a change may be about these rows. */
  readonly concerns: (changes: Changes) => boolean
}

const COUNT_AT_MOST_EVERY_MS = 3_000

/** The query is kept in the address as `?q=`. */
export function useSearch<Row>({ of, stateField, idOf, load, count, concerns }: SearchSource<Row>): Search<Row> {
  const query = param('q').trim()
  const held = useSignal(false)
  const away = useSignal(false)
  const hold = useComputed(() => held.value || away.value)
  const list = usePaged(`${of} ${query}`, {
    idOf,
    hold,
    concerns,
    load: (before, signal) => load(query, before, signal),
  })
  const { page, stale } = useLastList(list)
  const others = without(query, [stateField])
  const counts = useLive(`counts of ${of} ${others}`, (signal) => count(others, signal), {
    concerns,
    atMostEveryMs: COUNT_AT_MOST_EVERY_MS,
  })
  return {
    query,
    search: (text) => setQuery({ q: text.trim() }),
    list,
    page,
    stale,
    held,
    away,
    counts: useLastData(counts) ?? [],
  }
}

/** Of this key, or of the one before until this one has been read. */
function useLastData<T>({ data }: Live<T>): T | null {
  const last = useRef<T | null>(null)
  const { value } = data
  if (value !== null) last.current = value
  return last.current
}

export interface SearchPageProps<Row> {
  readonly title: string
  readonly links: ComponentChildren
  readonly source: SearchSource<Row>
  readonly fields: Fields
  readonly search: Search<Row>
  readonly columns: ChosenColumns<Row>
  readonly changeColumns: (keys: readonly string[] | null) => void
  readonly hrefOf: (row: Row) => string
  /** Between the counts and the list. */
  readonly picture?: ComponentChildren
  readonly switches?: ComponentChildren
  readonly empty: ComponentChildren
}

/** What is above the list, in pixels, so that list and head fit into the window. */
const HEAD = 300
const PICTURE = 180

export function SearchPage<Row>(props: SearchPageProps<Row>) {
  const { title, links, source, fields, search, columns, changeColumns, hrefOf, picture, switches, empty } = props
  const { query, list, page, stale, held, away, counts } = search
  const { action, dialog } = useOrder(source.of, query, list.error.value !== null)
  const count = page?.rows.length ?? 0
  const head = HEAD + (picture == null ? 0 : PICTURE)
  const height = `min(${count * ROW_HEIGHT + 2}px, max(22rem, calc(100vh - ${head}px)))`
  return (
    <div class="search-page">
      <div class="row page-head">
        <h1>{title}</h1>
        <span class="grow row">{links}</span>
        <ActionButton action={action} />
      </div>
      <SearchBox fields={fields} query={query} error={list.error.value} onSearch={search.search} />
      <StateCounts field={source.stateField} query={query} counts={counts} onSearch={search.search} />
      {picture}
      <div class="row list-tools">
        <FreshChip list={list} what={source.of} />
        <span class="grow" />
        {switches}
        <ColumnChooser columns={columns} change={changeColumns} />
      </div>
      {page === null ? (
        <p class="dim">{list.error.value === null ? 'Loading …' : ''}</p>
      ) : (
        <div class={stale ? 'stale' : ''} aria-busy={stale}>
          <Rows
            label={title}
            rows={page.rows}
            columns={columns.shown}
            keyOf={source.idOf}
            hrefOf={hrefOf}
            held={held}
            away={away}
            onEnd={() => list.end()}
            onVisible={(first) => list.visible(first)}
            empty={stale ? <p class="dim">Searching …</p> : empty}
            height={height}
          />
          <ListFoot list={list} page={page} what={source.of} />
        </div>
      )}
      {dialog}
    </div>
  )
}

/** The action on everything that the query finds. */
function useOrder(target: 'instances' | 'runs', query: string, isWrong: boolean) {
  const open = useSignal(false)
  const action: Action = {
    id: 'act-on-all',
    label: 'Act on all matches …',
    hint: 'Cancel, retry, pause or delete everything that this query finds, at a rate',
    scope: 'admin',
    unavailable: isWrong ? 'the query cannot be answered' : null,
    key: 'b',
    command: `petrel bulk retry 'QUERY'${target === 'runs' ? ' --runs' : ''} --dry-run`,
    request: { method: 'POST', path: '/v1/operations', body: { action: 'cancel', target, q: query, dry_run: true } },
    run: () => {
      open.value = true
      return undefined
    },
  }
  usePageActions([action], [target, query, isWrong])
  const dialog = open.value ? (
    <OrderDialog
      target={target}
      query={query}
      onClose={() => {
        open.value = false
      }}
      onOrdered={({ id }) => go(href(`/operations/${id}`))}
    />
  ) : null
  return { action, dialog }
}
