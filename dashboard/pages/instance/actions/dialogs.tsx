/** The dialogs of the actions. */
import { useSignal } from '@preact/signals'
import { api } from '../../../api/client.ts'
import { go, href } from '../../../browser/router.ts'
import { ActionDialog, quoted } from '../../../ui/actions.tsx'
import { exactJson } from '../../../ui/json/exact-json.ts'
import { JsonField } from '../../../ui/json/json-field.tsx'
import type { Instance } from '../model.ts'
import { cancelUndoes } from './allowed.ts'
import { EventDialog } from './event-dialog.tsx'
import { RepeatDialog } from './repeat-dialog.tsx'

export type DialogName = 'cancel' | 'roll-back' | 'pause' | 'retry' | 'retry-from' | 'fork' | 'context' | 'event'

export interface DialogProps {
  readonly instance: Instance
  /** The selected step, '' if there is none. */
  readonly step: string
  /** As the server wrote it. */
  readonly context: string
  readonly onDone: () => Promise<void>
  readonly onClose: () => void
}

export function InstanceDialog({ name, ...props }: DialogProps & { readonly name: DialogName }) {
  switch (name) {
    case 'cancel':
      return <CancelDialog {...props} />
    case 'roll-back':
      return <RollBackDialog {...props} />
    case 'pause':
      return <PauseDialog {...props} />
    case 'retry':
      return <RepeatDialog verb="retry" {...props} step="" />
    case 'retry-from':
      return <RepeatDialog verb="retry" asksForStep {...props} />
    case 'fork':
      return <RepeatDialog verb="fork" {...props} />
    case 'context':
      return <ContextDialog {...props} />
    case 'event':
      return <EventDialog {...props} />
  }
}

function CancelDialog({ instance, onDone, onClose }: DialogProps) {
  const { id, succeeded, open } = instance
  const undoes = cancelUndoes(instance)
  return (
    <ActionDialog
      title={undoes ? 'Roll back this instance' : 'Cancel this instance'}
      verb={undoes ? 'Roll it back' : 'Cancel it'}
      danger
      command={`petrel cancel ${id}`}
      request={{ method: 'POST', path: `/v1/instances/${id}/cancel` }}
      onClose={onClose}
      onConfirm={async () => {
        await api('POST /v1/instances/:id/cancel', { params: { id } })
        await onDone()
        return undoes ? 'It is being rolled back' : 'It is cancelled'
      }}
    >
      <p>
        Of {open} open runs those that have not begun never begin; those that a worker holds may end and are recorded.
      </p>
      <p>
        {undoes
          ? `Then the ${succeeded} completed steps are undone, the last one first. This cannot be stopped.`
          : `What has completed (${succeeded}) stays as it is. An instance that was cancelled can be retried.`}
      </p>
      {instance.paused && <p>The pause ends.</p>}
    </ActionDialog>
  )
}

function RollBackDialog({ instance, onDone, onClose }: DialogProps) {
  const reason = useSignal('')
  const q = `key:"${(instance.start_key ?? '').replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`
  const order = { action: 'roll_back' as const, q, ...(reason.value === '' ? {} : { reason: reason.value }) }
  const why = reason.value === '' ? '' : ` --reason ${quoted(reason.value)}`
  return (
    <ActionDialog
      title="Roll back this instance"
      verb="Roll it back"
      danger
      command={`petrel bulk roll-back ${quoted(q)}${why}`}
      request={{ method: 'POST', path: '/v1/operations', body: order }}
      onClose={onClose}
      onConfirm={async () => {
        const seen = await api('POST /v1/operations', { body: { ...order, dry_run: true } })
        if ('preview' in seen && seen.preview.count !== 1) throw new Error('Its start key finds other instances, too.')
        const made = await api('POST /v1/operations', { body: order })
        await onDone()
        if ('operation' in made) go(href(`/operations/${made.operation.id}`))
        return 'It is being rolled back'
      }}
    >
      <p>
        Nothing further begins, active work may end, and then completed steps that have a compensation are undone, the
        last one first. This is a bulk operation on this one instance, found by its start key.
      </p>
      <label>
        <span>Reason, shown with the operation</span>
        <input
          type="text"
          value={reason.value}
          onInput={({ currentTarget }) => {
            reason.value = currentTarget.value
          }}
        />
      </label>
    </ActionDialog>
  )
}

function PauseDialog({ instance: { id }, onDone, onClose }: DialogProps) {
  const reason = useSignal('')
  const timeouts = useSignal<'stop' | 'run'>('stop')
  const body = { timeouts: timeouts.value, ...(reason.value === '' ? {} : { reason: reason.value }) }
  const why = reason.value === '' ? '' : ` --reason ${quoted(reason.value)}`
  const times = timeouts.value === 'stop' ? '' : ' --timeouts run'
  return (
    <ActionDialog
      title="Pause this instance"
      verb="Pause it"
      command={`petrel pause ${id}${why}${times}`}
      request={{ method: 'POST', path: `/v1/instances/${id}/pause`, body }}
      onClose={onClose}
      onConfirm={async () => {
        await api('POST /v1/instances/:id/pause', { params: { id }, body })
        await onDone()
        return 'It is paused'
      }}
    >
      <p>Active work ends as usual. Nothing new begins, in it and in everything nested in it, until it is resumed.</p>
      <label>
        <span>Reason, shown to everyone who asks why it waits</span>
        <input
          type="text"
          maxLength={500}
          value={reason.value}
          onInput={({ currentTarget }) => {
            reason.value = currentTarget.value
          }}
        />
      </label>
      <fieldset>
        <legend>Deadlines, gates, expiries and delays between attempts</legend>
        {(['stop', 'run'] as const).map((mode) => (
          <label key={mode} class="inline">
            <input
              type="radio"
              name="timeouts"
              checked={timeouts.value === mode}
              onChange={() => {
                timeouts.value = mode
              }}
            />
            {mode === 'stop' ? 'stand still, and continue at the resume' : 'run on'}
          </label>
        ))}
      </fieldset>
    </ActionDialog>
  )
}

function ContextDialog({ instance: { id }, context, onDone, onClose }: DialogProps) {
  const text = useSignal('{\n  \n}')
  let set: unknown = {}
  try {
    set = exactJson(text.value)
  } catch {
    // The field says what is wrong.
  }
  const body = { set: set as Readonly<Record<string, unknown>> }
  const entries = typeof set === 'object' && set !== null && !Array.isArray(set) ? Object.entries(set) : []
  const words = entries.map(([name, value]) => quoted(`${name}=${JSON.stringify(value)}`))
  return (
    <ActionDialog
      title="Patch the context"
      verb="Write"
      command={`petrel context ${id} ${words.join(' ')}`}
      request={{ method: 'PATCH', path: `/v1/instances/${id}/context`, body }}
      onClose={onClose}
      onConfirm={async () => {
        await api('PATCH /v1/instances/:id/context', { params: { id }, body: { set: exactJson(text.value) as never } })
        await onDone()
        return 'The context is written'
      }}
    >
      <p>Entries that you do not name keep their value; null removes one. Held steps are evaluated again.</p>
      <JsonField label="Entries, as an object" text={text} required />
      <details>
        <summary>The context now</summary>
        <pre>{context.slice(0, 20_000)}</pre>
      </details>
    </ActionDialog>
  )
}
