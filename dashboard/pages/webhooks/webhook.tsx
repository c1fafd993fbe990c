/** One subscription and its deliveries. */
import { useSignal } from '@preact/signals'
import { useMemo } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { useLive } from '../../api/live.ts'
import { session } from '../../api/session.ts'
import { go, href } from '../../browser/router.ts'
import { type Action, ActionButton, ActionDialog, usePageActions } from '../../ui/actions.tsx'
import { CopyButton } from '../../ui/copy.tsx'
import { Moment } from '../../ui/moments.tsx'
import { Problem } from '../../ui/problem.tsx'
import { SecretDialog } from '../../ui/secret.tsx'
import { State } from '../../ui/state.tsx'
import { toast } from '../../ui/toast.tsx'
import { Deliveries } from './deliveries.tsx'
import type { Webhook } from './webhooks.tsx'

const BASE = '/ojs/v1/webhooks/subscriptions'

export default function WebhookPage({ params }: { readonly params: Readonly<Record<string, string>> }) {
  const id = params['id'] ?? ''
  const { data, error, refresh } = useLive(
    id,
    async (signal) => (await api('GET /ojs/v1/webhooks/subscriptions/:id', { params: { id }, signal })).subscription,
    { everyMs: 10_000 },
  )
  if (data.value === null) {
    return (
      <>
        <h1>Webhook</h1>
        {error.value === null ? <p class="dim">Loading …</p> : <Problem error={error.value} />}
      </>
    )
  }
  return <View webhook={data.value} refresh={() => void refresh()} />
}

function View({ webhook, refresh }: { readonly webhook: Webhook; readonly refresh: () => void }) {
  const asking = useSignal<'delete' | 'rotate' | null>(null)
  const secret = useSignal<string | null>(null)
  const close = (): void => {
    asking.value = null
  }
  const actions = useMemo(
    () =>
      actionsOf(webhook, refresh, (what) => {
        asking.value = what
      }),
    [webhook, session.value],
  )
  usePageActions(actions, [actions])
  return (
    <>
      <p class="dim">
        <a href={href('/webhooks')}>Webhooks</a>
      </p>
      <h1>
        <bdi>{webhook.url}</bdi> {webhook.active ? <State state="active" /> : <State state="idle" label="off" />}
      </h1>
      <Facts webhook={webhook} />
      <div class="row webhook-actions">
        {actions.map((action) => (
          <ActionButton key={action.id} action={action} />
        ))}
      </div>
      <Deliveries id={webhook.id} />
      {asking.value === 'delete' && <DeleteDialog id={webhook.id} onClose={close} />}
      {asking.value === 'rotate' && (
        <RotateDialog
          id={webhook.id}
          onClose={close}
          onSecret={(text) => {
            secret.value = text
            refresh()
          }}
        />
      )}
      {secret.value !== null && (
        <SecretDialog
          title="The new secret"
          what="For a day, deliveries carry a signature with the old secret as well. It is shown only now."
          secret={secret.value}
          onClose={() => {
            secret.value = null
          }}
        />
      )}
    </>
  )
}

function Facts({ webhook }: { readonly webhook: Webhook }) {
  const { id, events, filter, ordered, max_attempts: attempts, timeout_ms: timeout, failure_count: failures } = webhook
  const only = [
    ...(filter?.queues ?? []).map((one) => `queue ${one}`),
    ...(filter?.job_types ?? []).map((one) => `type ${one}`),
  ]
  return (
    <dl class="facts">
      <dt>Events</dt>
      <dd>
        <bdi>{events.join(', ')}</bdi>
        {only.length > 0 && (
          <>
            , only of <bdi>{only.join(', ')}</bdi>
          </>
        )}
      </dd>
      <dt>How</dt>
      <dd>
        {ordered ? 'in order, one at a time' : 'up to eight at once'}, at most {attempts} attempts of {timeout / 1000} s
      </dd>
      <dt>Last delivery</dt>
      <dd>
        <Moment at={webhook.last_delivery_at} />
        {webhook.last_delivery_status !== undefined && `, response ${webhook.last_delivery_status}`}
        {failures > 0 && `, ${failures} failed attempts since the last success`}
      </dd>
      <dt>Created</dt>
      <dd>
        <Moment at={webhook.created_at} />
        {webhook.created_by !== undefined && (
          <>
            {' '}
            by <bdi>{webhook.created_by}</bdi>
          </>
        )}
      </dd>
      <dt>Id</dt>
      <dd>
        <code>{id}</code> <CopyButton text={id} label="copy" />
      </dd>
    </dl>
  )
}

