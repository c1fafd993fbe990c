/** The deliveries of a subscription: attempts, state, response, and another try. */
import { useSignal } from '@preact/signals'
import type { Answer } from '../../api/answer.ts'
import { api } from '../../api/client.ts'
import { useGrowing } from '../../api/growing.ts'
import { useLive } from '../../api/live.ts'
import { href, param, setQuery } from '../../browser/router.ts'
import { type Action, ActionButton } from '../../ui/actions.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Empty } from '../../ui/empty.tsx'
import { JsonValue } from '../../ui/json/json.tsx'
import { Moment } from '../../ui/moments.tsx'
import { Problem } from '../../ui/problem.tsx'
import { type Column, Rows } from '../../ui/rows.tsx'
import { State } from '../../ui/state.tsx'

type Delivery = Answer<'GET /ojs/v1/webhooks/deliveries/:id'>['delivery']

const STATES = ['pending', 'delivered', 'dead'] as const
const LOOKS = { pending: 'pending', delivered: 'succeeded', dead: 'failed' } as const

export function Deliveries({ id }: { readonly id: string }) {
  const held = useSignal(false)
  const state = STATES.find((name) => name === param('state')) ?? null
  const { live, more } = useGrowing<Delivery, number>(
    `${id} ${state}`,
    async (offset, signal) => {
      const query = { limit: 100, offset: offset ?? 0, ...(state === null ? {} : { state }) }
      const params = { id }
      const { deliveries, pagination } = await api('GET /ojs/v1/webhooks/subscriptions/:id/deliveries', {
        params,
        query,
        signal,
      })
      return { rows: deliveries, next: pagination.has_more ? pagination.offset + pagination.limit : null }
    },
    { hold: held, everyMs: 5_000 },
  )
  const opened = param('delivery')
  return (
    <>
      <div class="row filters">
        <h2 class="grow">Deliveries</h2>
        <label class="inline">
          State
          <select value={state ?? ''} onChange={(event) => setQuery({ state: event.currentTarget.value })}>
            <option value="">all</option>
            {STATES.map((name) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
        </label>
      </div>
      {live.error.value !== null && <Problem error={live.error.value} />}
      {live.data.value !== null && (
        <Rows
          label="Deliveries"
          rows={live.data.value.rows}
          columns={COLUMNS}
          keyOf={(delivery) => delivery.id}
          hrefOf={(delivery) => href(`/webhooks/${encodeURIComponent(id)}`, { state, delivery: delivery.id })}
          held={held}
          onEnd={more}
          empty={<Empty what={state === null ? 'Nothing has been delivered yet.' : `No delivery is ${state}.`} />}
        />
      )}
      {opened !== '' && (
        <DeliveryDialog id={opened} onClose={() => setQuery({ delivery: null })} onDone={() => void live.refresh()} />
      )}
    </>
  )
}

const COLUMNS: readonly Column<Delivery>[] = [
  { key: 'state', title: 'State', width: '7rem', cell: ({ state }) => <State state={LOOKS[state]} label={state} /> },
  {
    key: 'event',
    title: 'Event',
    width: 'minmax(6rem, 2fr)',
    cell: ({ event_type: type }) => <bdi title={type}>{type}</bdi>,
  },
  { key: 'attempts', title: 'Attempts', width: '5rem', numeric: true, cell: ({ attempts }) => attempts },
  {
    key: 'response',
    title: 'Response',
    width: 'minmax(5rem, 2fr)',
    optional: true,
    cell: ({ status_code: status, error, response_time_ms: ms }) => {
      const text = [status, error, ms === undefined ? undefined : `${ms} ms`]
        .filter((part) => part !== undefined)
        .join(', ')
      return text === '' ? <span class="dim">–</span> : <bdi title={text}>{text}</bdi>
    },
  },
  {
    key: 'created',
    title: 'Event at',
    width: '7rem',
    optional: true,
    cell: ({ created_at: at }) => <Moment at={at} />,
  },
  {
    key: 'next',
    title: 'Next, or ended',
    width: '8rem',
    optional: true,
    cell: ({ next_attempt_at: next, delivered_at: delivered, dead_at: dead }) => (
      <Moment at={next ?? delivered ?? dead} />
    ),
  },
]

function DeliveryDialog(props: { readonly id: string; readonly onClose: () => void; readonly onDone: () => void }) {
  const { id, onClose, onDone } = props
  const { data, error, refresh } = useLive(
    id,
    async (signal) => (await api('GET /ojs/v1/webhooks/deliveries/:id', { params: { id }, signal })).delivery,
    { everyMs: 5_000 },
  )
  const delivery = data.value
  return (
    <Dialog title="Delivery" wide onClose={onClose}>
      {error.value !== null && <Problem error={error.value} />}
      {delivery !== null && (
        <>
          <dl class="facts">
            <dt>State</dt>
            <dd>
              <State state={LOOKS[delivery.state]} label={delivery.state} /> after {delivery.attempts}{' '}
              {delivery.attempts === 1 ? 'attempt' : 'attempts'}
            </dd>
            <dt>Response</dt>
            <dd>
              {delivery.status_code ?? '–'} {delivery.error !== undefined && <bdi>{delivery.error}</bdi>}{' '}
              {delivery.response_time_ms !== undefined && `after ${delivery.response_time_ms} ms`}
            </dd>
            {delivery.next_attempt_at !== undefined && (
              <>
                <dt>Next attempt</dt>
                <dd>
                  <Moment at={delivery.next_attempt_at} />
                </dd>
              </>
            )}
            <dt>Id</dt>
            <dd>
              <code>{id}</code>
            </dd>
          </dl>
          <div class="row webhook-actions">
            <ActionButton
              action={retryAction(delivery, () => {
                void refresh()
                onDone()
              })}
            />
          </div>
          <h2>What is sent</h2>
          <JsonValue value={delivery.event ?? null} label="The event" />
        </>
      )}
    </Dialog>
  )
}

function retryAction({ id, state }: Delivery, onDone: () => void): Action {
  return {
    id: 'retry',
    label: 'Send again',
    hint: 'under the same id, with all its attempts',
    scope: 'admin',
    unavailable: state === 'pending' ? 'it is being sent already' : null,
    request: { method: 'POST', path: `/ojs/v1/webhooks/deliveries/${id}/retry` },
    run: async () => {
      await api('POST /ojs/v1/webhooks/deliveries/:id/retry', { params: { id } })
      onDone()
      return 'The delivery is pending again.'
    },
  }
}
