/** Types of work: which runtime takes them, whether they are paused or disabled, and who takes them now. */
import { type Signal, useSignal } from '@preact/signals'
import { useMemo } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { useLive } from '../../api/live.ts'
import { pausesOf } from '../../api/pauses.ts'
import { session } from '../../api/session.ts'
import { href } from '../../browser/router.ts'
import { type Action, ActionButton, ActionDialog, quoted, usePageActions } from '../../ui/actions.tsx'
import { Empty } from '../../ui/empty.tsx'
import { Problem } from '../../ui/problem.tsx'
import { type Column, Rows } from '../../ui/rows.tsx'
import { State } from '../../ui/state.tsx'
import { type TypeRow, typesOf } from './types.ts'

export function Types() {
  const tenant = session.value?.tenant ?? null
  if (tenant === null) return <List />
  return (
    <Empty what={`Types concern all tenants; your key belongs to the tenant ${tenant}.`} command="petrel registry ls" />
  )
}

function List() {
  const held = useSignal(false)
  const selected = useSignal<string | null>(null)
  const pausing = useSignal<string | null>(null)
  const { data, error, refresh } = useTypes(held)
  const rows = data.value ?? []
  const chosen = rows.find(({ type }) => type === selected.value) ?? null
  const actions = useMemo(
    () =>
      actionsOf(
        chosen,
        () => void refresh(),
        () => {
          pausing.value = chosen?.type ?? null
        },
      ),
    [chosen, session.value],
  )
  usePageActions(actions, [actions])
  if (error.value !== null && data.value === null) return <Problem error={error.value} />
  if (data.value === null) return <p class="dim">Loading …</p>
  return (
    <>
      <p class="dim">A type that is not registered is open to workers of every runtime.</p>
      <Rows
        label="Types of work"
        rows={rows}
        columns={COLUMNS}
        keyOf={({ type }) => type}
        onSelect={({ type }) => {
          selected.value = type
        }}
        held={held}
        empty={
          <Empty
            what="No type is registered, paused or named by a worker."
            command="petrel registry set billing.invoice.v1 python"
          />
        }
      />
      {rows.length > 0 && (
        <div class="row below-rows">
          {actions.map((action) => (
            <ActionButton key={action.id} action={action} />
          ))}
          <span class="dim">{chosen === null ? 'Select a type to act on it.' : <bdi>{chosen.type}</bdi>}</span>
        </div>
      )}
      {pausing.value !== null && (
        <PauseType
          type={pausing.value}
          onClose={() => {
            pausing.value = null
          }}
          onDone={() => void refresh()}
        />
      )}
    </>
  )
}

function useTypes(held: Signal<boolean>) {
  return useLive(
    'types',
    async (signal) => {
      const [{ entries }, pauses, { workers }] = await Promise.all([
        api('GET /v1/registry', { signal }),
        pausesOf('type', signal),
        api('GET /v1/workers', { signal }),
      ])
      return typesOf(entries, pauses, workers)
    },
    {
      hold: held,
      concerns: ({ areas }) => ['registry', 'pauses', 'workers'].some((area) => areas.has(area)),
      everyMs: 15_000,
    },
  )
}

const COLUMNS: readonly Column<TypeRow>[] = [
  { key: 'type', title: 'Type', width: 'minmax(6rem, 2fr)', cell: ({ type }) => <bdi title={type}>{type}</bdi> },
  {
    key: 'state',
    title: 'State',
    width: '7rem',
    cell: ({ entry, pause }) =>
      pause !== null ? (
        <span title={pause.reason ?? undefined}>
          <State state="paused" />
        </span>
      ) : entry !== null && !entry.is_enabled ? (
        <State state="idle" label="disabled" />
      ) : (
        <State state="active" />
      ),
  },
  {
    key: 'runtime',
    title: 'Runtime',
    width: '6rem',
    optional: true,
    cell: ({ entry }) => (entry === null ? <span class="dim">any</span> : <bdi>{entry.runtime}</bdi>),
  },
  {
    key: 'pending',
    title: 'Pending',
    width: '5rem',
    numeric: true,
    optional: true,
    cell: ({ type, entry }) =>
      entry?.pending === undefined ? (
        <span class="dim">–</span>
      ) : (
        <a href={href('/inbox', { type, status: 'pending' })}>{entry.pending}</a>
      ),
  },
  {
    key: 'workers',
    title: 'Taken by',
    width: 'minmax(5rem, 2fr)',
    cell: ({ workers }) => {
      const names = workers.map(({ name }) => name).join(', ')
      return workers.length === 0 ? (
        <span class="none-takes">△ no worker</span>
      ) : (
        <a href={href('/workers')} title={names}>
          <bdi>{names}</bdi>
        </a>
      )
    },
  },
  {
    key: 'what',
    title: 'Description',
    width: 'minmax(5rem, 2fr)',
    optional: true,
    cell: ({ entry }) =>
      entry?.description == null ? (
        <span class="dim">–</span>
      ) : (
        <bdi title={entry.description}>{entry.description}</bdi>
      ),
  },
]

function actionsOf(row: TypeRow | null, onDone: () => void, onPause: () => void): readonly Action[] {
  const none = row === null ? 'no type is selected' : null
  const name = row?.type ?? 'TYPE'
  const path = `/v1/registry/${encodeURIComponent(name)}`
  const isEnabled = row?.entry?.is_enabled ?? true
  const put = async (is_enabled: boolean): Promise<string> => {
    await api('PUT /v1/registry/:name', { params: { name }, body: { is_enabled } })
    onDone()
    return `${name} is ${is_enabled ? 'enabled' : 'disabled'}.`
  }
  const resume = async (): Promise<string> => {
    await api('POST /v1/registry/:name/resume', { params: { name } })
    onDone()
    return `Workers take ${name} again.`
  }
  return [
    row?.pause == null
      ? {
          id: 'pause',
          label: 'Pause …',
          scope: 'admin',
          key: 'p',
          unavailable: none,
          command: `petrel registry pause ${quoted(name)}`,
          request: { method: 'POST', path: `${path}/pause` },
          run: () => {
            onPause()
            return undefined
          },
        }
      : {
          id: 'resume',
          label: 'Resume',
          scope: 'admin',
          key: 'p',
          command: `petrel registry resume ${quoted(name)}`,
          request: { method: 'POST', path: `${path}/resume` },
          run: resume,
        },
    {
      id: 'enable',
      label: isEnabled ? 'Disable' : 'Enable',
      scope: 'admin',
      unavailable: none ?? (row?.entry == null ? 'the type is not registered' : null),
      command: `petrel registry ${isEnabled ? 'disable' : 'enable'} ${quoted(name)}`,
      request: { method: 'PUT', path, body: { is_enabled: !isEnabled } },
      run: () => put(!isEnabled),
    },
  ]
}

function PauseType(props: { readonly type: string; readonly onClose: () => void; readonly onDone: () => void }) {
  const { type: name, onClose, onDone } = props
  const reason = useSignal('')
  const body = reason.value.trim() === '' ? {} : { reason: reason.value.trim() }
  return (
    <ActionDialog
      title={`Pause ${name}`}
      verb="Pause"
      command={`petrel registry pause ${quoted(name)}`}
      request={{ method: 'POST', path: `/v1/registry/${encodeURIComponent(name)}/pause`, body }}
      onClose={onClose}
      onConfirm={async () => {
        await api('POST /v1/registry/:name/pause', { params: { name }, body })
        onDone()
        return `${name} is paused.`
      }}
    >
      <p>No worker takes a run of this type. Runs that a worker holds continue; new ones wait.</p>
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
