/** Subscribes to events; the secret is shown once. */
import { useSignal } from '@preact/signals'
import { api } from '../../api/client.ts'
import { go, href } from '../../browser/router.ts'
import { ActionDialog } from '../../ui/actions.tsx'
import { readForm, SchemaForm, useSchemaForm } from '../../ui/form/schema-form.tsx'
import { SecretDialog } from '../../ui/secret.tsx'

const FORM = {
  type: 'object',
  required: ['url', 'events'],
  properties: {
    url: { type: 'string', title: 'Receiver', format: 'uri', description: 'https, to a public address' },
    events: {
      type: 'array',
      title: 'Events',
      description: 'types of events, such as job.completed, workflow.* or *',
      items: { type: 'string' },
      minItems: 1,
      maxItems: 100,
      default: ['*'],
    },
    ordered: {
      type: 'boolean',
      title: 'In order',
      default: false,
      description: 'one at a time; a failed delivery delays those after it',
    },
    queues: { type: 'array', title: 'Only of these queues', items: { type: 'string' } },
    job_types: { type: 'array', title: 'Only of these types', items: { type: 'string' } },
    max_attempts: { type: 'integer', title: 'Attempts', minimum: 1, maximum: 20 },
  },
}

interface Asked {
  readonly url: string
  readonly events: readonly string[]
  readonly ordered?: boolean
  readonly queues?: readonly string[]
  readonly job_types?: readonly string[]
  readonly max_attempts?: number
}

export function SubscribeDialog({ onClose }: { readonly onClose: () => void }) {
  const form = useSchemaForm(FORM)
  const made = useSignal<{ readonly id: string; readonly secret: string } | null>(null)
  if (made.value !== null) {
    const { id, secret } = made.value
    return (
      <SecretDialog
        title="The secret of the subscription"
        what="Receivers check the signature of each delivery with it. It is shown only now."
        secret={secret}
        onClose={() => {
          onClose()
          go(href(`/webhooks/${encodeURIComponent(id)}`))
        }}
      />
    )
  }
  const subscribe = async (): Promise<undefined> => {
    const { queues, job_types: types, ...rest } = readForm(form) as Asked
    const filter = { ...(queues === undefined ? {} : { queues }), ...(types === undefined ? {} : { job_types: types }) }
    const body = { ...rest, ...(Object.keys(filter).length === 0 ? {} : { filter }) }
    const { subscription } = await api('POST /ojs/v1/webhooks/subscriptions', { body })
    made.value = { id: subscription.id, secret: subscription.secret ?? '' }
    return undefined
  }
  return (
    <ActionDialog
      title="Subscribe to events"
      verb="Subscribe"
      request={{
        method: 'POST',
        path: '/ojs/v1/webhooks/subscriptions',
        body: { url: 'https://example.com/hooks', events: ['*'] },
      }}
      onClose={() => made.value === null && onClose()}
      onConfirm={subscribe}
    >
      <SchemaForm model={form} label="The subscription" />
    </ActionDialog>
  )
}
