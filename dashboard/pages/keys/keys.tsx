/** API keys: who may use the server, and with which scopes and roles. */
import { type Signal, useSignal } from '@preact/signals'
import { useMemo } from 'preact/hooks'
import type { Answer } from '../../api/answer.ts'
import { api } from '../../api/client.ts'
import { useLive } from '../../api/live.ts'
import { queryValue } from '../../api/query-value.ts'
import { refusal, session, signOut } from '../../api/session.ts'
import { href, param, setQuery } from '../../browser/router.ts'
import { type Action, ActionButton, usePageActions } from '../../ui/actions.tsx'
import { Empty } from '../../ui/empty.tsx'
import { Moment } from '../../ui/moments.tsx'
import { Problem } from '../../ui/problem.tsx'
import { type Column, Rows } from '../../ui/rows.tsx'
import { State } from '../../ui/state.tsx'
import { Tabs } from '../../ui/tabs.tsx'
import { Audit } from './audit.tsx'
import { AddKeyDialog, RevokeDialog } from './key-dialogs.tsx'
import { type KeyState, stateOf } from './key-state.ts'

export type ApiKey = Answer<'GET /v1/keys'>['keys'][number]
interface Row extends ApiKey {
  readonly state: KeyState
}

const FIRST = 'petrel keys add --subject ci --scope read enqueue'

export default function Keys() {
  const refused = refusal('admin')
  return (
    <>
      <h1>Keys and audit</h1>
      <Self />
      {refused === null ? (
        <Tabs
          label="Keys and audit"
          tabs={[
            { id: 'keys', title: 'Keys', content: () => <List /> },
            { id: 'audit', title: 'Audit', content: () => <Audit /> },
          ]}
        />
      ) : (
        <Empty what={`Keys and the audit cannot be shown: ${refused}.`} command="petrel keys ls" />
      )}
    </>
  )
}

function List() {
  const held = useSignal(false)
  const selected = useSignal<string | null>(null)
  const asking = useSignal<'add' | 'revoke' | null>(null)
  const { rows, live } = useKeyRows(held)
  const chosen = rows.find(({ id }) => id === selected.value) ?? null
  const actions = useMemo(
    () =>
      actionsOf(chosen, (what) => {
        asking.value = what
      }),
    [chosen, session.value],
  )
  usePageActions(actions, [actions])
  const close = (): void => {
    asking.value = null
  }
  const onDone = (): void => void live.refresh().then(() => live.show())
  return (
    <>
      <div class="row filters">
        <input
          type="search"
          class="narrow"
          data-search
          aria-label="Subject, role or tenant"
          placeholder="Subject, role or tenant"
          value={param('q')}
          onInput={(event) => setQuery({ q: event.currentTarget.value })}
        />
        <label class="inline grow hint">
          <input
            type="checkbox"
            checked={param('ended') === 'true'}
            onChange={(event) => setQuery({ ended: event.currentTarget.checked ? 'true' : null })}
          />
          revoked and expired ones
        </label>
        {actions.map((action) => (
          <ActionButton key={action.id} action={action} />
        ))}
      </div>
      {live.error.value !== null && <Problem error={live.error.value} />}
      {live.data.value !== null && (
        <Rows
          label="API keys"
          rows={rows}
          columns={COLUMNS}
          keyOf={({ id }) => id}
          onSelect={({ id }) => {
            selected.value = id
          }}
          held={held}
          empty={
            live.data.value.length === 0 ? <Empty what="No key exists yet." command={FIRST} /> : <p>No key matches.</p>
          }
        />
      )}
      {asking.value === 'add' && <AddKeyDialog onClose={close} onDone={onDone} />}
      {asking.value === 'revoke' && chosen !== null && <RevokeDialog apiKey={chosen} onClose={close} onDone={onDone} />}
    </>
  )
}

function useKeyRows(held: Signal<boolean>) {
  const live = useLive('keys', async (signal) => (await api('GET /v1/keys', { signal })).keys, {
    hold: held,
    concerns: () => false,
    everyMs: 15_000,
  })
  const wanted = param('q').toLowerCase()
  const rows = (live.data.value ?? [])
    .map((key): Row => ({ ...key, state: stateOf(key, Date.now()) }))
    .filter(({ state }) => state === 'active' || param('ended') === 'true')
    .filter(({ id, subject, roles, tenant }) =>
      [id, subject, tenant ?? '', ...roles].some((text) => text.toLowerCase().includes(wanted)),
    )
    .reverse()
  return { rows, live }
}

