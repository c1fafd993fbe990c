/** Instances, found by a query, with all that can be done to what it finds. */
import { useSignal } from '@preact/signals'
import { useMemo } from 'preact/hooks'
import { INSTANCE_FIELDS } from '../../../src/model/search/fields.ts'
import { api } from '../../api/client.ts'
import { href } from '../../browser/router.ts'
import { quoted } from '../../ui/actions.tsx'
import { Empty } from '../../ui/empty.tsx'
import { useColumns } from '../../ui/search/columns.tsx'
import { acceptedBy, accepting, joined, without } from '../../ui/search/query.ts'
import { SearchPage, type SearchSource, useSearch } from '../../ui/search/search-page.tsx'
import { COLUMNS, instanceOf, type ListedInstance, USUAL } from './columns.tsx'
import type { Dot } from './dots.ts'
import { Plot } from './plot.tsx'

const PAGE = 200
/** The newest of the list; more would be a stain. */
const MOST_DOTS = 5_000
const PLOT_KEY = 'petrel.plot'

const SOURCE: SearchSource<ListedInstance> = {
  of: 'instances',
  stateField: 'state',
  idOf: ({ id }) => String(id),
  concerns: ({ instances, more }) => more || instances.size > 0,
  load: async (q, before, signal) => {
    const query = { q, limit: PAGE, ...(before === null ? {} : { before }) }
    const { instances, next_before: next, complete } = await api('GET /v1/instances', { query, signal })
    return { rows: instances, next, complete: complete ?? true }
  },
  count: async (q, signal) => (await api('GET /v1/instances/counts', { query: { q }, signal })).counts,
}

export default function Instances() {
  const search = useSearch(SOURCE)
  const { query, page } = search
  const columns = useColumns('instances', COLUMNS, USUAL)
  const plot = useSignal(localStorage.getItem(PLOT_KEY) !== 'off')
  const rows = page?.rows
  const dots = useMemo(() => dotsOf(rows ?? []), [rows])
  const isNarrowed = query !== without(query, ['age', 'took'])
  return (
    <SearchPage
      title="Instances"
      links={<Links />}
      source={SOURCE}
      fields={INSTANCE_FIELDS}
      search={search}
      columns={columns}
      changeColumns={columns.change}
      hrefOf={({ id }) => href(`/instances/${id}`)}
      picture={
        plot.value && dots.length > 0 ? (
          <Plot dots={dots} onFilter={(filters) => search.search(joined(without(query, ['age', 'took']), filters))} />
        ) : null
      }
      switches={
        <>
          {isNarrowed && (
            <button type="button" class="small" onClick={() => search.search(without(query, ['age', 'took']))}>
              All times and durations
            </button>
          )}
          <Switch
            label="Nested ones too"
            on={acceptedBy(query, 'nested').includes('any')}
            change={(on) => search.search(accepting(query, 'nested', on ? ['any'] : []))}
          />
          <Switch
            label="Picture"
            on={plot.value}
            change={(on) => {
              plot.value = on
              localStorage.setItem(PLOT_KEY, on ? 'on' : 'off')
            }}
          />
        </>
      }
      empty={
        query === '' ? (
          <Empty what="No instance has been started." command="petrel start NAME --input '{}'" />
        ) : (
          <Empty what="Nothing is found." command={`petrel ls ${quoted(query)}`} />
        )
      }
    />
  )
}

function Links() {
  return (
    <>
      <a href={href('/runs')}>Runs</a>
      <a href={href('/operations')}>Bulk operations</a>
    </>
  )
}

function Switch(props: { readonly label: string; readonly on: boolean; readonly change: (on: boolean) => void }) {
  const { label, on, change } = props
  return (
    <label class="inline">
      <input type="checkbox" checked={on} onChange={(event) => change(event.currentTarget.checked)} />
      {label}
    </label>
  )
}

function dotsOf(rows: readonly ListedInstance[]): readonly Dot[] {
  const now = Date.now()
  return rows.slice(0, MOST_DOTS).flatMap((row): readonly Dot[] => {
    const instance = instanceOf(row)
    if (instance === null) return []
    const { id, name, state, created_at: created, ended_at: ended } = instance
    const at = Date.parse(created)
    return [{ id, name, state, at, tookMs: Math.max(0, (ended === null ? now : Date.parse(ended)) - at) }]
  })
}
