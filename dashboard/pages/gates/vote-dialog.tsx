/** Approves or rejects a gate: what it asks, the form of its answer, and a reason. */
import { useSignal } from '@preact/signals'
import { api } from '../../api/client.ts'
import { useLive } from '../../api/live.ts'
import { ActionDialog, quoted } from '../../ui/actions.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { readForm, SchemaForm, useSchemaForm } from '../../ui/form/schema-form.tsx'
import { Problem } from '../../ui/problem.tsx'
import type { GateDetail } from './voting.ts'

export type Decision = 'approve' | 'reject'

interface Props {
  readonly decision: Decision
  readonly onClose: () => void
  readonly onDone: () => void
}

/** Of a gate that has not been read as a whole yet. */
export function VoteDialog({ id, ...props }: Props & { readonly id: string }) {
  const { data, error } = useLive(
    id,
    async (signal) => (await api('GET /v1/gates/:id', { params: { id }, signal })).gate,
    {
      concerns: () => false,
    },
  )
  if (data.value !== null) return <Vote gate={data.value} {...props} />
  return (
    <Dialog title={props.decision === 'approve' ? 'Approve' : 'Reject'} onClose={props.onClose}>
      {error.value === null ? <p class="dim">Loading …</p> : <Problem error={error.value} />}
    </Dialog>
  )
}

export function Vote({ gate, decision, onClose, onDone }: Props & { readonly gate: GateDetail }) {
  const isApproval = decision === 'approve'
  const reason = useSignal('')
  const form = useSchemaForm(isApproval ? gate.form : null)
  const confirm = async (): Promise<string> => {
    const answer = readForm(form)
    const body = {
      ...(answer === undefined ? {} : { answer }),
      ...(reason.value.trim() === '' ? {} : { reason: reason.value.trim() }),
    }
    const sent = { params: { id: gate.id }, body }
    const { gate: after } = isApproval
      ? await api('POST /v1/gates/:id/approve', sent)
      : await api('POST /v1/gates/:id/reject', sent)
    onDone()
    return outcomeOf(after, isApproval)
  }
  const given = reason.value.trim() === '' ? '' : ` --reason ${quoted(reason.value.trim())}`
  return (
    <ActionDialog
      title={isApproval ? 'Approve' : 'Reject'}
      verb={isApproval ? 'Approve' : 'Reject'}
      danger={!isApproval}
      command={`petrel ${decision} ${gate.id}${given}`}
      request={{ method: 'POST', path: `/v1/gates/${gate.id}/${decision}` }}
      onClose={onClose}
      onConfirm={confirm}
    >
      <p>
        <strong>
          <bdi>{gate.title ?? gate.node}</bdi>
        </strong>
        <br />
        <span class="dim">
          of <bdi>{gate.instance.name}</bdi>
        </span>
      </p>
      {gate.description !== null && (
        <p>
          <bdi>{gate.description}</bdi>
        </p>
      )}
      {isApproval && <SchemaForm model={form} label="Answer" />}
      <label>
        Reason <span class="dim">optional, kept with your vote</span>
        <textarea
          rows={2}
          maxLength={4000}
          value={reason.value}
          onInput={(event) => {
            reason.value = event.currentTarget.value
          }}
        />
      </label>
      <p class="dim">{effectOf(gate, isApproval)}</p>
    </ActionDialog>
  )
}

/** What the vote will do. */
function effectOf({ standing: { quorum, seats, approvals, rejections } }: GateDetail, isApproval: boolean): string {
  if (isApproval) {
    const missing = quorum - approvals - 1
    if (missing <= 0) return 'This approval decides: the workflow continues.'
    return `One of ${quorum} approvals; ${missing} more ${missing === 1 ? 'is' : 'are'} needed after it.`
  }
  return seats - rejections - 1 < quorum
    ? 'This rejection decides: the step fails.'
    : 'The gate stays open: enough others can still approve it.'
}

function outcomeOf({ state, standing }: GateDetail, isApproval: boolean): string {
  if (state !== 'open') return `The gate is ${state}.`
  return `Your ${isApproval ? 'approval' : 'rejection'} counts; ${standing.approvals} of ${standing.quorum} approvals.`
}
