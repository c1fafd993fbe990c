/** What can be done with a run. */
import { useSignal } from '@preact/signals'
import { api } from '../../api/client.ts'
import { go, href } from '../../browser/router.ts'
import { type Action, ActionButton, ActionDialog, usePageActions } from '../../ui/actions.tsx'
import { now } from '../../ui/moments.tsx'
import type { Run } from './run.tsx'

export function RunActions({ run, onDone }: { readonly run: Run; readonly onDone: () => Promise<void> }) {
  const asks = useSignal<'cancel' | 'redrive' | null>(null)
  const { id, status, paused, run_at: due } = run
  const path = `/v1/runs/${id}`
  const ask = (what: 'cancel' | 'redrive') => () => {
    asks.value = what
    return undefined
  }
  const actions: readonly Action[] = [
    {
      id: 'cancel',
      label: 'Cancel …',
      hint: 'At once, even while a worker holds it',
      scope: 'enqueue',
      unavailable: status === 'pending' || status === 'leased' ? null : `it has ended: ${status}`,
      danger: true,
      command: `petrel cancel ${id}`,
      request: { method: 'POST', path: `${path}/cancel` },
      run: ask('cancel'),
    },
    {
      id: 'retry-now',
      label: 'Retry now',
      hint: 'It is due at once; its attempts stay as they are',
      scope: 'enqueue',
      unavailable: whyNotNow(run),
      key: 'n',
      command: `petrel retry-now ${id}`,
      request: { method: 'POST', path: `${path}/retry-now` },
      run: async () => {
        await api('POST /v1/runs/:id/retry-now', { params: { id } })
        await onDone()
        return 'It is due now'
      },
    },
    {
      id: 'redrive',
      label: 'Redrive …',
      hint: 'It is done again, from its first attempt',
      scope: 'admin',
      unavailable: status === 'failed' || status === 'cancelled' ? null : `it is ${status}`,
      key: 'r',
      command: `petrel redrive ${id}`,
      request: { method: 'POST', path: `${path}/redrive` },
      run: ask('redrive'),
    },
  ]
  usePageActions(actions, [id, status, paused, due])
  const close = (): void => {
    asks.value = null
  }
  return (
    <fieldset class="row actions" aria-label="Actions">
      {actions.map((action) => (
        <ActionButton key={action.id} action={action} />
      ))}
      {asks.value === 'cancel' && <CancelDialog run={run} onDone={onDone} onClose={close} />}
      {asks.value === 'redrive' && <RedriveDialog run={run} onDone={onDone} onClose={close} />}
    </fieldset>
  )
}

function whyNotNow({ status, paused, run_at: due }: Run): string | null {
  if (status === 'leased') return 'a worker holds it'
  if (status !== 'pending') return `it has ended: ${status}`
  if (paused) return 'it is paused'
  return Date.parse(due) > now.value ? null : 'it is due already'
}

interface DialogProps {
  readonly run: Run
  readonly onDone: () => Promise<void>
  readonly onClose: () => void
}

function CancelDialog({ run: { id, status, instance_id: instance }, onDone, onClose }: DialogProps) {
  return (
    <ActionDialog
      title="Cancel this run"
      verb="Cancel it"
      danger
      command={`petrel cancel ${id}`}
      request={{ method: 'POST', path: `/v1/runs/${id}/cancel` }}
      onClose={onClose}
      onConfirm={async () => {
        await api('POST /v1/runs/:id/cancel', { params: { id } })
        await onDone()
        return 'It is cancelled'
      }}
    >
      <p>
        {status === 'leased'
          ? 'The worker that holds it is refused its next heartbeat or report; what it has done so far is not undone.'
          : 'It never begins.'}
      </p>
      {instance !== null && <p>Its instance continues as its definition says for a step that did not succeed.</p>}
    </ActionDialog>
  )
}

function RedriveDialog({ run: { id, instance_id: instance }, onDone, onClose }: DialogProps) {
  return (
    <ActionDialog
      title="Redrive this run"
      verb="Redrive it"
      command={`petrel redrive ${id}`}
      request={{ method: 'POST', path: `/v1/runs/${id}/redrive` }}
      onClose={onClose}
      onConfirm={async () => {
        const { run: made } = await api('POST /v1/runs/:id/redrive', { params: { id } })
        if (made.id === id) await onDone()
        else go(href(`/runs/${made.id}`))
        return made.id === id ? 'It is pending again' : 'This is the new run'
      }}
    >
      <p>
        It is done again, from its first attempt.
        {instance !== null &&
          ' In an instance that continues this is possible as long as nothing has followed from its failure; of an instance that has ended a new run is made.'}
      </p>
    </ActionDialog>
  )
}
