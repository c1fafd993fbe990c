/** One group of failures: what failed, how often, where; what can be done about it, and whether it helps. */
import { useSignal } from '@preact/signals'
import { api } from '../../api/client.ts'
import { useLive } from '../../api/live.ts'
import { href } from '../../browser/router.ts'
import { type Action, ActionButton, usePageActions, whyNot } from '../../ui/actions.tsx'
import { OrderDialog } from '../../ui/bulk/order-dialog.tsx'
import { Moment } from '../../ui/moments.tsx'
import { Problem } from '../../ui/problem.tsx'
import { type Change, ChangeDialog, changesOf } from './changes.tsx'
import { Example } from './example.tsx'
import { Facts } from './facts.tsx'
import { Members } from './members.tsx'
import { type ErrorGroup, GroupState, unrepaired } from './parts.tsx'
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
    return (
      <>
        <h1>Error group</h1>
        {live.error.value === null ? <p class="dim">Loading …</p> : <Problem error={live.error.value} />}
      </>
    )
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