function actionsOf(
  { id, active }: Webhook,
  refresh: () => void,
  ask: (what: 'delete' | 'rotate') => void,
): readonly Action[] {
  const path = `${BASE}/${id}`
  const params = { id }
  const asking = (what: 'delete' | 'rotate') => () => {
    ask(what)
    return undefined
  }
  const toggle = async (): Promise<string> => {
    await api('PATCH /ojs/v1/webhooks/subscriptions/:id', { params, body: { active: !active } })
    refresh()
    return active ? 'Nothing is sent any more.' : 'Events from now on are sent.'
  }
  const test = async (): Promise<string | undefined> => {
    const {
      success,
      status_code: status,
      error,
      response_time_ms: ms,
    } = await api('POST /ojs/v1/webhooks/subscriptions/:id/test', { params })
    if (success) return `The receiver accepted the test event: ${status} after ${ms} ms.`
    toast({ kind: 'error', text: `The receiver did not accept the test event: ${status ?? error ?? 'no answer'}.` })
    return undefined
  }
  return [
    {
      id: 'test',
      label: 'Send a test',
      hint: 'an event of type webhook.test, now',
      scope: 'admin',
      key: 't',
      request: { method: 'POST', path: `${path}/test` },
      run: test,
    },
    {
      id: 'toggle',
      label: active ? 'Turn off' : 'Turn on',
      hint: active ? 'events in the meantime are not kept' : 'from now on',
      scope: 'admin',
      request: { method: 'PATCH', path, body: { active: !active } },
      run: toggle,
    },
    {
      id: 'rotate',
      label: 'Change the secret …',
      scope: 'admin',
      request: { method: 'POST', path: `${path}/rotate-secret` },
      run: asking('rotate'),
    },
    {
      id: 'delete',
      label: 'Delete …',
      scope: 'admin',
      danger: true,
      request: { method: 'DELETE', path },
      run: asking('delete'),
    },
  ]
}

function DeleteDialog({ id, onClose }: { readonly id: string; readonly onClose: () => void }) {
  return (
    <ActionDialog
      title="Delete the subscription"
      verb="Delete"
      danger
      request={{ method: 'DELETE', path: `${BASE}/${id}` }}
      onClose={onClose}
      onConfirm={async () => {
        await api('DELETE /ojs/v1/webhooks/subscriptions/:id', { params: { id } })
        go(href('/webhooks'))
        return 'The subscription is deleted.'
      }}
    >
      <p>Its deliveries are deleted with it, including those that have not been sent yet.</p>
    </ActionDialog>
  )
}

function RotateDialog(props: {
  readonly id: string
  readonly onClose: () => void
  readonly onSecret: (secret: string) => void
}) {
  const { id, onClose, onSecret } = props
  return (
    <ActionDialog
      title="Change the secret"
      verb="Change the secret"
      request={{ method: 'POST', path: `${BASE}/${id}/rotate-secret` }}
      onClose={onClose}
      onConfirm={async () => {
        const { secret } = await api('POST /ojs/v1/webhooks/subscriptions/:id/rotate-secret', {
          params: { id },
          body: {},
        })
        onSecret(secret ?? '')
        return undefined
      }}
    >
      <p>
        For a day, each delivery carries a signature with both secrets, so that receivers can be changed without a gap.
      </p>
    </ActionDialog>
  )
}
