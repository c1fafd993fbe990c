/** One saga: its request, its steps with their commands and answers, its compensations. */
import { useSignal } from '@preact/signals'
import { useMemo } from 'preact/hooks'
import type { Answer } from '../../api/answer.ts'
import { api } from '../../api/client.ts'
import { useLive } from '../../api/live.ts'
import { session } from '../../api/session.ts'
import { href } from '../../browser/router.ts'
import { type Action, ActionButton, ActionDialog, usePageActions } from '../../ui/actions.tsx'
import { CopyButton } from '../../ui/copy.tsx'
import { Term } from '../../ui/explain.tsx'
import { JsonValue } from '../../ui/json/json.tsx'
import { Moment } from '../../ui/moments.tsx'
import { Problem } from '../../ui/problem.tsx'
import { SagaState } from './saga-state.tsx'
import { SagaSteps } from './steps.tsx'

type Loaded = Answer<'GET /v1/sagas/:id'>

export default function SagaPage({ params }: { readonly params: Readonly<Record<string, string>> }) {
  const id = params['id'] ?? ''
  const { data, error, refresh } = useLive(id, (signal) => api('GET /v1/sagas/:id', { params: { id }, signal }), {
    concerns: ({ instances, more, areas }) => more || instances.has(id) || areas.has('runs'),
  })
  if (data.value === null) {
    return (
      <>
        <h1>Saga</h1>
        {error.value === null ? <p class="dim">Loading …</p> : <Problem error={error.value} />}
      </>
    )
  }
  return <View loaded={data.value} refresh={() => void refresh()} />
}

function View({ loaded, refresh }: { readonly loaded: Loaded; readonly refresh: () => void }) {
  const { saga, steps, open_effects: effects } = loaded
  const isCancelling = useSignal(false)
  const actions = useMemo(
    () =>
      actionsOf(loaded, refresh, () => {
        isCancelling.value = true
      }),
    [loaded, session.value],
  )
  usePageActions(actions, [actions])
  return (
    <>
      <p class="dim">
        <a href={href('/sagas')}>Sagas</a>
      </p>
      <h1>
        <bdi>{saga.type}</bdi> <SagaState state={saga.state} />
      </h1>
      <Facts saga={saga} />
      <div class="row">
        {actions.map((action) => (
          <ActionButton key={action.id} action={action} />
        ))}
      </div>
      {saga.error !== null && (
        <div class="problem saga-error">
          <bdi>{saga.error}</bdi>
        </div>
      )}
      {effects.length > 0 && <OpenEffects effects={effects} />}
      <h2 class="part">Steps</h2>
      <SagaSteps steps={steps} effects={effects} />
      <h2 class="part">Request</h2>
      <JsonValue value={saga.request} label="Request" />
      {saga.result !== null && (
        <>
          <h2 class="part">Results by step</h2>
          <JsonValue value={saga.result} label="Results by step" />
        </>
      )}
      {isCancelling.value && (
        <CancelDialog
          saga={saga}
          onClose={() => {
            isCancelling.value = false
          }}
          onDone={refresh}
        />
      )}
    </>
  )
}

function actionsOf({ saga: { id, state } }: Loaded, refresh: () => void, cancel: () => void): readonly Action[] {
  const retry = async (): Promise<string> => {
    const { saga } = await api('POST /v1/sagas/:id/retry', { params: { id } })
    refresh()
    return `The saga is ${saga.state.replace('_', ' ')}.`
  }
  return [
    {
      id: 'retry',
      label: 'Retry',
      hint: 'continues at the step or compensation that failed, under the same step id',
      scope: 'enqueue',
      key: 'r',
      unavailable: state === 'failed' ? null : `only a failed saga continues; this one is ${state.replace('_', ' ')}`,
      command: `petrel saga retry ${id}`,
      request: { method: 'POST', path: `/v1/sagas/${id}/retry` },
      run: retry,
    },
    {
      id: 'cancel',
      label: 'Cancel …',
      hint: 'sends no further step and undoes completed ones',
      scope: 'enqueue',
      danger: true,
      unavailable: state === 'in_progress' ? null : `the saga is ${state}`,
      command: `petrel saga cancel ${id}`,
      request: { method: 'POST', path: `/v1/sagas/${id}/cancel` },
      run: () => {
        cancel()
        return undefined
      },
    },
  ]
}

function CancelDialog(props: {
  readonly saga: Loaded['saga']
  readonly onClose: () => void
  readonly onDone: () => void
}) {
  const { saga, onClose, onDone } = props
  const done = saga.current_step_index
  return (
    <ActionDialog
      title="Cancel the saga"
      verb="Cancel the saga"
      danger
      command={`petrel saga cancel ${saga.id}`}
      request={{ method: 'POST', path: `/v1/sagas/${saga.id}/cancel` }}
      onClose={onClose}
      onConfirm={async () => {
        const { saga: after } = await api('POST /v1/sagas/:id/cancel', { params: { id: saga.id } })
        onDone()
        return `The saga is ${after.state.replace('_', ' ')}.`
      }}
    >
      <p>
        No further step is sent. Steps in flight are awaited.{' '}
        {done === 0 ? 'No step' : done === 1 ? 'One step' : `${done} steps`} completed so far; what has a compensation
        is undone, the last one first.
      </p>
    </ActionDialog>
  )
}

function Facts({ saga }: { readonly saga: Loaded['saga'] }) {
  const { id, created_by: by, correlation_id: correlation, completed_at: completed, tenant_id: tenant } = saga
  return (
    <dl class="facts saga-facts">
      <dt>Started</dt>
      <dd>
        <Moment at={saga.created_at} />
        {by !== null && (
          <>
            {' '}
            by <bdi>{by}</bdi>
          </>
        )}
      </dd>
      <dt>{completed === null ? 'Last event' : 'Ended'}</dt>
      <dd>
        <Moment at={completed ?? saga.last_event_at} />
      </dd>
      <dt>Steps</dt>
      <dd>
        {saga.current_step_index} of {saga.step_count} completed
      </dd>
      {correlation !== null && correlation !== id && (
        <>
          <dt>Correlation</dt>
          <dd>
            <bdi>{correlation}</bdi>
          </dd>
        </>
      )}
      {tenant !== null && (
        <>
          <dt>Tenant</dt>
          <dd>
            <bdi>{tenant}</bdi>
          </dd>
        </>
      )}
      <dt>Instance</dt>
      <dd>
        <a href={href(`/instances/${id}`)}>{id}</a> <CopyButton text={id} label="copy" />
      </dd>
    </dl>
  )
}

const REASONS = {
  undo_failed: 'was done, and its compensation failed or did not answer',
  not_undone: 'was done, and its compensation has not been sent',
  in_doubt: 'did not answer in time: it may have been done, or may be done later',
} as const

function OpenEffects({ effects }: { readonly effects: Loaded['open_effects'] }) {
  return (
    <section class="card">
      <h2>
        Effects that are not known to be undone <Term name="undo" label="?" />
      </h2>
      <ul>
        {effects.map(({ step_id: step, name, reason }) => (
          <li key={step}>
            <strong>
              <bdi>{name}</bdi>
            </strong>{' '}
            {REASONS[reason]}
          </li>
        ))}
      </ul>
    </section>
  )
}
