/** What can be done with an instance. */
import { type Signal, useSignal } from '@preact/signals'
import { api } from '../../../api/client.ts'
import { type Action, ActionButton, usePageActions } from '../../../ui/actions.tsx'
import type { Instance } from '../model.ts'
import {
  cancelUndoes,
  whyNotCancel,
  whyNotFork,
  whyNotPatch,
  whyNotPause,
  whyNotResume,
  whyNotRetry,
  whyNotRetryFrom,
  whyNotRetryNow,
  whyNotRollBack,
  whyNotStart,
} from './allowed.ts'
import { type DialogName, InstanceDialog } from './dialogs.tsx'

export function InstanceActions(props: {
  readonly instance: Instance
  /** The selected step, '' if there is none. */
  readonly step: string
  readonly context: string
  readonly onDone: () => Promise<void>
}) {
  const { instance, step, context, onDone } = props
  const dialog = useSignal<DialogName | null>(null)
  const actions = [...changesOf(instance, dialog, onDone), ...repeatsOf(instance, step, dialog, onDone)]
  const { id, state, phase, paused } = instance
  usePageActions(actions, [id, state, phase, paused, step])
  return (
    <fieldset class="row actions" aria-label="Actions">
      {actions.map((action) => (
        <ActionButton key={action.id} action={action} />
      ))}
      {dialog.value !== null && (
        <InstanceDialog
          name={dialog.value}
          instance={instance}
          step={step}
          context={context}
          onDone={onDone}
          onClose={() => {
            dialog.value = null
          }}
        />
      )}
    </fieldset>
  )
}

/** Opens a dialog. */
function opens(dialog: Signal<DialogName | null>, name: DialogName): Action['run'] {
  return () => {
    dialog.value = name
    return undefined
  }
}

function changesOf(
  instance: Instance,
  dialog: Signal<DialogName | null>,
  onDone: () => Promise<void>,
): readonly Action[] {
  const { id, paused, state } = instance
  const path = `/v1/instances/${id}`
  const undoes = cancelUndoes(instance)
  const start: Action = {
    id: 'start',
    label: 'Start',
    hint: 'It is idle: none of its work is due yet',
    scope: 'enqueue',
    unavailable: whyNotStart(instance),
    command: `petrel start ${id}`,
    request: { method: 'POST', path: `${path}/start` },
    run: async () => {
      await api('POST /v1/instances/:id/start', { params: { id } })
      await onDone()
      return 'It is started'
    },
  }
  const resume: Action = {
    id: 'resume',
    label: 'Resume',
    hint: 'Its work begins again, and its times continue',
    scope: 'enqueue',
    unavailable: whyNotResume(instance),
    key: 'p',
    command: `petrel resume ${id}`,
    request: { method: 'POST', path: `${path}/resume` },
    run: async () => {
      await api('POST /v1/instances/:id/resume', { params: { id } })
      await onDone()
      return 'It continues'
    },
  }
  const pause: Action = {
    id: 'pause',
    label: 'Pause …',
    hint: 'Active work ends; nothing new begins',
    scope: 'enqueue',
    unavailable: whyNotPause(instance),
    key: 'p',
    command: `petrel pause ${id}`,
    request: { method: 'POST', path: `${path}/pause`, body: { timeouts: 'stop' } },
    run: opens(dialog, 'pause'),
  }
  const cancel: Action = {
    id: 'cancel',
    label: undoes ? 'Roll back …' : 'Cancel …',
    hint: undoes
      ? 'Nothing further begins; completed steps are undone'
      : 'Nothing further begins; completed work stays',
    scope: 'enqueue',
    unavailable: whyNotCancel(instance),
    danger: true,
    command: `petrel cancel ${id}`,
    request: { method: 'POST', path: `${path}/cancel` },
    run: opens(dialog, 'cancel'),
  }
  return [
    ...(state === 'idle' ? [start] : []),
    paused ? resume : pause,
    cancel,
    ...(undoes ? [] : [rollBackOf(instance, dialog)]),
  ]
}

function rollBackOf(instance: Instance, dialog: Signal<DialogName | null>): Action {
  return {
    id: 'roll-back',
    label: 'Roll back …',
    hint: 'Nothing further begins; completed steps are undone',
    scope: 'admin',
    unavailable: whyNotRollBack(instance),
    danger: true,
    run: opens(dialog, 'roll-back'),
  }
}

function repeatsOf(
  instance: Instance,
  step: string,
  dialog: Signal<DialogName | null>,
  onDone: () => Promise<void>,
): readonly Action[] {
  const { id } = instance
  const path = `/v1/instances/${id}`
  const from = step === '' ? undefined : { from: { step } }
  return [
    {
      id: 'retry',
      label: 'Retry …',
      hint: 'A new instance takes over what succeeded and begins where this one failed',
      scope: 'enqueue',
      unavailable: whyNotRetry(instance),
      key: 'r',
      command: `petrel retry ${id}`,
      request: { method: 'POST', path: `${path}/retry` },
      run: opens(dialog, 'retry'),
    },
    {
      id: 'retry-from',
      label: 'Retry from a step …',
      hint: 'Goes back to a step, with other arguments if you like',
      scope: 'enqueue',
      unavailable: whyNotRetryFrom(instance),
      command: `petrel retry ${id} --from ${step === '' ? 'STEP' : step}`,
      ...(from === undefined ? {} : { request: { method: 'POST', path: `${path}/retry`, body: from } }),
      run: opens(dialog, 'retry-from'),
    },
    {
      id: 'fork',
      label: 'Fork …',
      hint: 'A copy that leaves this one its work',
      scope: 'enqueue',
      unavailable: whyNotFork(instance),
      command: `petrel fork ${id}`,
      request: { method: 'POST', path: `${path}/fork` },
      run: opens(dialog, 'fork'),
    },
    {
      id: 'retry-now',
      label: 'Retry now',
      hint: 'Runs that wait for their time, or between two attempts, are due at once',
      scope: 'enqueue',
      unavailable: whyNotRetryNow(instance),
      key: 'n',
      command: `petrel retry-now ${id}`,
      request: { method: 'POST', path: `${path}/retry-now` },
      run: async () => {
        const { count } = await api('POST /v1/instances/:id/retry-now', { params: { id } })
        await onDone()
        return count === 1 ? '1 run is due now' : `${count} runs are due now`
      },
    },
    {
      id: 'context',
      label: 'Patch context …',
      hint: 'Writes entries into the context; held steps are evaluated again',
      scope: 'enqueue',
      unavailable: whyNotPatch(instance),
      command: `petrel context ${id} NAME=JSON`,
      run: opens(dialog, 'context'),
    },
    {
      id: 'event',
      label: 'Send event …',
      hint: 'Starts what waits for the event: idle instances, or new ones',
      scope: 'enqueue',
      command: 'petrel event TYPE',
      run: opens(dialog, 'event'),
    },
  ]
}
