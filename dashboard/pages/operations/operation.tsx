/** One bulk operation: how far it is, what can be done about it, and the result of each item. */
import { type Signal, useSignal } from '@preact/signals'
import { api } from '../../api/client.ts'
import { useLive } from '../../api/live.ts'
import { href } from '../../browser/router.ts'
import { type Action, ActionButton, ActionDialog, usePageActions } from '../../ui/actions.tsx'
import { stopOrResume } from '../../ui/bulk/operation-actions.ts'
import { TextField } from '../../ui/bulk/order-dialog.tsx'
import { notARate, rateOf } from '../../ui/bulk/orders.ts'
import { type Operation, Progress } from '../../ui/bulk/progress-bar.tsx'
import { CopyButton } from '../../ui/copy.tsx'
import { Moment, Took } from '../../ui/moments.tsx'
import { Problem } from '../../ui/problem.tsx'
import { Items } from './items.tsx'
import { acted, OperationState, QueryLink } from './parts.tsx'

export default function OperationPage({ params }: { readonly params: Readonly<Record<string, string>> }) {
  const id = params['id'] ?? ''
  const live = useLive(
    `operation ${id}`,
    async (signal) => {
      const { operation } = await api('GET /v1/operations/:id', { params: { id }, signal })
      return operation
    },
    { everyMs: 2_000 },
  )
  const refresh = (): Promise<void> => live.refresh()
  const operation = live.data.value
  const pacing = useSignal(false)
  const actions = operation === null ? [] : actionsOf(operation, refresh, pacing)
  usePageActions(actions, [operation?.id, operation?.state, operation?.rate_per_minute])
  if (operation === null) {
    return (
      <>
        <h1>Bulk operation</h1>
        {live.error.value === null ? <p class="dim">Loading …</p> : <Problem error={live.error.value} />}
      </>
    )
  }
  return (
    <>
      <p class="dim crumbs">
        <a href={href('/operations')}>Bulk operations</a>
      </p>
      <div class="row page-head">
        <h1 class="grow">
          {acted(operation)} <OperationState state={operation.state} />
        </h1>
        {actions.map((action) => (
          <ActionButton key={action.id} action={action} />
        ))}
      </div>
      {live.error.value !== null && <Problem error={live.error.value} />}
      <section class="card">
        <Progress operation={operation} />
        <Facts operation={operation} />
      </section>
      <Items operation={operation} />
      {pacing.value && (
        <RateDialog
          operation={operation}
          onClose={() => {
            pacing.value = false
          }}
          onChanged={refresh}
        />
      )}
    </>
  )
}

function Facts({ operation }: { readonly operation: Operation }) {
  const { id, actor, reason, tenant, state, selecting, created_at: created, ended_at: ended } = operation
  return (
    <dl class="facts">
      <dt>Query</dt>
      <dd>
        <QueryLink operation={operation} />
        {selecting && (
          <span class="dim"> is still being searched for; what existed when it was ordered is changed</span>
        )}
      </dd>
      <dt>Ordered</dt>
      <dd>
        <Moment at={created} /> by <bdi>{actor ?? 'a caller without a name'}</bdi>
        {tenant !== null && (
          <>
            {' '}
            for <bdi>{tenant}</bdi>
          </>
        )}
      </dd>
      <dt>Reason</dt>
      <dd>{reason === null ? <span class="dim">none was given</span> : <bdi>{reason}</bdi>}</dd>
      {ended !== null && (
        <>
          <dt>{state === 'stopped' ? 'Stopped' : 'Ended'}</dt>
          <dd>
            <Moment at={ended} />, after <Took from={created} to={ended} />
          </dd>
        </>
      )}
      <dt>Id</dt>
      <dd>
        <code>{id}</code> <CopyButton text={id} label="copy" />
      </dd>
    </dl>
  )
}

function actionsOf(operation: Operation, refresh: () => Promise<void>, pacing: Signal<boolean>): readonly Action[] {
  const { id, state, rate_per_minute: rate } = operation
  return [
    stopOrResume(operation, refresh),
    {
      id: 'rate',
      label: 'Change the rate …',
      hint: rate === null ? 'no limit now' : `${rate} a minute now`,
      scope: 'admin',
      unavailable: state === 'completed' ? 'it is completed' : null,
      command: `petrel bulk rate ${id} ${rate ?? 'none'}`,
      request: { method: 'PATCH', path: `/v1/operations/${id}`, body: { rate_per_minute: rate } },
      run: () => {
        pacing.value = true
        return undefined
      },
    },
  ]
}

function RateDialog({
  operation: { id, rate_per_minute: rate },
  onClose,
  onChanged,
}: {
  readonly operation: Operation
  readonly onClose: () => void
  readonly onChanged: () => Promise<void>
}) {
  const text = useSignal(rate === null ? '' : String(rate))
  const wanted = rateOf(text.value)
  return (
    <ActionDialog
      title="Change the rate"
      verb={wanted === null ? 'Remove the limit' : 'Change the rate'}
      command={`petrel bulk rate ${id} ${wanted ?? 'none'}`}
      request={{ method: 'PATCH', path: `/v1/operations/${id}`, body: { rate_per_minute: wanted ?? null } }}
      onClose={onClose}
      onConfirm={async () => {
        if (wanted === undefined) throw notARate()
        await api('PATCH /v1/operations/:id', { params: { id }, body: { rate_per_minute: wanted } })
        await onChanged()
        return wanted === null ? 'There is no limit any more.' : `At most ${wanted} a minute.`
      }}
    >
      <TextField
        label="Items per minute, of all servers together (empty: no limit)"
        value={text}
        inputMode="numeric"
        autofocus
      />
    </ActionDialog>
  )
}
