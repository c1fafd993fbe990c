/** What people have done, by whom: across instances, runs, gates, definitions, queues and bulk operations. */
import { useSignal } from '@preact/signals'
import type { Answer } from '../../api/answer.ts'
import { api } from '../../api/client.ts'
import { useGrowing } from '../../api/growing.ts'
import { href, param, setQuery } from '../../browser/router.ts'
import { Empty } from '../../ui/empty.tsx'
import { Moment } from '../../ui/moments.tsx'
import { Problem } from '../../ui/problem.tsx'
import { type Column, Rows } from '../../ui/rows.tsx'

type Entry = Answer<'GET /v1/audit'>['entries'][number]

const PAGE = 100

const COLUMNS: readonly Column<Entry>[] = [
  { key: 'at', title: 'When', width: '8rem', cell: ({ at }) => <Moment at={at} /> },
  {
    key: 'actor',
    title: 'Who',
    width: 'minmax(6rem, 1fr)',
    cell: ({ actor }) => (
      <button type="button" class="plain small" title="Only what this one has done" onClick={() => setQuery({ actor })}>
        <bdi>{actor}</bdi>
      </button>
    ),
  },
  { key: 'type', title: 'What', width: 'minmax(8rem, 1.5fr)', cell: ({ type }) => <span title={type}>{type}</span> },
  { key: 'subject', title: 'To what', width: 'minmax(6rem, 1.5fr)', cell: (entry) => <Subject entry={entry} /> },
  {
    key: 'data',
    title: 'Data',
    width: 'minmax(6rem, 2fr)',
    optional: true,
    cell: ({ data }) => {
      const text = data === null ? '' : JSON.stringify(data)
      return <code title={text}>{text}</code>
    },
  },
]

export function Audit() {
  const actor = param('actor')
  const held = useSignal(false)
  const { live, more } = useGrowing<Entry, number>(
    `audit ${actor}`,
    async (before, signal) => {
      const query = { limit: PAGE, ...(actor === '' ? {} : { actor }), ...(before === null ? {} : { before }) }
      const { entries, next_before: next } = await api('GET /v1/audit', { query, signal })
      return { rows: entries, next }
    },
    { hold: held, atMostEveryMs: 3_000 },
  )
  if (live.error.value !== null) return <Problem error={live.error.value} />
  return (
    <>
      <div class="row filters">
        <input
          type="search"
          class="narrow"
          data-search
          aria-label="Who, as it was recorded"
          placeholder="Who, as it was recorded"
          value={actor}
          onChange={(event) => setQuery({ actor: event.currentTarget.value })}
        />
      </div>
      {live.data.value === null ? (
        <p class="dim">Loading …</p>
      ) : (
        <Rows
          label="What people have done"
          rows={live.data.value.rows}
          columns={COLUMNS}
          keyOf={({ id }) => String(id)}
          held={held}
          onEnd={more}
          empty={<Empty what="Nothing that a person did is recorded." command="petrel audit" />}
        />
      )}
    </>
  )
}

function Subject({ entry: { instance_id: instance, run_id: run, node } }: { readonly entry: Entry }) {
  if (instance !== null) {
    return <a href={href(`/instances/${instance}`, { step: node })}>instance {node !== null && <bdi>{node}</bdi>}</a>
  }
  return run === null ? <span class="dim">–</span> : <a href={href(`/runs/${run}`)}>run</a>
}
