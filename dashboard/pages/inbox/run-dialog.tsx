/** One run of the inbox: its payload, result and history, and what can be done with it. */
import { useSignal } from '@preact/signals'
import { api } from '../../api/client.ts'
import { useLive } from '../../api/live.ts'
import { href } from '../../browser/router.ts'
import { type Action, ActionButton, perform } from '../../ui/actions.tsx'
import { CopyButton } from '../../ui/copy.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { JsonValue } from '../../ui/json/json.tsx'
import { Moment } from '../../ui/moments.tsx'
import { Problem } from '../../ui/problem.tsx'
import { State } from '../../ui/state.tsx'
import type { InboxRun } from './runs.tsx'

const MOST_EVENTS = 200

interface Props {
  readonly id: string
  readonly onClose: () => void
  readonly onDone: () => void
}

export function RunDialog({ id, onClose, onDone }: Props) {
  const { data, error, refresh } = useLive(
    id,
    async (signal) => {
      const params = { id }
      const [{ run }, { events, next_after: more }] = await Promise.all([
        api('GET /v1/runs/:id', { params, signal }),
        api('GET /v1/runs/:id/events', { params, query: { limit: MOST_EVENTS }, signal }),
      ])
      return { run, events, hasMore: more !== null }
    },
    { concerns: ({ areas }) => areas.has('runs') },
  )
  const changed = (): void => {
    void refresh()
    onDone()
  }
  return (
    <Dialog title="Run" wide onClose={onClose}>
      {error.value !== null && <Problem error={error.value} />}
      {data.value !== null && (
        <>
          <Facts run={data.value.run} />
          <Actions run={data.value.run} onDone={changed} />
          <h2 class="part">Payload</h2>
          <JsonValue value={data.value.run.payload} label="Payload" />
          {data.value.run.result !== null && (
            <>
              <h2 class="part">Result</h2>
              <JsonValue value={data.value.run.result} label="Result" />
            </>
          )}
          {data.value.run.error !== null && (
            <>
              <h2 class="part">Last error</h2>
              <JsonValue value={data.value.run.error} label="Last error" />
            </>
          )}
          <h2 class="part">History</h2>
          <ol class="run-events">
            {data.value.events.map((event, i) => (
              <li key={i}>
                <Moment at={event.at} /> <strong>{event.type}</strong>
                {event.data !== null && <code> {JSON.stringify(event.data)}</code>}
              </li>
            ))}
          </ol>
          {data.value.hasMore && <p class="dim">The first {MOST_EVENTS} events.</p>}
        </>
      )}
    </Dialog>
  )
}

function Facts({ run }: { readonly run: InboxRun }) {
  return (
    <dl class="facts">
      <dt>Type</dt>
      <dd>
        <bdi>{run.type}</bdi> <State state={run.paused && run.status === 'pending' ? 'paused' : run.status} />
        {run.cancel_requested && <span class="dim"> its worker should stop</span>}
        {run.deleted_at !== null && (
          <span class="dim">
            {' '}
            deleted <Moment at={run.deleted_at} />
          </span>
        )}
      </dd>
      <dt>Id</dt>
      <dd>
        <code>{run.id}</code> <CopyButton text={run.id} label="copy" />
      </dd>
      <dt>Queue</dt>
      <dd>
        <a href={href('/queues', { queue: run.queue })}>
          <bdi>{run.queue}</bdi>
        </a>
        , priority {run.priority}
      </dd>
      {run.idempotency_key !== null && (
        <>
          <dt>Key</dt>
          <dd>
            <bdi>{run.idempotency_key}</bdi>
          </dd>
        </>
      )}
      <dt>Due</dt>
      <dd>{run.paused ? 'when its pause ends' : <Moment at={run.run_at} />}</dd>
      <dt>Executions</dt>
      <dd>
        {run.attempt} failed, of at most {run.max_attempts}
      </dd>
      {run.leased_by !== null && (
        <>
          <dt>Held by</dt>
          <dd>
            <bdi>{run.leased_by}</bdi>
            {run.lease_until !== null && (
              <>
                {' '}
                until <Moment at={run.lease_until} />
              </>
            )}
          </dd>
        </>
      )}
    </dl>
  )
}

