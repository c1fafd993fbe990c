/** Adds a key, whose secret is shown once, and revokes one. */
import { useSignal } from '@preact/signals'
import { api } from '../../api/client.ts'
import { session } from '../../api/session.ts'
import { ActionDialog, quoted } from '../../ui/actions.tsx'
import { Moment } from '../../ui/moments.tsx'
import { InputError } from '../../ui/problem.tsx'
import { SecretDialog } from '../../ui/secret.tsx'
import type { ApiKey } from './keys.tsx'

interface Props {
  readonly onClose: () => void
  readonly onDone: () => void
}

const SCOPES = [
  ['read', 'sees everything'],
  ['enqueue', 'starts, cancels, retries work and votes at gates'],
  ['work', 'takes runs and reports them'],
  ['admin', 'everything, with keys, pauses and definitions'],
] as const
type Scope = (typeof SCOPES)[number][0]

export function AddKeyDialog({ onClose, onDone }: Props) {
  const secret = useSignal<string | null>(null)
  if (secret.value !== null) {
    return (
      <SecretDialog
        title="The new key"
        what="It is stored nowhere and shown only now. Programs send it as “Authorization: Bearer KEY”."
        secret={secret.value}
        onClose={onClose}
      />
    )
  }
  return (
    <AskForKey
      onClose={() => secret.value === null && onClose()}
      onMade={(text) => {
        secret.value = text
        onDone()
      }}
    />
  )
}

function AskForKey({ onClose, onMade }: { readonly onClose: () => void; readonly onMade: (secret: string) => void }) {
  const subject = useSignal('')
  const scopes = useSignal<readonly Scope[]>(['read'])
  const roles = useSignal('')
  const tenant = useSignal('')
  const expires = useSignal('')
  const names = namesIn(roles.value)
  const body = {
    subject: subject.value.trim(),
    scopes: scopes.value,
    ...(names.length === 0 ? {} : { roles: names }),
    ...(tenant.value.trim() === '' ? {} : { tenant: tenant.value.trim() }),
    ...(expires.value.trim() === '' ? {} : { expires_in: expires.value.trim() }),
  }
  const command = [
    `petrel keys add --subject ${quoted(body.subject || 'NAME')} --scope ${scopes.value.join(' ')}`,
    names.length === 0 ? '' : `--role ${names.map(quoted).join(' ')}`,
    body.tenant === undefined ? '' : `--tenant ${quoted(body.tenant)}`,
    body.expires_in === undefined ? '' : `--expires ${quoted(body.expires_in)}`,
  ]
  const add = async (): Promise<undefined> => {
    if (body.subject === '') throw new InputError('The key needs a subject: the name of whom or what it stands for.')
    if (scopes.value.length === 0) throw new InputError('Choose at least one scope.')
    const { secret } = await api('POST /v1/keys', { body })
    onMade(secret)
    return undefined
  }
  const own = session.value?.tenant ?? null
  return (
    <ActionDialog
      title="Add a key"
      verb="Add the key"
      command={command.filter((part) => part !== '').join(' ')}
      request={{ method: 'POST', path: '/v1/keys', body }}
      onClose={onClose}
      onConfirm={add}
    >
      <Line label="Subject" help="recorded as the actor of whatever is done with it" text={subject} />
      <ScopeChoice scopes={scopes.value} onScopes={(chosen) => (scopes.value = chosen)} />
      <Line label="Roles" help="optional, separated by commas; for votes at gates" text={roles} />
      {own === null ? (
        <Line label="Tenant" help="optional; empty: all tenants" text={tenant} />
      ) : (
        <p class="dim">
          It belongs to your tenant, <bdi>{own}</bdi>.
        </p>
      )}
      <Line label="Valid for" help="such as 12h or 90d; empty: until it is revoked" text={expires} />
    </ActionDialog>
  )
}

function ScopeChoice(props: {
  readonly scopes: readonly Scope[]
  readonly onScopes: (scopes: readonly Scope[]) => void
}) {
  const { scopes, onScopes } = props
  return (
    <fieldset class="schema-group">
      <legend>Scopes</legend>
      {SCOPES.map(([scope, what]) => (
        <label key={scope} class="scope">
          <input
            type="checkbox"
            checked={scopes.includes(scope)}
            onChange={(event) =>
              onScopes(event.currentTarget.checked ? [...scopes, scope] : scopes.filter((one) => one !== scope))
            }
          />{' '}
          {scope} <span class="dim">{what}</span>
        </label>
      ))}
    </fieldset>
  )
}

function Line(props: { readonly label: string; readonly help: string; readonly text: { value: string } }) {
  const { label, help, text } = props
  return (
    <label>
      {label} <span class="dim">{help}</span>
      <input
        value={text.value}
        autocomplete="off"
        onInput={(event) => {
          text.value = event.currentTarget.value
        }}
      />
    </label>
  )
}

export function RevokeDialog({ apiKey: key, onClose, onDone }: Props & { readonly apiKey: ApiKey }) {
  return (
    <ActionDialog
      title="Revoke a key"
      verb="Revoke"
      danger
      command={`petrel keys revoke ${key.id}`}
      request={{ method: 'DELETE', path: `/v1/keys/${key.id}` }}
      onClose={onClose}
      onConfirm={async () => {
        await api('DELETE /v1/keys/:id', { params: { id: key.id } })
        onDone()
        return `The key of ${key.subject} is revoked.`
      }}
    >
      <p>
        The key of <bdi>{key.subject}</bdi>, made <Moment at={key.created_at} />, is refused permanently within two
        seconds, and sign-ins with it end.
      </p>
    </ActionDialog>
  )
}

function namesIn(text: string): readonly string[] {
  return text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
}
