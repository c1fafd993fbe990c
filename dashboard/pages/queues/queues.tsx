/** Queues: how long, how old, how fast, how busy; and the limits that hold runs back. */
import { useSignal } from '@preact/signals'
import { api } from '../../api/client.ts'
import { useLive } from '../../api/live.ts'
import { param, setQuery } from '../../browser/router.ts'
import { Empty } from '../../ui/empty.tsx'
import { Problem } from '../../ui/problem.tsx'
import { type Column, Rows } from '../../ui/rows.tsx'
import { State } from '../../ui/state.tsx'
import { Limits } from './limits.tsx'
import { QueueDetail } from './queue-detail.tsx'

const PAGE = 200

export default function Queues() {
  const held = useSignal(false)
  const { data, error, refresh } = useLive('queues', readQueues, {
    concerns: ({ areas }) => areas.has('queues'),
    everyMs: 5_000,
    hold: held,
  })
  const limits = useLive('limits', readLimits, { everyMs: 5_000 })
  if (error.value !== null) return <Problem error={error.value} />
  const queues = data.value
  if (queues === null) return <p class="dim">Loading …</p>
  const chosen = queues.find(({ name }) => name === param('queue')) ?? queues[0]
  return (
    <div class="stack">
      <h1>Queues and limits</h1>
      <Rows
        label="Queues"
        rows={queues}
        held={held}
        keyOf={({ name }) => name}
        onSelect={({ name }) => setQuery({ queue: name })}
        empty={
          <Empty
            what="A queue exists as soon as a run names it."
            command={'petrel submit mail.send.v1 \'{"to":"ann"}\' --queue mail'}
          />
        }
        columns={COLUMNS}
      />
      {chosen !== undefined && <QueueDetail key={chosen.name} name={chosen.name} onChange={refresh} />}
      <Limits limits={limits.data.value} error={limits.error.value} />
    </div>
  )
}

type Queue = Awaited<ReturnType<typeof readQueues>>[number]

const COLUMNS: readonly Column<Queue>[] = [
  { key: 'state', title: 'State', width: '6rem', cell: ({ state }) => <State state={state} /> },
  {
    key: 'name',
    title: 'Queue',
    width: 'minmax(6rem, 2fr)',
    cell: ({ name }) => <bdi title={name}>{name}</bdi>,
  },
  { key: 'due', title: 'Due', width: '5rem', numeric: true, cell: ({ counts }) => count(counts.available) },
  {
    key: 'active',
    title: 'Active',
    width: '4.5rem',
    numeric: true,
    optional: true,
    cell: ({ counts }) => count(counts.active),
  },
  {
    key: 'later',
    title: 'Later',
    width: '5rem',
    numeric: true,
    optional: true,
    cell: ({ counts }) => count(counts.scheduled + counts.retryable + counts.pending),
  },
  {
    key: 'done',
    title: 'Done a minute',
    width: '7rem',
    numeric: true,
    optional: true,
    cell: ({ throughput }) => throughput.processed_per_minute.toFixed(1),
  },
  {
    key: 'failed',
    title: 'Failed a minute',
    width: '7rem',
    numeric: true,
    optional: true,
    cell: ({ throughput }) => throughput.failed_per_minute.toFixed(1),
  },
]

async function readQueues(signal: AbortSignal) {
  const { items } = await api('GET /ojs/v1/admin/queues', { query: { per_page: PAGE }, signal })
  return items
}

export type Limit = Awaited<ReturnType<typeof readLimits>>[number]

async function readLimits(signal: AbortSignal) {
  const { items } = await api('GET /ojs/v1/rate-limits', { query: { per_page: PAGE }, signal })
  return items
}

function count(n: number): string {
  return n.toLocaleString('en')
}
