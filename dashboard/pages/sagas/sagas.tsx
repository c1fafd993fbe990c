/** All sagas, and the messages on NATS that were refused. */
import { useSignal } from '@preact/signals'
import type { Answer } from '../../api/answer.ts'
import { readable } from '../../api/batches.ts'
import { api } from '../../api/client.ts'
import { useGrowing } from '../../api/growing.ts'
import { href, param, setQuery } from '../../browser/router.ts'
import { usePageActions } from '../../ui/actions.tsx'
import { Empty } from '../../ui/empty.tsx'
import { Moment } from '../../ui/moments.tsx'
import { Problem } from '../../ui/problem.tsx'
import { type Column, Rows } from '../../ui/rows.tsx'
import { Tabs } from '../../ui/tabs.tsx'
import { RefusedMessages } from './refused.tsx'
import { SAGA_STATES, SagaState } from './saga-state.tsx'

export type Saga = Answer<'GET /v1/sagas/:id'>['saga']

export default function Sagas() {
  usePageActions([], [])
  return (
    <>
      <h1>Sagas</h1>
      <p class="dim">
        Workflows across services: each step is a command that one service carries out, and completed steps are undone
        when a later one fails.
      </p>
      <Tabs
        label="Sagas"
        tabs={[
          { id: 'sagas', title: 'Sagas', content: () => <List /> },
          { id: 'refused', title: 'Refused messages', content: () => <RefusedMessages /> },
        ]}
      />
    </>
  )
}

function List() {
  const held = useSignal(false)
  const state = SAGA_STATES.find((name) => name === param('state')) ?? null
  const type = param('type')
  const { live, more } = useGrowing<Saga, string>(
    `${state} ${type}`,
    async (before, signal) => {
      const query = {
        limit: 100,
        ...(state === null ? {} : { state }),
        ...(type === '' ? {} : { type }),
        ...(before === null ? {} : { before }),
      }
      const { sagas, next_before: next } = await api('GET /v1/sagas', { query, signal })
      return { rows: readable<Saga>(sagas, 'state'), next }
    },
    { hold: held, concerns: ({ instances, more: others }) => others || instances.size > 0 },
  )
  return (
    <>
      <div class="row filters">
        <label class="inline">
          State
          <select value={state ?? ''} onChange={(event) => setQuery({ state: event.currentTarget.value })}>
            <option value="">all</option>
            {SAGA_STATES.map((name) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
        </label>
        <input
          type="search"
          class="narrow"
          data-search
          aria-label="Name of the saga"
          placeholder="Name, exactly"
          value={type}
          onChange={(event) => setQuery({ type: event.currentTarget.value.trim() })}
        />
      </div>
      {live.error.value !== null && <Problem error={live.error.value} />}
      {live.data.value === null && live.error.value === null && <p class="dim">Loading …</p>}
      {live.data.value !== null && (
        <Rows
          label="Sagas"
          rows={live.data.value.rows}
          columns={COLUMNS}
          keyOf={({ id }) => id}
          hrefOf={({ id }) => href(`/sagas/${id}`)}
          held={held}
          onEnd={more}
          empty={
            state === null && type === '' ? (
              <Empty what="No saga has been started." command="petrel start provision --input '{}'" />
            ) : (
              <p>No saga matches.</p>
            )
          }
        />
      )}
    </>
  )
}

const COLUMNS: readonly Column<Saga>[] = [
  { key: 'state', title: 'State', width: '8rem', cell: ({ state }) => <SagaState state={state} /> },
  { key: 'type', title: 'Saga', width: 'minmax(5rem, 2fr)', cell: ({ type }) => <bdi title={type}>{type}</bdi> },
  {
    key: 'steps',
    title: 'Steps',
    width: '4.5rem',
    numeric: true,
    cell: ({ current_step_index: done, step_count: all }) => `${done} of ${all}`,
  },
  {
    key: 'error',
    title: 'Error',
    width: 'minmax(6rem, 3fr)',
    optional: true,
    cell: ({ error }) => (error === null ? <span class="dim">–</span> : <bdi title={error}>{error}</bdi>),
  },
  {
    key: 'by',
    title: 'Started by',
    width: 'minmax(5rem, 1fr)',
    optional: true,
    cell: ({ created_by: by }) => (by === null ? <span class="dim">–</span> : <bdi title={by}>{by}</bdi>),
  },
  { key: 'created', title: 'Started', width: '7rem', optional: true, cell: ({ created_at: at }) => <Moment at={at} /> },
  {
    key: 'last',
    title: 'Last event',
    width: '7rem',
    optional: true,
    cell: ({ last_event_at: at }) => <Moment at={at} />,
  },
]
