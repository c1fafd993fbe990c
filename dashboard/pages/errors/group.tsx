/** One group of failures: what failed, how often, where; what can be done about it, and whether it helps. */
import { useSignal } from '@preact/signals'
import { api } from '../../api/client.ts'
import { useLive } from '../../api/live.ts'
import { href } from '../../browser/router.ts'
import { type Action, ActionButton, usePageActions, whyNot } from '../../ui/actions.tsx'
import { OrderDialog } from '../../ui/bulk/order-dialog.tsx'
import { CopyButton } from '../../ui/copy.tsx'
import { Moment } from '../../ui/moments.tsx'
import { Problem } from '../../ui/problem.tsx'
import { filter } from '../../ui/search/query.ts'
import { type Change, ChangeDialog, changesOf } from './changes.tsx'
import { Example } from './example.tsx'
import { Members } from './members.tsx'
import { type ErrorGroup, GroupState, instancesOf, isOfRuns, runsOf, unrepaired } from './parts.tsx'
import { type Left, Repair, useLeft, useRepairs } from './repair.tsx'

interface Read {
  readonly group: ErrorGroup
  readonly example: Parameters<typeof Example>[0]['run']
}

export default function ErrorGroupPage({ params }: { readonly params: Readonly<Record<string, string>> }) {
  const fingerprint = params['fingerprint'] ?? ''
  const live = useLive<Read>(
    `error group ${fingerprint}`,
    (signal) => api('GET /v1/error-groups/:fingerprint', { params: { fingerprint }, signal }),
    { atMostEveryMs: 2_000, concerns: ({ areas }) => areas.has('errors') },
  )
  const read = live.data.value
  if (read === null) {
    return live.error.value === null ? <p class="dim">Loading …</p> : <Problem error={live.error.value} />
  }
  return (
    <>
      {live.error.value !== null && <Problem error={live.error.value} />}
      <Group read={read} refresh={() => live.refresh()} />
    </>
  )
}

function Group({ read: { group, example }, refresh }: { readonly read: Read; readonly refresh: () => Promise<void> }) {
  const left = useLeft(group)
  const repairs = useRepairs(group)
  const ordering = useSignal(false)
  const changing = useSignal<Change | null>(null)
  const { target, query } = unrepaired(group)
  const repair = repairAction(group, left.data.value, () => {
    ordering.value = true
  })
  const changes = changesOf(group, (change) => {
    changing.value = change
  })
  usePageActions([repair, ...changes], [group.fingerprint, group.state, left.data.value?.count === 0])
  return (
    <>
      <p class="dim crumbs">
        <a href={href('/errors')}>Errors</a>
      </p>
      <h1 class="error-title">
        <bdi title={group.message}>{group.message === '' ? 'no message' : group.message}</bdi>
      </h1>
      <div class="row page-head">
        <GroupState group={group} />
        <span class="grow dim">{stateWords(group)}</span>
        <PrimaryButton action={repair} />
        {changes.map((action) => (
          <ActionButton key={action.id} action={action} />
        ))}
      </div>
      <div class="columns">
        <div>
          <Repair group={group} left={left} repairs={repairs} />
          <Facts group={group} />
          <Members group={group} />
        </div>
        <Example group={group} run={example} />
      </div>
      {ordering.value && (
        <OrderDialog
          target={target}
          query={query}
          action={target === 'instances' ? 'retry' : 'redrive'}
          fixed
          onClose={() => {
            ordering.value = false
          }}
          onOrdered={() => void Promise.all([repairs.refresh(), left.refresh()])}
        />
      )}
      {changing.value !== null && (
        <ChangeDialog
          change={changing.value}
          group={group}
          onClose={() => {
            changing.value = null
          }}
          onChanged={refresh}
        />
      )}
    </>
  )
}

/** The way out of most failures, so it stands out. */
function PrimaryButton({ action }: { readonly action: Action }) {
  return (
    <span class={whyNot(action) === null ? 'primary-action' : ''}>
      <ActionButton action={action} />
    </span>
  )
}

