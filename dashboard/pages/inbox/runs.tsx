/** The runs of the inbox, by status, type, queue and key. */
import { type Signal, useSignal } from '@preact/signals'
import { useMemo } from 'preact/hooks'
import type { Answer } from '../../api/answer.ts'
import { readable } from '../../api/batches.ts'
import { api } from '../../api/client.ts'
import { useGrowing } from '../../api/growing.ts'
import { session } from '../../api/session.ts'
import { href, param, place, setQuery } from '../../browser/router.ts'
import { type Action, ActionButton, usePageActions } from '../../ui/actions.tsx'
import { Empty } from '../../ui/empty.tsx'
import { Moment } from '../../ui/moments.tsx'
import { Problem } from '../../ui/problem.tsx'
import { type Column, Rows } from '../../ui/rows.tsx'
import { State } from '../../ui/state.tsx'
import { RunDialog } from './run-dialog.tsx'
import { SubmitDialog } from './submit-dialog.tsx'

export type InboxRun = Answer<'GET /v1/runs/:id'>['run']

const STATUSES = ['pending', 'leased', 'succeeded', 'failed', 'cancelled'] as const
const FILTERS = ['status', 'type', 'queue', 'key', 'deleted'] as const

export function InboxRuns() {
  const held = useSignal(false)
  const isSubmitting = useSignal(false)
  const { live, more, isFiltered } = useRuns(held)
  const opened = param('run')
  const submit: Action = {
    id: 'submit',
    label: 'Submit …',
    hint: 'a run',
    scope: 'enqueue',
    key: 'n',
    command: "petrel submit billing.invoice.v1 '{}'",
    request: { method: 'POST', path: '/v1/runs', body: { type: 'billing.invoice.v1', payload: {} } },
    run: () => {
      isSubmitting.value = true
      return undefined
    },
  }
  const actions = useMemo(() => [submit], [session.value])
  usePageActions(actions, [actions])
  return (
    <>
      <Filters submit={submit} />
      {live.error.value !== null && <Problem error={live.error.value} />}
      {live.data.value === null && live.error.value === null && <p class="dim">Loading …</p>}
      {live.data.value !== null && (
        <Rows
          label="Runs of the inbox"
          rows={live.data.value.rows}
          columns={COLUMNS}
          keyOf={({ id }) => id}
          hrefOf={({ id }) => href('/inbox', { ...Object.fromEntries(place.value.query), run: id })}
          held={held}
          onEnd={more}
          empty={
            isFiltered ? (
              <p>No run of the inbox matches.</p>
            ) : (
              <Empty what="The inbox is empty." command="petrel submit billing.invoice.v1 '{&quot;order&quot;: 7}'" />
            )
          }
        />
      )}
      {opened !== '' && (
        <RunDialog id={opened} onClose={() => setQuery({ run: null })} onDone={() => void live.refresh()} />
      )}
      {isSubmitting.value && (
        <SubmitDialog
          onClose={() => {
            isSubmitting.value = false
          }}
          onDone={() => void live.refresh()}
        />
      )}
    </>
  )
}

function useRuns(held: Signal<boolean>) {
  const given = Object.fromEntries(FILTERS.map((name) => [name, param(name)])) as Record<
    (typeof FILTERS)[number],
    string
  >
  const { status, type, queue, key, deleted } = given
  const { live, more } = useGrowing<InboxRun, string>(
    JSON.stringify(given),
    async (before, signal) => {
      const query = {
        limit: 100,
        ...(status === '' ? {} : { status }),
        ...(type === '' ? {} : { type }),
        ...(queue === '' ? {} : { queue }),
        ...(key === '' ? {} : { idempotency_key: key }),
        ...(deleted === '' ? {} : { deleted }),
        ...(before === null ? {} : { before }),
      }
      const { runs, next_before: next } = await api('GET /v1/runs', { query, signal })
      return { rows: readable<InboxRun>(runs, 'status'), next }
    },
    { hold: held, concerns: ({ areas }) => areas.has('runs') },
  )
  return { live, more, isFiltered: Object.values(given).some((value) => value !== '') }
}

function Filters({ submit }: { readonly submit: Action }) {
  return (
    <div class="row filters">
      <label class="inline">
        Status
        <select value={param('status')} onChange={(event) => setQuery({ status: event.currentTarget.value })}>
          <option value="">all</option>
          {STATUSES.map((status) => (
            <option key={status} value={status}>
              {status}
            </option>
          ))}
        </select>
      </label>
      <Filter name="type" label="Type" placeholder="Type, or billing.%" isSearch />
      <Filter name="queue" label="Queue" placeholder="Queue" />
      <Filter name="key" label="Key" placeholder="Idempotency key" />
      <label class="inline">
        <input
          type="checkbox"
          checked={param('deleted') === 'true'}
          onChange={(event) => setQuery({ deleted: event.currentTarget.checked ? 'true' : null })}
        />
        deleted ones
      </label>
      <ActionButton action={submit} />
    </div>
  )
}

function Filter(props: {
  readonly name: string
  readonly label: string
  readonly placeholder: string
  readonly isSearch?: boolean
}) {
  const { name, label, placeholder, isSearch = false } = props
  return (
    <input
      type="search"
      class="short"
      {...(isSearch ? { 'data-search': true } : {})}
      aria-label={label}
      placeholder={placeholder}
      value={param(name)}
      onChange={(event) => setQuery({ [name]: event.currentTarget.value.trim() })}
    />
  )
}

const COLUMNS: readonly Column<InboxRun>[] = [
  {
    key: 'status',
    title: 'Status',
    width: '7rem',
    cell: ({ status, paused }) => <State state={paused && status === 'pending' ? 'paused' : status} />,
  },
  { key: 'type', title: 'Type', width: 'minmax(6rem, 2fr)', cell: ({ type }) => <bdi title={type}>{type}</bdi> },
  {
    key: 'queue',
    title: 'Queue',
    width: 'minmax(4rem, 1fr)',
    optional: true,
    cell: ({ queue }) => <bdi title={queue}>{queue}</bdi>,
  },
  {
    key: 'key',
    title: 'Key',
    width: 'minmax(4rem, 1.5fr)',
    optional: true,
    cell: ({ idempotency_key: key }) => (key === null ? <span class="dim">–</span> : <bdi title={key}>{key}</bdi>),
  },
  {
    key: 'attempt',
    title: 'Failures',
    width: '5rem',
    numeric: true,
    optional: true,
    cell: ({ attempt, max_attempts: most }) => <span title={`of at most ${most} executions`}>{attempt}</span>,
  },
  {
    key: 'error',
    title: 'Held by, or error',
    width: 'minmax(6rem, 2fr)',
    optional: true,
    cell: ({ leased_by: worker, last_error: error }) => {
      const text = worker ?? error
      return text === null ? <span class="dim">–</span> : <bdi title={text}>{text}</bdi>
    },
  },
  { key: 'created', title: 'Inserted', width: '6rem', cell: ({ created_at: at }) => <Moment at={at} /> },
]
