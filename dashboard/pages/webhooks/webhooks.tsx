/** Subscriptions of webhooks, and the deliveries of one of them. */
import { useSignal } from '@preact/signals'
import { useMemo } from 'preact/hooks'
import type { Answer } from '../../api/answer.ts'
import { api } from '../../api/client.ts'
import { useGrowing } from '../../api/growing.ts'
import { refusal, session } from '../../api/session.ts'
import { href } from '../../browser/router.ts'
import { type Action, ActionButton, usePageActions } from '../../ui/actions.tsx'
import { Empty } from '../../ui/empty.tsx'
import { Moment } from '../../ui/moments.tsx'
import { Problem } from '../../ui/problem.tsx'
import { type Column, Rows } from '../../ui/rows.tsx'
import { State } from '../../ui/state.tsx'
import { SubscribeDialog } from './subscribe-dialog.tsx'

export type Webhook = Answer<'GET /ojs/v1/webhooks/subscriptions/:id'>['subscription']

const FIRST = `curl -s http://localhost:7070/ojs/v1/webhooks/subscriptions -H 'Content-Type: application/json' -d '{"url": "https://example.com/hooks", "events": ["job.*"]}'`

export default function Webhooks() {
  const isSubscribing = useSignal(false)
  const subscribe: Action = {
    id: 'subscribe',
    label: 'Subscribe …',
    hint: 'to events',
    scope: 'admin',
    key: 'n',
    request: {
      method: 'POST',
      path: '/ojs/v1/webhooks/subscriptions',
      body: { url: 'https://example.com/hooks', events: ['job.*'] },
    },
    run: () => {
      isSubscribing.value = true
      return undefined
    },
  }
  const actions = useMemo(() => [subscribe], [session.value])
  usePageActions(actions, [actions])
  const refused = refusal('admin')
  return (
    <>
      <div class="row filters">
        <h1 class="grow">Webhooks</h1>
        <ActionButton action={subscribe} />
      </div>
      <p class="dim">Each event is sent at least once, signed, and tried again until the receiver accepts it.</p>
      {refused === null ? <List /> : <Empty what={`Subscriptions cannot be shown: ${refused}.`} />}
      {isSubscribing.value && (
        <SubscribeDialog
          onClose={() => {
            isSubscribing.value = false
          }}
        />
      )}
    </>
  )
}

function List() {
  const held = useSignal(false)
  const { live, more } = useGrowing<Webhook, string>(
    'webhooks',
    async (cursor, signal) => {
      const query = { limit: 100, ...(cursor === null ? {} : { cursor }) }
      const { subscriptions, pagination } = await api('GET /ojs/v1/webhooks/subscriptions', { query, signal })
      return { rows: subscriptions, next: pagination.next_cursor }
    },
    { hold: held, everyMs: 10_000 },
  )
  if (live.error.value !== null && live.data.value === null) return <Problem error={live.error.value} />
  if (live.data.value === null) return <p class="dim">Loading …</p>
  return (
    <Rows
      label="Subscriptions"
      rows={live.data.value.rows}
      columns={COLUMNS}
      keyOf={({ id }) => id}
      hrefOf={({ id }) => href(`/webhooks/${encodeURIComponent(id)}`)}
      held={held}
      onEnd={more}
      empty={<Empty what="Nothing subscribes to events." command={FIRST} />}
    />
  )
}

const COLUMNS: readonly Column<Webhook>[] = [
  {
    key: 'state',
    title: 'State',
    width: '6rem',
    cell: ({ active }) => (active ? <State state="active" /> : <State state="idle" label="off" />),
  },
  { key: 'url', title: 'Receiver', width: 'minmax(7rem, 3fr)', cell: ({ url }) => <bdi title={url}>{url}</bdi> },
  {
    key: 'events',
    title: 'Events',
    width: 'minmax(5rem, 2fr)',
    optional: true,
    cell: ({ events }) => <bdi title={events.join(', ')}>{events.join(', ')}</bdi>,
  },
  {
    key: 'last',
    title: 'Last delivery',
    width: '7rem',
    optional: true,
    cell: ({ last_delivery_at: at }) => <Moment at={at} />,
  },
  {
    key: 'status',
    title: 'Response',
    width: '5rem',
    numeric: true,
    optional: true,
    cell: ({ last_delivery_status: status }) => status ?? <span class="dim">–</span>,
  },
  {
    key: 'failures',
    title: 'Failures',
    width: '5rem',
    numeric: true,
    cell: ({ failure_count: count }) => (
      <span title="failed attempts since the last success" class={count > 0 ? 'failing' : ''}>
        {count > 0 && '△ '}
        {count}
      </span>
    ),
  },
]
