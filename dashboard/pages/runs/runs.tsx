/** Runs of any origin, found by a query: steps, jobs, the inbox, dead letters. */
import { RUN_FIELDS } from '../../../src/model/search/fields.ts'
import { api } from '../../api/client.ts'
import { href } from '../../browser/router.ts'
import { quoted } from '../../ui/actions.tsx'
import { Empty } from '../../ui/empty.tsx'
import { Term } from '../../ui/explain.tsx'
import { useColumns } from '../../ui/search/columns.tsx'
import { SearchPage, type SearchSource, useSearch } from '../../ui/search/search-page.tsx'
import { COLUMNS, type ListedRun, USUAL } from './columns.tsx'

const PAGE = 200

const SOURCE: SearchSource<ListedRun> = {
  of: 'runs',
  stateField: 'status',
  idOf: ({ id }) => String(id),
  concerns: ({ areas, more }) => more || areas.has('runs'),
  load: async (q, before, signal) => {
    const query = { q, limit: PAGE, ...(before === null ? {} : { before }) }
    const { runs, next_before: next, complete } = await api('GET /v1/runs', { query, signal })
    return { rows: runs, next, complete: complete ?? true }
  },
  count: async (q, signal) => (await api('GET /v1/runs/counts', { query: { q }, signal })).counts,
}

export default function Runs() {
  const search = useSearch(SOURCE)
  const columns = useColumns('runs', COLUMNS, USUAL)
  const { query } = search
  return (
    <SearchPage
      title="Runs"
      links={
        <>
          <a href={href('/instances')}>Instances</a>
          <a href={href('/runs', { q: 'dead:true' })}>Dead letters</a> <Term name="dead letter" label="?" />
          <a href={href('/runs', { q: 'status:leased' })}>Held by workers</a>
        </>
      }
      source={SOURCE}
      fields={RUN_FIELDS}
      search={search}
      columns={columns}
      changeColumns={columns.change}
      hrefOf={({ id }) => href(`/runs/${id}`)}
      empty={
        query === '' ? (
          <Empty what="There are no runs." command="petrel submit mail.send.v1 '{}'" />
        ) : (
          <Empty what="Nothing is found." command={`petrel runs ${quoted(query)}`} />
        )
      }
    />
  )
}
