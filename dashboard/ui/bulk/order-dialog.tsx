/** Orders one action on everything that a query finds. Shows first what would be changed. */
import { type Signal, useSignal } from '@preact/signals'
import { useEffect, useId } from 'preact/hooks'
import type { Action, Target } from '../../../src/model/bulk/rows.ts'
import type { Answer } from '../../api/answer.ts'
import { api } from '../../api/client.ts'
import { ActionDialog, quoted } from '../actions.tsx'
import { Problem } from '../problem.tsx'
import { bodyOf, CHOICES, choiceOf, commandOf, notARate, type Order, rateOf } from './orders.ts'
import { type Preview, PreviewText, previewOf } from './preview.tsx'
import type { Operation } from './progress-bar.tsx'

export interface OrderDialogProps {
  readonly target: Target
  readonly query: string
  /** Chosen at first; `fixed`: no other can be chosen. */
  readonly action?: Action
  readonly fixed?: boolean
  readonly onClose: () => void
  readonly onOrdered: (operation: Operation) => void
}

const USUAL_RATE = '600'

export function OrderDialog(props: OrderDialogProps) {
  const { target, query, fixed = false, onClose, onOrdered } = props
  const action = useSignal<Action>(props.action ?? (CHOICES[target][0]?.action as Action))
  const rate = useSignal(USUAL_RATE)
  const reason = useSignal('')
  const timeouts = useSignal<'stop' | 'run'>('stop')
  const confirmed = useSignal(false)
  const { preview, failure } = usePreview(target, query, action.value)
  const perMinute = rateOf(rate.value)
  const isEverything = preview?.everything === true
  const order: Order = {
    action: action.value,
    target,
    query,
    rate: perMinute ?? null,
    reason: reason.value.trim(),
    timeouts: timeouts.value,
    everything: isEverything && confirmed.value,
  }
  const choice = choiceOf(target, action.value)
  const confirm = async (): Promise<string | undefined> => {
    if (perMinute === undefined) throw notARate()
    const reply = (await api('POST /v1/operations', { body: bodyOf(order) })) as Answer<'GET /v1/operations/:id'>
    onOrdered(reply.operation)
    return `${choice.label} is ordered.`
  }
  return (
    <ActionDialog
      title={fixed ? `${choice.label} all` : 'Act on all matches'}
      verb={`${choice.label} ${preview === null ? 'all' : countOf(preview)}`}
      danger={choice.danger}
      command={commandOf(order, quoted)}
      request={{ method: 'POST', path: '/v1/operations', body: bodyOf(order) }}
      onClose={onClose}
      onConfirm={confirm}
    >
      <p>
        {query === '' ? 'Everything' : 'Everything that '}
        {query !== '' && <code>{query}</code>}
        {query !== '' && ' finds'}, as it is now. Items that come later are not changed.
      </p>
      {!fixed && <ActionChoice target={target} action={action} />}
      <p class="dim">{choice.effect}</p>
      {action.value === 'pause' && <Timeouts timeouts={timeouts} />}
      <div class="fields">
        <TextField label="Per minute (empty: no limit)" value={rate} inputMode="numeric" autofocus />
        <TextField label="Reason (shown with the operation)" value={reason} maxLength={1_000} />
      </div>
      {failure !== null && <Problem error={failure} />}
      {failure === null && <PreviewText preview={preview} target={target} />}
      {isEverything && (
        <label class="inline">
          <input
            type="checkbox"
            checked={confirmed.value}
            onChange={(event) => {
              confirmed.value = event.currentTarget.checked
            }}
          />
          The query has no filter. Everything is meant.
        </label>
      )}
    </ActionDialog>
  )
}

function countOf({ count, count_is_at_least: more, target }: Preview): string {
  const word = count === 1 && !more ? target.slice(0, -1) : target
  return `${more ? 'more than ' : ''}${count.toLocaleString('en')} ${word}`
}

function usePreview(target: Target, query: string, action: Action) {
  const preview = useSignal<Preview | null>(null)
  const failure = useSignal<Error | null>(null)
  useEffect(() => {
    const controller = new AbortController()
    preview.value = null
    failure.value = null
    previewOf({ target, q: query, action }, controller.signal).then(
      (found) => {
        preview.value = found
      },
      (error: Error) => {
        if (!controller.signal.aborted) failure.value = error
      },
    )
    return () => controller.abort()
  }, [target, query, action])
  return { preview: preview.value, failure: failure.value }
}

function ActionChoice({ target, action }: { readonly target: Target; readonly action: Signal<Action> }) {
  return (
    <fieldset class="choices">
      <legend>Action</legend>
      {CHOICES[target].map((choice) => (
        <label key={choice.action} class="inline">
          <input
            type="radio"
            name="action"
            value={choice.action}
            checked={choice.action === action.value}
            onChange={() => {
              action.value = choice.action
            }}
          />
          {choice.label}
        </label>
      ))}
    </fieldset>
  )
}

function Timeouts({ timeouts }: { readonly timeouts: Signal<'stop' | 'run'> }) {
  return (
    <label>
      Deadlines and timeouts meanwhile
      <select
        value={timeouts.value}
        onChange={(event) => {
          timeouts.value = event.currentTarget.value as 'stop' | 'run'
        }}
      >
        <option value="stop">stand still</option>
        <option value="run">run on</option>
      </select>
    </label>
  )
}

export function TextField(props: {
  readonly label: string
  readonly value: Signal<string>
  readonly inputMode?: 'numeric'
  readonly maxLength?: number
  readonly autofocus?: boolean
}) {
  const { label, value, inputMode, maxLength, autofocus } = props
  const id = useId()
  return (
    <label for={id}>
      {label}
      <input
        id={id}
        type="text"
        autocomplete="off"
        autofocus={autofocus}
        {...(inputMode === undefined ? {} : { inputMode })}
        {...(maxLength === undefined ? {} : { maxLength })}
        value={value.value}
        onInput={(event) => {
          value.value = event.currentTarget.value
        }}
      />
    </label>
  )
}
