/** Publishes an event, and shows what it has started. */
import { useSignal } from '@preact/signals'
import { api } from '../../../api/client.ts'
import { href } from '../../../browser/router.ts'
import { ActionDialog, quoted } from '../../../ui/actions.tsx'
import { Dialog } from '../../../ui/dialog.tsx'
import { exactJson } from '../../../ui/json/exact-json.ts'
import { JsonField } from '../../../ui/json/json-field.tsx'
import type { DialogProps } from './dialogs.tsx'

type Sent = Awaited<ReturnType<typeof api<'POST /v1/events'>>>

export function EventDialog({ onDone, onClose }: Pick<DialogProps, 'onDone' | 'onClose'>) {
  const type = useSignal('')
  const id = useSignal('')
  const payload = useSignal('{}')
  const sent = useSignal<Sent | null>(null)
  if (sent.value !== null) return <EventSent sent={sent.value} onClose={onClose} />
  const body = (): { readonly type: string; readonly payload: unknown; readonly id?: string } => ({
    type: type.value,
    payload: exactJson(payload.value),
    ...(id.value === '' ? {} : { id: id.value }),
  })
  const request = (): { readonly method: string; readonly path: string; readonly body: unknown } => {
    try {
      return { method: 'POST', path: '/v1/events', body: body() }
    } catch {
      return { method: 'POST', path: '/v1/events', body: { type: type.value } }
    }
  }
  const key = id.value === '' ? '' : ` --id ${quoted(id.value)}`
  return (
    <ActionDialog
      title="Send an event"
      verb="Send it"
      command={`petrel event ${quoted(type.value === '' ? 'TYPE' : type.value)} --payload ${quoted(payload.value)}${key}`}
      request={request()}
      onClose={() => {
        if (sent.value === null) onClose()
      }}
      onConfirm={async () => {
        sent.value = await api('POST /v1/events', { body: body() })
        await onDone()
        return undefined
      }}
    >
      <p>
        Every definition whose trigger names the event starts if its condition holds: its idle instances, or else a new
        one with the payload as input.
      </p>
      <label>
        <span>Type</span>
        <input
          type="text"
          required
          placeholder="order.placed"
          value={type.value}
          onInput={({ currentTarget }) => {
            type.value = currentTarget.value
          }}
        />
      </label>
      <JsonField label="Payload" text={payload} required />
      <label>
        <span>Its id, so that sending it twice starts nothing twice (optional)</span>
        <input
          type="text"
          value={id.value}
          onInput={({ currentTarget }) => {
            id.value = currentTarget.value
          }}
        />
      </label>
    </ActionDialog>
  )
}

function EventSent({ sent, onClose }: { readonly sent: Sent; readonly onClose: () => void }) {
  return (
    <Dialog title="The event was sent" onClose={onClose}>
      <p>
        Its id is <code>{sent.id}</code>.
      </p>
      <ul>
        {sent.started.map(({ instance_id: id, name, version, created }) => (
          <li key={id}>
            {created ? 'started' : 'had started'} <bdi>{name}</bdi> {version}:{' '}
            <a href={href(`/instances/${id}`)} onClick={onClose}>
              {id}
            </a>
          </li>
        ))}
        {sent.passed.map(({ name, why }) => (
          <li key={name}>
            <bdi>{name}</bdi> did not start: <bdi>{why}</bdi>
          </li>
        ))}
      </ul>
      <div class="row end">
        <button type="button" onClick={onClose}>
          Close
        </button>
      </div>
    </Dialog>
  )
}
