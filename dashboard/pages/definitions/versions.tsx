/** The versions of a definition, and how their newest instances went. */
import { useLive } from '../../api/live.ts'
import { href } from '../../browser/router.ts'
import { Moment, span } from '../../ui/moments.tsx'
import { Problem } from '../../ui/problem.tsx'
import { type Column, Rows } from '../../ui/rows.tsx'
import { State } from '../../ui/state.tsx'
import type { Rate } from './rates.ts'
import { MOST_INSTANCES, nameQuery, readRates, type Version } from './read.ts'

interface Row extends Version {
  readonly rate: Rate | null
}

export function Versions(props: {
  readonly name: string
  readonly versions: readonly Version[]
  readonly hasOlder: boolean
}) {
  const { name, versions, hasOlder } = props
  const { data, error } = useLive(`rates ${name}`, (signal) => readRates(name, signal), {
    atMostEveryMs: 5_000,
    concerns: ({ instances, more }) => more || instances.size > 0,
  })
  const rows = versions.map((version): Row => ({ ...version, rate: data.value?.rates.get(version.net) ?? null }))
  return (
    <div class="stack">
      <Counts name={name} counts={data.value?.counts ?? []} />
      {error.value !== null && <Problem error={error.value} />}
      <Rows
        label={`Versions of ${name}`}
        rows={rows}
        columns={COLUMNS}
        keyOf={({ id }) => id}
        hrefOf={({ version }) => href(`/definitions/${encodeURIComponent(name)}`, { tab: 'source', version })}
      />
      <p class="dim">
        Success and duration are those of the newest {data.value?.sample ?? MOST_INSTANCES} instances of this name, of
        at most {MOST_INSTANCES}; versions that compile to the same net share them.
        {hasOlder && ` Only the newest ${versions.length} versions are listed.`}
      </p>
    </div>
  )
}

function Counts(props: {
  readonly name: string
  readonly counts: readonly { readonly state: string; readonly count: number; readonly more: boolean }[]
}) {
  const { name, counts } = props
  if (counts.length === 0) return <p class="dim">No instance of it exists.</p>
  return (
    <ul class="state-counts">
      {counts.map(({ state, count, more }) => (
        <li key={state}>
          <a href={href('/instances', { q: `${nameQuery(name)} state:${state}` })}>
            <State state={state} /> {count}
            {more && '+'}
          </a>
        </li>
      ))}
    </ul>
  )
}

const COLUMNS: readonly Column<Row>[] = [
  {
    key: 'version',
    title: 'Version',
    width: 'minmax(5rem, 1fr)',
    cell: ({ version, latest }) => (
      <>
        <bdi title={version}>{version}</bdi> {latest && <span class="dim">latest</span>}
      </>
    ),
  },
  {
    key: 'deployed',
    title: 'Deployed',
    width: 'minmax(6rem, 1fr)',
    cell: ({ created_at: at, created_by: by }) => (
      <>
        <Moment at={at} />
        {by !== null && (
          <>
            {' '}
            by <bdi>{by}</bdi>
          </>
        )}
      </>
    ),
  },
  {
    key: 'used',
    title: 'First start',
    width: '7rem',
    optional: true,
    cell: ({ used_at: at, retired_at: retired }) =>
      retired === null ? <Moment at={at} /> : <State state="idle" label="retired" />,
  },
  {
    key: 'success',
    title: 'Success',
    width: '8rem',
    numeric: true,
    cell: ({ rate }) =>
      rate === null || rate.ended === 0 ? (
        <span class="dim">–</span>
      ) : (
        `${Math.round((rate.completed / rate.ended) * 1000) / 10} % of ${rate.ended}`
      ),
  },
  {
    key: 'p50',
    title: 'Duration p50',
    width: '7rem',
    numeric: true,
    optional: true,
    cell: ({ rate }) => (rate?.p50Ms == null ? <span class="dim">–</span> : span(rate.p50Ms)),
  },
  {
    key: 'p95',
    title: 'p95',
    width: '6rem',
    numeric: true,
    optional: true,
    cell: ({ rate }) => (rate?.p95Ms == null ? <span class="dim">–</span> : span(rate.p95Ms)),
  },
]
