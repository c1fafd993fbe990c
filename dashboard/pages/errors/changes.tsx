/** Resolves, ignores or reopens a group, each with a reason. */
import { useSignal } from '@preact/signals'
import { api } from '../../api/client.ts'
import { type Action, ActionDialog, quoted } from '../../ui/actions.tsx'
import { TextField } from '../../ui/bulk/order-dialog.tsx'
import type { ErrorGroup } from './parts.tsx'

export type Change = 'resolve' | 'ignore' | 'reopen'

const ALREADY: Readonly<Record<Change, ErrorGroup['state']>> = {
  resolve: 'resolved',
  ignore: 'ignored',
  reopen: 'open',
}

const WORDS = {
  resolve: {
    label: 'Resolve …',
    verb: 'Resolve',
    hint: 'The cause does not exist any more; a failure after this opens it again',
    key: 'r',
  },
  ignore: { label: 'Ignore …', verb: 'Ignore', hint: 'Known: until it recurs so often, or for a time', key: 'i' },
  reopen: { label: 'Reopen …', verb: 'Reopen', hint: 'It needs attention again', key: 'o' },
} as const

export function changesOf({ fingerprint, state }: ErrorGroup, open: (change: Change) => void): readonly Action[] {
  const changes: readonly Change[] = state === 'open' ? ['resolve', 'ignore'] : ['resolve', 'ignore', 'reopen']
  return changes.map((change): Action => {
    const { label, hint, key } = WORDS[change]
    return {
      id: change,
      label,
      hint,
      key,
      scope: 'admin',
      unavailable: ALREADY[change] === state ? `it is ${state} already` : null,
      command: `petrel errors ${change} ${fingerprint}${change === 'ignore' ? ' --times 100' : ''}`,
      request: {
        method: 'POST',
        path: `/v1/error-groups/${fingerprint}/${change}`,
        body: change === 'ignore' ? { times: 100 } : {},
      },
      run: () => {
        open(change)
        return undefined
      },
    }
  })
}

interface ChangeProps {
  readonly group: ErrorGroup
  readonly onClose: () => void
  readonly onChanged: () => Promise<void>
}

export function ChangeDialog({ change, ...props }: ChangeProps & { readonly change: Change }) {
  return change === 'ignore' ? <IgnoreDialog {...props} /> : <StateDialog change={change} {...props} />
}

function StateDialog(props: ChangeProps & { readonly change: 'resolve' | 'reopen' }) {
  const { change, group, onClose, onChanged } = props
  const reason = useSignal('')
  const { fingerprint } = group
  const given = reason.value.trim()
  const body = given === '' ? {} : { reason: given }
  return (
    <ActionDialog
      title={`${WORDS[change].verb} this group`}
      verb={WORDS[change].verb}
      command={`petrel errors ${change} ${fingerprint}${reasonOption(given)}`}
      request={{ method: 'POST', path: `/v1/error-groups/${fingerprint}/${change}`, body }}
      onClose={onClose}
      onConfirm={async () => {
        const asked = { params: { fingerprint }, body }
        if (change === 'resolve') await api('POST /v1/error-groups/:fingerprint/resolve', asked)
        else await api('POST /v1/error-groups/:fingerprint/reopen', asked)
        await onChanged()
        return change === 'resolve' ? 'The group is resolved.' : 'The group is open.'
      }}
    >
      <p>{WORDS[change].hint}.</p>
      <TextField label="Reason (optional, shown with the group)" value={reason} maxLength={1_000} autofocus />
    </ActionDialog>
  )
}

function reasonOption(reason: string): string {
  return reason === '' ? '' : ` --reason ${quoted(reason)}`
}

function IgnoreDialog({ group: { fingerprint }, onClose, onChanged }: ChangeProps) {
  const how = useSignal<'times' | 'for'>('times')
  const times = useSignal('100')
  const span = useSignal('7d')
  const reason = useSignal('')
  const given = reason.value.trim()
  const limit = how.value === 'times' ? { times: Number(times.value) } : { for: span.value.trim() }
  const body = { ...limit, ...(given === '' ? {} : { reason: given }) }
  const option = how.value === 'times' ? `--times ${times.value}` : `--for ${quoted(span.value.trim())}`
  const choose = (value: 'times' | 'for', label: string) => (
    <label class="inline">
      <input
        type="radio"
        name="how"
        checked={how.value === value}
        onChange={() => {
          how.value = value
        }}
      />
      {label}
    </label>
  )
  return (
    <ActionDialog
      title="Ignore this group"
      verb="Ignore"
      command={`petrel errors ignore ${fingerprint} ${option}${reasonOption(given)}`}
      request={{ method: 'POST', path: `/v1/error-groups/${fingerprint}/ignore`, body }}
      onClose={onClose}
      onConfirm={async () => {
        await api('POST /v1/error-groups/:fingerprint/ignore', { params: { fingerprint }, body })
        await onChanged()
        return 'The group is ignored.'
      }}
    >
      <p>It is open again when it has recurred so often, or with the first failure after some time.</p>
      <fieldset class="choices">
        <legend class="visually-hidden">Until</legend>
        {choose('times', 'Until it recurs')}
        {choose('for', 'For a time')}
      </fieldset>
      {how.value === 'times' ? (
        <TextField label="Times" value={times} inputMode="numeric" autofocus />
      ) : (
        <TextField label="For how long: 30m, 12h, 7d" value={span} />
      )}
      <TextField label="Reason (optional, shown with the group)" value={reason} maxLength={1_000} />
    </ActionDialog>
  )
}