/** What a second press of a destructive action confirms. */
const EFFECTS = {
  cancel: 'It is cancelled at once, even while a worker holds it; the worker’s report is refused.',
  delete: 'It can no longer be taken, lists leave it out, and its key stays used.',
} as const

function Actions({ run, onDone }: { readonly run: InboxRun; readonly onDone: () => void }) {
  const asking = useSignal<'cancel' | 'delete' | null>(null)
  const actions = actionsOf(run, onDone)
  const confirming = actions.find(({ id }) => id === asking.value)
  return (
    <>
      <div class="row run-actions">
        {actions.map((action) => {
          const ask = action.id === 'cancel' || action.id === 'delete' ? action.id : null
          const opening: Action = {
            ...action,
            run: () => {
              asking.value = ask
              return undefined
            },
          }
          return (
            <span key={action.id} class="row">
              <ActionButton action={ask === null ? action : opening} />
              {action.command !== undefined && <CopyButton text={action.command} label="petrel" />}
            </span>
          )
        })}
      </div>
      {confirming !== undefined && asking.value !== null && (
        <div class="card row" role="alertdialog" aria-label={confirming.label}>
          <span class="grow">{EFFECTS[asking.value]}</span>
          <button
            type="button"
            class="danger"
            onClick={() => {
              asking.value = null
              void perform(confirming)
            }}
          >
            {confirming.label.replace(' …', '')}
          </button>
          <button
            type="button"
            onClick={() => {
              asking.value = null
            }}
          >
            Do not
          </button>
        </div>
      )}
    </>
  )
}

function actionsOf({ id, status, deleted_at: deleted }: InboxRun, onDone: () => void): readonly Action[] {
  const ended = status !== 'pending' && status !== 'leased'
  const act = (call: () => Promise<unknown>, text: string) => async (): Promise<string> => {
    await call()
    onDone()
    return text
  }
  const path = `/v1/runs/${id}`
  const params = { id }
  return [
    {
      id: 'retry-now',
      label: 'Run now',
      hint: 'a run that is due later is due at once',
      scope: 'enqueue',
      unavailable: status === 'pending' ? null : `the run is ${status}`,
      command: `petrel retry-now ${id}`,
      request: { method: 'POST', path: `${path}/retry-now` },
      run: act(() => api('POST /v1/runs/:id/retry-now', { params }), 'The run is due now.'),
    },
    {
      id: 'redrive',
      label: 'Run again',
      hint: 'from its first attempt',
      scope: 'admin',
      unavailable: status === 'failed' || status === 'cancelled' ? null : `the run is ${status}`,
      command: `petrel redrive ${id}`,
      request: { method: 'POST', path: `${path}/redrive` },
      run: act(() => api('POST /v1/runs/:id/redrive', { params }), 'The run is pending again.'),
    },
    {
      id: 'cancel',
      label: 'Cancel …',
      scope: 'enqueue',
      danger: true,
      unavailable: ended ? `the run is ${status}` : null,
      command: `petrel runs cancel ${id}`,
      request: { method: 'POST', path: `${path}/cancel` },
      run: act(() => api('POST /v1/runs/:id/cancel', { params }), 'The run is cancelled.'),
    },
    {
      id: 'delete',
      label: 'Delete …',
      scope: 'admin',
      danger: true,
      unavailable:
        deleted !== null ? 'it is deleted' : status === 'leased' ? 'a worker holds it; cancel it first' : null,
      command: `petrel runs delete ${id}`,
      request: { method: 'DELETE', path },
      run: act(() => api('DELETE /v1/runs/:id', { params }), 'The run is deleted.'),
    },
  ]
}
