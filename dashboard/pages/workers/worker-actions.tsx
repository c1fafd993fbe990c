/** Quiet and stop: they reach a worker with its next heartbeat, in whatever process it is. Neither can be reverted. */
import { useSignal } from '@preact/signals'
import { api } from '../../api/client.ts'
import { type Action, ActionButton, ActionDialog, usePageActions } from '../../ui/actions.tsx'
import type { Worker } from './workers.tsx'

type Verb = 'quiet' | 'stop'

interface Props {
  readonly worker: Worker
  readonly onDone: () => Promise<void>
}

const EFFECTS: Readonly<Record<Verb, string>> = {
  quiet: 'It takes no more runs and may finish those that it holds.',
  stop: 'It takes no more runs, finishes those that it holds, and stops.',
}

export function WorkerActions({ worker, onDone }: Props) {
  const asked = useSignal<Verb | null>(null)
  const { id, state } = worker
  const unavailable = (verb: Verb): string | null => {
    if (state === 'dead') return 'it is dead'
    if (state === 'terminate') return 'it is stopping'
    return state === 'quiet' && verb === 'quiet' ? 'it is quiet already' : null
  }
  const actions = (['quiet', 'stop'] as const).map(
    (verb): Action => ({
      id: verb,
      label: verb === 'quiet' ? 'Quiet …' : 'Stop …',
      hint: EFFECTS[verb],
      scope: 'admin',
      danger: verb === 'stop',
      unavailable: unavailable(verb),
      request: { method: 'POST', path: `/v1/workers/${encodeURIComponent(id)}/${verb}` },
      run: () => {
        asked.value = verb
        return undefined
      },
    }),
  )
  usePageActions(actions, [id, state])
  const verb = asked.value
  return (
    <>
      {actions.map((action) => (
        <ActionButton key={action.id} action={action} />
      ))}
      {verb !== null && (
        <ActionDialog
          title={`${verb === 'quiet' ? 'Quiet' : 'Stop'} ${worker.name}`}
          verb={verb === 'quiet' ? 'Quiet' : 'Stop'}
          danger={verb === 'stop'}
          request={{ method: 'POST', path: `/v1/workers/${encodeURIComponent(id)}/${verb}` }}
          onClose={() => {
            asked.value = null
          }}
          onConfirm={async () => {
            const { reached } = await api(`POST /v1/workers/:id/${verb}`, { params: { id } })
            await onDone()
            return reached === 'not'
              ? 'The worker is dead: it was not reached'
              : 'The worker receives it with its next heartbeat'
          }}
        >
          <p>{EFFECTS[verb]} This cannot be reverted: start a new worker instead.</p>
        </ActionDialog>
      )}
    </>
  )
}
