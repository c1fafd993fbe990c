/** Pauses, resumes and retires a definition. */
import { useSignal } from '@preact/signals'
import { api } from '../../api/client.ts'
import { go, href } from '../../browser/router.ts'
import { ActionDialog, quoted } from '../../ui/actions.tsx'

interface Props {
  readonly name: string
  readonly onClose: () => void
  readonly onDone: () => void
}

export function PauseDialog({ name, onClose, onDone }: Props) {
  const reason = useSignal('')
  const body = reason.value.trim() === '' ? {} : { reason: reason.value.trim() }
  const option = reason.value.trim() === '' ? '' : ` --reason ${quoted(reason.value.trim())}`
  return (
    <ActionDialog
      title={`Pause ${name}`}
      verb="Pause"
      command={`petrel definitions pause ${quoted(name)}${option}`}
      request={{ method: 'POST', path: `/v1/definitions/${encodeURIComponent(name)}/pause`, body }}
      onClose={onClose}
      onConfirm={async () => {
        await api('POST /v1/definitions/:name/pause', { params: { name }, body })
        onDone()
        return `${name} is paused: new instances wait.`
      }}
    >
      <p>New instances are accepted and wait in the queue. Instances that have begun continue.</p>
      <label>
        Reason <span class="dim">optional, shown to everyone who asks why it waits</span>
        <input
          value={reason.value}
          maxLength={500}
          autocomplete="off"
          onInput={(event) => {
            reason.value = event.currentTarget.value
          }}
        />
      </label>
    </ActionDialog>
  )
}

/** `version`: null: all of them. */
export function RetireDialog({ name, version, onClose, onDone }: Props & { readonly version: string | null }) {
  const all = useSignal(version === null)
  const path = `/v1/definitions/${encodeURIComponent(name)}`
  const retire = async (): Promise<string> => {
    if (all.value || version === null) {
      await api('DELETE /v1/definitions/:name', { params: { name } })
      go(href('/definitions'))
      return `${name} is retired.`
    }
    await api('DELETE /v1/definitions/:name/versions/:version', { params: { name, version } })
    onDone()
    return `${name} ${version} is retired.`
  }
  return (
    <ActionDialog
      title={`Retire ${name}`}
      verb="Retire"
      danger
      command={`petrel definitions retire ${quoted(name)}`}
      request={{
        method: 'DELETE',
        path: all.value || version === null ? path : `${path}/versions/${encodeURIComponent(version)}`,
      }}
      onClose={onClose}
      onConfirm={retire}
    >
      <p>
        Nothing starts it any more, neither by name nor by an event or a schedule. Running instances continue. Deploying
        the same text again restores it.
      </p>
      {version !== null && (
        <label class="inline">
          <input
            type="checkbox"
            checked={all.value}
            onChange={(event) => {
              all.value = event.currentTarget.checked
            }}
          />
          all its versions, not only {version}
        </label>
      )}
    </ActionDialog>
  )
}
