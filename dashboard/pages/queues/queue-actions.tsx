/** Pause, resume and limit a queue. */
import { useSignal } from '@preact/signals'
import { api } from '../../api/client.ts'
import { type Action, ActionButton, ActionDialog, quoted, usePageActions } from '../../ui/actions.tsx'

interface Props {
  readonly name: string
  readonly paused: boolean
  readonly onDone: () => Promise<void>
}

export function QueueActions({ name, paused, onDone }: Props) {
  const asks = useSignal(false)
  const verb = paused ? 'resume' : 'pause'
  const actions: readonly Action[] = [
    {
      id: verb,
      label: paused ? 'Resume' : 'Pause',
      hint: paused ? 'Workers get its runs again' : 'It accepts runs and hands out none; active ones may end',
      scope: 'admin',
      key: 'p',
      command: `petrel queues --${verb} ${quoted(name)}`,
      request: { method: 'POST', path: `/ojs/v1/admin/queues/${encodeURIComponent(name)}/${verb}` },
      run: async () => {
        await api(`POST /ojs/v1/admin/queues/:name/${verb}`, { params: { name } })
        await onDone()
        return `Queue ${name} is ${verb}d`
      },
    },
    {
      id: 'limit',
      label: 'Set limits …',
      hint: 'How many runs may be active, and how many may start per period',
      scope: 'admin',
      key: 'l',
      run: () => {
        asks.value = true
        return undefined
      },
    },
  ]
  usePageActions(actions, [name, paused])
  return (
    <>
      {actions.map((action) => (
        <ActionButton key={action.id} action={action} />
      ))}
      {asks.value && (
        <LimitDialog
          name={name}
          onDone={onDone}
          onClose={() => {
            asks.value = false
          }}
        />
      )}
    </>
  )
}

/** An empty field leaves the setting as it is; a dash removes it. */
function LimitDialog({ name, onDone, onClose }: Omit<Props, 'paused'> & { readonly onClose: () => void }) {
  const concurrency = useSignal('')
  const rate = useSignal('')
  const period = useSignal('PT1M')
  const body = {
    ...setting('concurrency', concurrency.value, Number),
    ...setting('rate_limit', rate.value, (text) => ({ limit: Number(text), period: period.value })),
  }
  return (
    <ActionDialog
      title={`Limits of queue ${name}`}
      verb="Set"
      request={{ method: 'PUT', path: `/ojs/v1/admin/queues/${encodeURIComponent(name)}/config`, body }}
      onClose={onClose}
      onConfirm={async () => {
        await api('PUT /ojs/v1/admin/queues/:name/config', { params: { name }, body })
        await onDone()
        return `The limits of queue ${name} are set`
      }}
    >
      <p class="dim">An empty field leaves a setting as it is; “-” removes it.</p>
      <Field label="Active at the same time" value={concurrency} />
      <Field label="Starts per period" value={rate} />
      <label>
        Period
        <select
          value={period.value}
          onChange={(event) => {
            period.value = event.currentTarget.value
          }}
        >
          <option value="PT1S">a second</option>
          <option value="PT1M">a minute</option>
          <option value="PT1H">an hour</option>
        </select>
      </label>
    </ActionDialog>
  )
}

function Field({ label, value }: { readonly label: string; readonly value: { value: string } }) {
  return (
    <label>
      {label}
      <input
        inputMode="numeric"
        pattern="-|[0-9]*"
        title="a whole number, or - to remove the limit"
        value={value.value}
        onInput={(event) => {
          value.value = event.currentTarget.value
        }}
      />
    </label>
  )
}

function setting<K extends string, V>(name: K, text: string, read: (text: string) => V): { [N in K]?: V } {
  if (text === '') return {}
  return { [name]: text === '-' ? null : read(text) } as { [N in K]?: V }
}
