/** What starts by the clock: when it fires next, what it did last, run now, pause. */
import { useSignal } from '@preact/signals'
import { api } from '../../api/client.ts'
import { useLive } from '../../api/live.ts'
import { href } from '../../browser/router.ts'
import { Empty } from '../../ui/empty.tsx'
import { Moment } from '../../ui/moments.tsx'
import { Problem } from '../../ui/problem.tsx'
import { Rows } from '../../ui/rows.tsx'
import { State } from '../../ui/state.tsx'
import { ScheduleActions, type ScheduleRow } from './schedule-actions.tsx'
import { ScheduleDetail } from './schedule-detail.tsx'

const PAGE = 1000

export default function Schedules() {
  const held = useSignal(false)
  const chosen = useSignal<string | null>(null)
  const { data, error, refresh } = useLive('schedules', readAll, {
    concerns: ({ areas }) => areas.has('schedules'),
    everyMs: 30_000,
    hold: held,
  })
  if (error.value !== null) return <Problem error={error.value} />
  const rows = data.value
  if (rows === null) return <p class="dim">Loading …</p>
  const current = rows.find(({ id }) => id === chosen.value) ?? rows[0]
  return (
    <div class="stack">
      <h1>Schedules</h1>
      <Rows
        label="Schedules"
        rows={rows}
        held={held}
        keyOf={({ id }) => id}
        onSelect={({ id }) => {
          chosen.value = id
        }}
        empty={
          <Empty
            what="Nothing starts by the clock yet. A schedule is created by a definition with a trigger, by a client, or at a shell:"
            command="petrel schedules add report.daily.v1 '0 6 * * 1-5'"
          />
        }
        columns={[
          { key: 'state', title: 'State', width: '6.5rem', cell: (row) => <ScheduleState row={row} /> },
          {
            key: 'name',
            title: 'Name',
            width: 'minmax(7rem, 2fr)',
            cell: ({ name }) => <bdi title={name}>{name}</bdi>,
          },
          {
            key: 'when',
            title: 'When',
            width: 'minmax(7rem, 2fr)',
            cell: ({ in_words: words, schedule }) => <span title={schedule}>{words ?? schedule}</span>,
          },
          { key: 'zone', title: 'Zone', width: '8rem', optional: true, cell: ({ timezone }) => timezone },
          { key: 'kind', title: 'Kind', width: '5.5rem', optional: true, cell: ({ kind }) => kind },
          { key: 'next', title: 'Next', width: '7rem', cell: ({ next_run_at: at }) => <Moment at={at} /> },
          { key: 'last', title: 'Last', width: '7rem', optional: true, cell: (row) => <LastFire row={row} /> },
        ]}
      />
      {current !== undefined && (
        <section class="card" aria-label={`Schedule ${current.name}`}>
          <header class="row">
            <h2 class="grow">
              <bdi>{current.name}</bdi>
            </h2>
            <ScheduleActions row={current} onDone={refresh} />
          </header>
          <ScheduleDetail row={current} key={current.id} />
        </section>
      )}
    </div>
  )
}

async function readAll(signal: AbortSignal): Promise<readonly ScheduleRow[]> {
  const { schedules } = await api('GET /v1/schedules', { query: { limit: PAGE }, signal })
  return schedules.flatMap((row) => ('kind' in row ? [row] : []))
}

function ScheduleState({ row: { enabled, disabled_reason: reason } }: { readonly row: ScheduleRow }) {
  if (enabled) return <State state="active" />
  return reason === null ? <State state="paused" /> : <State state="failed" label="disabled" />
}

function LastFire({ row }: { readonly row: ScheduleRow }) {
  const { last_run_at: at, last_instance_id: instance, last_run_id: run } = row
  const to = instance !== null ? href(`/instances/${instance}`) : run !== null ? href(`/runs/${run}`) : null
  if (to === null) return <Moment at={at} />
  return (
    <a href={to}>
      <Moment at={at} />
    </a>
  )
}
