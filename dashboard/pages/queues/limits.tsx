/** Limits by key: those that are reached first, since runs wait behind them. */
import { Term } from '../../ui/explain.tsx'
import { Moment } from '../../ui/moments.tsx'
import { Problem } from '../../ui/problem.tsx'
import { Rows } from '../../ui/rows.tsx'
import { State } from '../../ui/state.tsx'
import type { Limit } from './queues.tsx'

export function Limits({ limits, error }: { readonly limits: readonly Limit[] | null; readonly error: Error | null }) {
  const rows = [...(limits ?? [])].sort((a, b) => Number(reached(b)) - Number(reached(a)) || (a.key < b.key ? -1 : 1))
  return (
    <section>
      <h2>
        <Term name="limit" label="Limits" />
      </h2>
      {error !== null && <Problem error={error} />}
      {limits !== null && rows.length === 0 && <p class="dim">No limit is set, and no run names one.</p>}
      {rows.length > 0 && (
        <Rows
          label="Limits"
          rows={rows}
          keyOf={({ key }) => key}
          height={`min(${rows.length * 34 + 2}px, 24rem)`}
          columns={[
            {
              key: 'state',
              title: 'State',
              width: '7rem',
              cell: (limit) =>
                reached(limit) ? <State state="waiting" label="reached" /> : <State state="active" label="room" />,
            },
            { key: 'key', title: 'Key', width: 'minmax(6rem, 2fr)', cell: ({ key }) => <bdi title={key}>{key}</bdi> },
            {
              key: 'active',
              title: 'Active',
              width: '8rem',
              numeric: true,
              cell: ({ active, concurrency }) => (concurrency === undefined ? active : `${active} of ${concurrency}`),
            },
            {
              key: 'rate',
              title: 'Starts',
              width: 'minmax(7rem, 1fr)',
              numeric: true,
              cell: ({ used, limit, period }) => (limit === undefined ? '–' : `${used} of ${limit} in ${period}`),
            },
            {
              key: 'reset',
              title: 'Next period',
              width: '7rem',
              optional: true,
              cell: ({ resets_at: at }) => <Moment at={at} />,
            },
          ]}
        />
      )}
    </section>
  )
}

function reached({ active, concurrency, limit, remaining }: Limit): boolean {
  return (concurrency !== undefined && active >= concurrency) || (limit !== undefined && remaining === 0)
}
