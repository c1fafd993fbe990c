/** Who executes work: how busy, since when, which build; and directing a worker to take no more or to stop. */
import { useSignal } from '@preact/signals'
import { api } from '../../api/client.ts'
import { useLive } from '../../api/live.ts'
import { href, param, setQuery } from '../../browser/router.ts'
import { Empty } from '../../ui/empty.tsx'
import { Moment } from '../../ui/moments.tsx'
import { Problem } from '../../ui/problem.tsx'
import { type Column, Rows } from '../../ui/rows.tsx'
import { State } from '../../ui/state.tsx'
import { WorkerActions } from './worker-actions.tsx'

const PAGE = 1000

export type Worker = Awaited<ReturnType<typeof readWorkers>>[number]

async function readWorkers(signal: AbortSignal) {
  const { workers } = await api('GET /v1/workers', { query: { limit: PAGE }, signal })
  return workers
}

export default function Workers() {
  const held = useSignal(false)
  const showsDead = param('dead') === 'true'
  const { data, error, refresh } = useLive('workers', readWorkers, {
    concerns: ({ areas }) => areas.has('workers'),
    everyMs: 5_000,
    hold: held,
  })
  if (data.value === null) return error.value === null ? <p class="dim">Loading …</p> : <Problem error={error.value} />
  const dead = data.value.filter(({ state }) => state === 'dead').length
  const rows = data.value.filter(({ state }) => showsDead || state !== 'dead')
  const chosen = rows.find(({ id }) => id === param('worker')) ?? rows[0]
  return (
    <div class="stack">
      <header class="row">
        <h1 class="grow">Workers</h1>
        {dead > 0 && (
          <label class="inline">
            <input
              type="checkbox"
              checked={showsDead}
              onChange={(event) => setQuery({ dead: event.currentTarget.checked ? 'true' : null })}
            />
            also the {dead} dead
          </label>
        )}
      </header>
      {error.value !== null && <Problem error={error.value} />}
      <Builds workers={rows} />
      <Missing />
      <Rows
        label="Workers"
        rows={rows}
        held={held}
        keyOf={({ id }) => id}
        onSelect={({ id }) => setQuery({ worker: id })}
        columns={COLUMNS}
        empty={
          <Empty
            what="No worker is alive. A program starts one with petrel.work(), and a process with:"
            command="petrel worker --handlers handlers.mjs"
          />
        }
      />
      {chosen !== undefined && <WorkerDetail key={chosen.id} worker={chosen} onDone={refresh} />}
    </div>
  )
}

const COLUMNS: readonly Column<Worker>[] = [
  { key: 'state', title: 'State', width: '7.5rem', cell: ({ state }) => <WorkerState state={state} /> },
  { key: 'name', title: 'Name', width: 'minmax(6rem, 2fr)', cell: ({ name }) => <bdi title={name}>{name}</bdi> },
  {
    key: 'build',
    title: 'Build',
    width: 'minmax(5rem, 1fr)',
    optional: true,
    cell: ({ build }) => (build === null ? '–' : <bdi title={build}>{build}</bdi>),
  },
  {
    key: 'host',
    title: 'Host',
    width: 'minmax(6rem, 1fr)',
    optional: true,
    cell: ({ host, pid }) => <bdi title={`process ${pid}`}>{host}</bdi>,
  },
  {
    key: 'slots',
    title: 'Busy',
    width: '5.5rem',
    numeric: true,
    cell: ({ active, concurrency }) => `${active ?? '?'} of ${concurrency}`,
  },
  {
    key: 'beat',
    title: 'Heartbeat',
    width: '6.5rem',
    optional: true,
    cell: ({ heartbeat_at: at }) => <Moment at={at} />,
  },
  { key: 'since', title: 'Since', width: '7rem', optional: true, cell: ({ started_at: at }) => <Moment at={at} /> },
]

const SHOWN = {
  running: { as: 'running', label: 'working' },
  quiet: { as: 'paused', label: 'quiet' },
  terminate: { as: 'cancelling', label: 'stopping' },
  dead: { as: 'failed', label: 'dead' },
} as const

function WorkerState({ state }: { readonly state: Worker['state'] }) {
  const { as, label } = SHOWN[state]
  return <State state={as} label={label} />
}

/** Types with due runs that no live worker takes. */
function Missing() {
  const { data } = useLive('missing workers', (signal) => api('GET /v1/workers/missing', { signal }), {
    everyMs: 10_000,
  })
  const missing = data.value?.missing ?? []
  if (missing.length === 0) return null
  return (
    <section class="card" aria-label="Types that no worker takes">
      <h2>No live worker takes</h2>
      <table class="wide-table">
        <tbody>
          {missing.map(({ queue, type, due, more, oldest_due_at: at }) => (
            <tr key={`${queue} ${type}`}>
              <td>
                <a href={href('/runs', { q: `status:pending type:${JSON.stringify(type)}` })}>
                  <bdi>{type}</bdi>
                </a>
              </td>
              <td>
                queue <bdi>{queue}</bdi>
              </td>
              <td class="n">
                {due}
                {more && '+'} due
              </td>
              <td>
                since <Moment at={at} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <p class="dim">Workers over HTTP that send no heartbeats, and clients that use plain SQL, are not known here.</p>
    </section>
  )
}

/** How many workers there are of each build: the picture of a rollout. */
function Builds({ workers }: { readonly workers: readonly Worker[] }) {
  const counts = new Map<string, number>()
  for (const { build } of workers) counts.set(build ?? 'no build', (counts.get(build ?? 'no build') ?? 0) + 1)
  if (counts.size < 2) return null
  return (
    <p class="row">
      {[...counts].map(([build, count]) => (
        <span key={build}>
          <bdi>{build}</bdi> × {count}
        </span>
      ))}
    </p>
  )
}

function WorkerDetail({ worker, onDone }: { readonly worker: Worker; readonly onDone: () => Promise<void> }) {
  const { id, name, holds, types, queues, runtime, pid, host, tenant, expires_at: expires } = worker
  return (
    <section class="card" aria-label={`Worker ${name}`}>
      <header class="row">
        <h2 class="grow">
          <bdi>{name}</bdi>
        </h2>
        <WorkerActions worker={worker} onDone={onDone} />
      </header>
      <dl class="facts">
        <dt>id</dt>
        <dd>
          <code>{id}</code>
        </dd>
        <dt>process</dt>
        <dd>
          {pid} on <bdi>{host}</bdi>, {runtime}
        </dd>
        <dt>runs it holds</dt>
        <dd>
          <a href={href('/runs', { q: `status:leased worker:${JSON.stringify(name)}` })}>
            {worker.active ?? 'too many to count'}
          </a>{' '}
          <span class="dim">
            {holds === 'session' ? 'they live as long as its session' : 'each has a lease of its own'}
          </span>
        </dd>
        <dt>counts as dead</dt>
        <dd>
          <Moment at={expires} /> <span class="dim">if no heartbeat comes</span>
        </dd>
        <dt>queues</dt>
        <dd>{queues.length === 0 ? 'all' : queues.join(', ')}</dd>
        <dt>types</dt>
        <dd>{types.length === 0 ? 'all' : types.join(', ')}</dd>
        {tenant !== null && (
          <>
            <dt>tenant</dt>
            <dd>{tenant}</dd>
          </>
        )}
      </dl>
    </section>
  )
}
