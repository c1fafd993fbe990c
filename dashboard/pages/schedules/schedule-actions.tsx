/** Run a schedule now, pause and resume it. */
import { useSignal } from '@preact/signals'
import { api } from '../../api/client.ts'
import { type Action, ActionButton, ActionDialog, quoted, usePageActions } from '../../ui/actions.tsx'

type Overlap = 'allow' | 'cancel_previous'

type ScheduleList = Awaited<ReturnType<typeof list>>['schedules'][number]
/** As the list has it. */
export type ScheduleRow = Extract<ScheduleList, { readonly kind: string }>

function list() {
  return api('GET /v1/schedules')
}

export function ScheduleActions({ row, onDone }: { readonly row: ScheduleRow; readonly onDone: () => Promise<void> }) {
  const asks = useSignal(false)
  const path = `/v1/schedules/${encodeURIComponent(row.id)}`
  const verb = row.enabled ? 'pause' : 'resume'
  const actions: readonly Action[] = [
    {
      id: 'run',
      label: 'Run now …',
      hint: 'Makes what the schedule makes when it is due; the next fire stays as it is',
      scope: 'enqueue',
      key: 'r',
      command: `petrel schedules run ${quoted(row.id)}`,
      request: { method: 'POST', path: `${path}/run`, body: {} },
      run: () => {
        asks.value = true
        return undefined
      },
    },
    {
      id: verb,
      label: row.enabled ? 'Pause' : 'Resume',
      hint: row.enabled ? 'Does not fire until it is resumed' : 'Times that have passed are left out',
      scope: 'admin',
      key: 'p',
      command: `petrel schedules ${verb} ${quoted(row.id)}`,
      request: { method: 'POST', path: `${path}/${verb}` },
      run: async () => {
        await api(`POST /v1/schedules/:id/${verb}`, { params: { id: row.id } })
        await onDone()
        return `Schedule ${row.name} is ${verb}d`
      },
    },
  ]
  usePageActions(actions, [row.id, row.enabled])
  return (
    <>
      {actions.map((action) => (
        <ActionButton key={action.id} action={action} />
      ))}
      {asks.value && (
        <RunNow
          row={row}
          onDone={onDone}
          onClose={() => {
            asks.value = false
          }}
        />
      )}
    </>
  )
}

function RunNow(props: {
  readonly row: ScheduleRow
  readonly onDone: () => Promise<void>
  readonly onClose: () => void
}) {
  const { row, onDone, onClose } = props
  const overlap = useSignal<Overlap | ''>('')
  const isInbox = row.kind === 'inbox'
  const body = overlap.value === '' ? {} : { overlap: overlap.value }
  return (
    <ActionDialog
      title={`Run ${row.name} now`}
      verb="Run now"
      command={`petrel schedules run ${quoted(row.id)}`}
      request={{ method: 'POST', path: `/v1/schedules/${encodeURIComponent(row.id)}/run`, body }}
      onClose={onClose}
      onConfirm={async () => {
        const made = await api('POST /v1/schedules/:id/run', { params: { id: row.id }, body })
        await onDone()
        return made.instance_id === null ? `Made run ${made.run_id}` : `Started instance ${made.instance_id}`
      }}
    >
      {!isInbox && (
        <label>
          If its last work has not ended
          <select
            value={overlap.value}
            onChange={(event) => {
              overlap.value = event.currentTarget.value as Overlap | ''
            }}
          >
            <option value="">as the schedule says ({row.overlap})</option>
            <option value="allow">run both</option>
            <option value="cancel_previous">cancel the previous one</option>
          </select>
        </label>
      )}
    </ActionDialog>
  )
}
