/** Retry or fork: from where, with which arguments, and what that would do. */
import { type Signal, useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { api } from '../../../api/client.ts'
import { go, href } from '../../../browser/router.ts'
import { ActionDialog } from '../../../ui/actions.tsx'
import { JsonField } from '../../../ui/json/json-field.tsx'
import { Problem } from '../../../ui/problem.tsx'
import { payloadOf } from '../model.ts'
import { stepNamed } from '../steps/read.ts'
import type { DialogProps } from './dialogs.tsx'
import { type Preview, PreviewTable } from './preview.tsx'
import { bodyOf, commandOf, type RepeatBody, type RepeatForm, type Verb } from './repeat.ts'

const EMPTY: RepeatForm = { step: '', firing: '', item: '', edit: 'none', args: '', input: '', startKey: '' }

interface Props extends DialogProps {
  readonly verb: Verb
  readonly asksForStep?: boolean
}

export function RepeatDialog({ verb, instance, step, asksForStep = false, onClose }: Props) {
  const { id } = instance
  const form = useSignal<RepeatForm>({ ...EMPTY, step })
  const args = useSignal('')
  const input = useSignal('')
  const preview = useSignal<Preview | null>(null)
  const whole: RepeatForm = { ...form.value, args: args.value, input: input.value }
  const request = requestOf(verb, id, whole)
  return (
    <ActionDialog
      title={verb === 'fork' ? 'Fork this instance' : asksForStep ? 'Retry from a step' : 'Retry this instance'}
      verb={verb === 'fork' ? 'Fork it' : 'Retry it'}
      command={commandOf(verb, id, whole)}
      request={request}
      onClose={onClose}
      onConfirm={async () => {
        const made = await send(verb, id, bodyOf(whole))
        if (!('id' in made)) return undefined
        go(href(`/instances/${made.id}`))
        return verb === 'fork' ? 'This is the fork' : 'This is the retry'
      }}
    >
      <p>
        {verb === 'fork'
          ? 'A new instance does the work again, from the beginning or from a step. This one keeps what it did.'
          : 'A new instance takes over what succeeded, and does the rest again. This one does not change.'}
      </p>
      {(asksForStep || verb === 'fork') && <PlaceFields id={id} form={form} isRequired={asksForStep} />}
      {form.value.step !== '' && <ArgumentFields id={id} form={form} args={args} />}
      <details>
        <summary>Another input for the whole instance, or a start key</summary>
        <JsonField label="Input (empty: the same)" text={input} rows={3} />
        <Field form={form} name="startKey" label="Start key: a second request with it answers with the same instance" />
      </details>
      <PreviewPart verb={verb} id={id} form={whole} preview={preview} />
    </ActionDialog>
  )
}

function requestOf(verb: Verb, id: string, form: RepeatForm) {
  const at = { method: 'POST', path: `/v1/instances/${id}/${verb}` }
  try {
    return { ...at, body: bodyOf(form) }
  } catch {
    return at
  }
}

function send(verb: Verb, id: string, body: RepeatBody & { readonly dry_run?: boolean; readonly after?: string }) {
  return verb === 'fork'
    ? api('POST /v1/instances/:id/fork', { params: { id }, body })
    : api('POST /v1/instances/:id/retry', { params: { id }, body })
}

function Field(props: {
  readonly form: Signal<RepeatForm>
  readonly name: 'step' | 'firing' | 'item' | 'startKey'
  readonly label: string
  readonly type?: 'text' | 'number'
  readonly min?: number
  readonly list?: string
  readonly isRequired?: boolean
}) {
  const { form, name, label, type = 'text', min, list, isRequired = false } = props
  return (
    <label class="grow">
      <span>{label}</span>
      <input
        type={type}
        required={isRequired}
        value={form.value[name]}
        {...(min === undefined ? {} : { min })}
        {...(list === undefined ? {} : { list })}
        onInput={({ currentTarget }) => {
          form.value = { ...form.value, [name]: currentTarget.value }
        }}
      />
    </label>
  )
}

const SUGGESTED = 500

function PlaceFields(props: { readonly id: string; readonly form: Signal<RepeatForm>; readonly isRequired: boolean }) {
  const { id, form, isRequired } = props
  const names = useSignal<readonly string[]>([])
  useEffect(() => {
    const controller = new AbortController()
    const query = { limit: SUGGESTED }
    api('GET /v1/instances/:id/marking', { params: { id }, query, signal: controller.signal }).then(
      ({ nodes }) => {
        names.value = nodes
      },
      // The step can be typed.
      () => {},
    )
    return () => controller.abort()
  }, [id])
  return (
    <>
      <Field
        form={form}
        name="step"
        label={isRequired ? 'Step' : 'Step (empty: from the beginning)'}
        list="steps-of-instance"
        isRequired={isRequired}
      />
      <datalist id="steps-of-instance">
        {names.value.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <div class="row places">
        <Field form={form} name="firing" label="Firing (empty: the last)" type="number" min={1} />
        <Field form={form} name="item" label="Item of a list, from 0 (empty: all)" type="number" min={0} />
      </div>
    </>
  )
}

const EDITS = { none: 'as they were', patch: 'changed by a patch', args: 'replaced' } as const

function ArgumentFields(props: {
  readonly id: string
  readonly form: Signal<RepeatForm>
  readonly args: Signal<string>
}) {
  const { id, form, args } = props
  const failure = useSignal<Error | null>(null)
  const { step, edit } = form.value
  const load = async (): Promise<void> => {
    failure.value = null
    try {
      const run = (await stepNamed(id, step))?.run_id
      if (run == null) throw new Error('No run of this step is known.')
      args.value = await payloadOf(run)
    } catch (error) {
      failure.value = error as Error
    }
  }
  return (
    <fieldset>
      <legend>Its arguments</legend>
      <div class="row">
        {(Object.keys(EDITS) as (keyof typeof EDITS)[]).map((mode) => (
          <label key={mode} class="inline">
            <input
              type="radio"
              name="edit"
              checked={edit === mode}
              onChange={() => {
                form.value = { ...form.value, edit: mode }
                if (mode === 'args') void load()
                else args.value = mode === 'patch' ? '{}' : ''
              }}
            />
            {EDITS[mode]}
          </label>
        ))}
      </div>
      {edit !== 'none' && (
        <JsonField label={edit === 'patch' ? 'Patch: null removes a key' : 'Arguments'} text={args} required rows={8} />
      )}
      {failure.value !== null && <p class="field-mistake">{failure.value.message}</p>}
    </fieldset>
  )
}

function PreviewPart(props: {
  readonly verb: Verb
  readonly id: string
  readonly form: RepeatForm
  readonly preview: Signal<Preview | null>
}) {
  const { verb, id, form, preview } = props
  const failure = useSignal<Error | null>(null)
  const read = async (after: string | null): Promise<void> => {
    failure.value = null
    try {
      const found = await send(verb, id, { ...bodyOf(form), dry_run: true, ...(after === null ? {} : { after }) })
      if (!('runs_again' in found)) return
      const before = after === null ? null : preview.value
      preview.value = {
        again: [...(before?.again ?? []), ...found.runs_again],
        carried: [...(before?.carried ?? []), ...found.carried_over],
        next: found.next_after,
      }
    } catch (error) {
      preview.value = null
      failure.value = error as Error
    }
  }
  const shown = preview.value
  return (
    <>
      <p>
        <button type="button" onClick={() => void read(null)}>
          Preview
        </button>{' '}
        <span class="dim">what runs again, and what is carried over; nothing starts</span>
      </p>
      {failure.value !== null && <Problem error={failure.value} />}
      {shown !== null && <PreviewTable preview={shown} onMore={() => void read(shown.next)} />}
    </>
  )
}