function repairAction(group: ErrorGroup, left: Left | null, open: () => void): Action {
  const { target, query } = unrepaired(group)
  const isRetry = target === 'instances'
  return {
    id: 'repair',
    label: isRetry ? 'Retry all …' : 'Redrive all …',
    hint: `${isRetry ? 'Retry every failed instance' : 'Redrive every failed run'} of this group, at a rate`,
    scope: 'admin',
    key: 'a',
    unavailable: left?.count === 0 ? 'nothing of this group is left to be repaired' : null,
    command: `petrel bulk ${isRetry ? 'retry' : 'redrive'} '${query}' --rate 600 --yes`,
    request: {
      method: 'POST',
      path: '/v1/operations',
      body: { action: isRetry ? 'retry' : 'redrive', target, q: query, rate_per_minute: 600 },
    },
    run: () => {
      open()
      return undefined
    },
  }
}

function stateWords(group: ErrorGroup) {
  const { state, regressed, state_since: since, state_by: by, reason } = group
  const { ignored_until_count: count, ignored_until: until } = group
  return (
    <>
      {regressed && state === 'open' ? 'had been resolved; open again since' : 'since'} <Moment at={since} />
      {by !== null && (
        <>
          {' '}
          by <bdi>{by}</bdi>
        </>
      )}
      {reason !== null && (
        <>
          : <bdi>{reason}</bdi>
        </>
      )}
      {count !== null && `, until its count is ${count.toLocaleString('en')}`}
      {until !== null && (
        <>
          , opens with the first failure <Moment at={until} />
        </>
      )}
    </>
  )
}

function Facts({ group }: { readonly group: ErrorGroup }) {
  const {
    type,
    code,
    node,
    count,
    first_seen: first,
    last_seen: last,
    definitions,
    workers,
    tenant,
    fingerprint,
  } = group
  const list = isOfRuns(group)
    ? { path: '/runs', q: runsOf(group), words: 'runs that are failed' }
    : { path: '/instances', q: instancesOf(group), words: 'instances in which it failed' }
  return (
    <section class="card">
      <h2>What failed</h2>
      <dl class="facts">
        <dt>Failures</dt>
        <dd>
          <strong>{count.toLocaleString('en')}</strong> · <a href={href(list.path, { q: list.q })}>{list.words}</a>
        </dd>
        <dt>Seen</dt>
        <dd>
          first <Moment at={first} />, last <Moment at={last} />
        </dd>
        <dt>Type</dt>
        <dd>
          <a href={href('/runs', { q: filter('type', type) })}>
            <bdi>{type}</bdi>
          </a>
        </dd>
        <dt>Code</dt>
        <dd>{code === '' ? <span class="dim">–</span> : <CodeLink code={code} group={group} />}</dd>
        <dt>Step</dt>
        <dd>{node === null ? <span class="dim">none: a bare run</span> : <bdi>{node}</bdi>}</dd>
        <dt>Workflows</dt>
        <dd>
          <Names
            names={definitions}
            address={(name) => href('/instances', { q: `${filter('name', name)} ${instancesOf(group)}` })}
          />
        </dd>
        <dt>Workers</dt>
        <dd>
          <Names names={workers} address={(name) => href('/runs', { q: filter('worker', name) })} />
        </dd>
        {tenant !== null && (
          <>
            <dt>Tenant</dt>
            <dd>
              <bdi>{tenant}</bdi>
            </dd>
          </>
        )}
        <dt>Fingerprint</dt>
        <dd>
          <code>{fingerprint}</code> <CopyButton text={fingerprint} label="copy" />
        </dd>
      </dl>
    </section>
  )
}

function CodeLink({ code, group }: { readonly code: string; readonly group: ErrorGroup }) {
  return (
    <a href={href(isOfRuns(group) ? '/runs' : '/instances', { q: filter('error', code) })}>
      <bdi>{code}</bdi>
    </a>
  )
}

function Names({ names, address }: { readonly names: readonly string[]; readonly address: (name: string) => string }) {
  if (names.length === 0) return <span class="dim">–</span>
  return (
    <>
      {names.map((name, i) => (
        <span key={name}>
          {i > 0 && ', '}
          <a href={address(name)}>
            <bdi>{name}</bdi>
          </a>
        </span>
      ))}
    </>
  )
}