function actionsOf(chosen: Row | null, ask: (what: 'add' | 'revoke') => void): readonly Action[] {
  const asking = (what: 'add' | 'revoke') => () => {
    ask(what)
    return undefined
  }
  const id = chosen?.id ?? 'ID'
  return [
    {
      id: 'add',
      label: 'Add a key …',
      scope: 'admin',
      key: 'n',
      command: FIRST,
      request: { method: 'POST', path: '/v1/keys', body: { subject: 'ci', scopes: ['read', 'enqueue'] } },
      run: asking('add'),
    },
    {
      id: 'revoke',
      label: 'Revoke …',
      scope: 'admin',
      key: 'x',
      danger: true,
      unavailable:
        chosen === null ? 'no key is selected' : chosen.state === 'revoked' ? 'the key is revoked already' : null,
      command: `petrel keys revoke ${id}`,
      request: { method: 'DELETE', path: `/v1/keys/${id}` },
      run: asking('revoke'),
    },
  ]
}

/** The user's own sign-in. */
function Self() {
  const who = session.value
  if (who === null) return null
  const { subject, scopes, roles, tenant, signed_in: isSignedIn } = who
  return (
    <section class="card self">
      <div class="row">
        <span class="grow">
          You are <strong>{subject === null ? 'not named' : <bdi>{subject}</bdi>}</strong>
          {tenant !== null && (
            <>
              {' '}
              of the tenant <bdi>{tenant}</bdi>
            </>
          )}
          , with the scopes {scopes.join(', ')}
          {roles.length > 0 && (
            <>
              {' '}
              and the roles <bdi>{roles.join(', ')}</bdi>
            </>
          )}
          .
        </span>
        {isSignedIn && (
          <button type="button" onClick={() => void signOut()}>
            Sign out
          </button>
        )}
      </div>
    </section>
  )
}

const LOOKS = { active: 'active', expired: 'idle', revoked: 'cancelled' } as const

const COLUMNS: readonly Column<Row>[] = [
  { key: 'state', title: 'State', width: '6.5rem', cell: ({ state }) => <State state={LOOKS[state]} label={state} /> },
  {
    key: 'subject',
    title: 'Subject',
    width: 'minmax(5rem, 2fr)',
    cell: ({ subject }) => <bdi title={subject}>{subject}</bdi>,
  },
  {
    key: 'work',
    title: 'Work',
    width: '5rem',
    optional: true,
    cell: ({ subject }) => (
      <a href={href('/instances', { q: `initiator:${queryValue(subject)}` })} title={`what ${subject} has started`}>
        started
      </a>
    ),
  },
  {
    key: 'scopes',
    title: 'Scopes',
    width: 'minmax(5rem, 1.5fr)',
    cell: ({ scopes }) => <span title={scopes.join(', ')}>{scopes.join(', ')}</span>,
  },
  {
    key: 'roles',
    title: 'Roles',
    width: 'minmax(4rem, 1.5fr)',
    optional: true,
    cell: ({ roles }) => <bdi title={roles.join(', ')}>{roles.join(', ') || '–'}</bdi>,
  },
  {
    key: 'tenant',
    title: 'Tenant',
    width: 'minmax(4rem, 1fr)',
    optional: true,
    cell: ({ tenant }) => (tenant === null ? <span class="dim">all</span> : <bdi title={tenant}>{tenant}</bdi>),
  },
  { key: 'created', title: 'Created', width: '7rem', optional: true, cell: ({ created_at: at }) => <Moment at={at} /> },
  {
    key: 'expires',
    title: 'Expires',
    width: '7rem',
    optional: true,
    cell: ({ expires_at: at, revoked_at: revoked }) =>
      revoked !== null ? (
        <span title="revoked">
          <Moment at={revoked} />
        </span>
      ) : at === null ? (
        <span class="dim">never</span>
      ) : (
        <Moment at={at} />
      ),
  },
  {
    key: 'id',
    title: 'Id',
    width: '9.5rem',
    optional: true,
    cell: ({ id }) => <code title={id}>{id}</code>,
  },
]
