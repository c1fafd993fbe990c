/** Starts a definition: its input by the schema, tags, a start key, a debounce. */
import { useSignal } from '@preact/signals'
import type { Net } from '../../../src/net/net.ts'
import { api } from '../../api/client.ts'
import { useLive } from '../../api/live.ts'
import { go, href } from '../../browser/router.ts'
import { ActionDialog, quoted } from '../../ui/actions.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { readForm, SchemaForm, useSchemaForm } from '../../ui/form/schema-form.tsx'
import { JsonValue } from '../../ui/json/json.tsx'
import { InputError, Problem } from '../../ui/problem.tsx'
import { type StartInput, startInputOf } from './net-model.ts'

interface Props {
  readonly name: string
  readonly version: string
  readonly isLatest: boolean
  readonly onClose: () => void
}

export function StartDialog(props: Props) {
  const { name, version } = props
  const { data, error } = useLive(
    `${name} ${version}`,
    async (signal) => {
      const params = { name, version }
      const { net } = await api('GET /v1/definitions/:name/versions/:version/net', { params, signal })
      return startInputOf(net as Net)
    },
    { concerns: () => false },
  )
  if (data.value !== null) return <StartForm {...props} input={data.value} />
  return (
    <Dialog title={`Start ${name}`} onClose={props.onClose}>
      {error.value === null ? <p class="dim">Loading …</p> : <Problem error={error.value} />}
    </Dialog>
  )
}

/** Where no schema is known. */
const ANY = { description: 'Any JSON value; empty: none.' }

function StartForm({ name, version, isLatest, input, onClose }: Props & { readonly input: StartInput }) {
  const form = useSchemaForm(input.schema ?? ANY)
  const tags = useSignal('')
  const startKey = useSignal('')
  const debounceKey = useSignal('')
  const delay = useSignal('5')
  const bodyOf = (value: unknown) => ({
    workflow: name,
    ...(isLatest ? {} : { version }),
    ...(value === undefined ? {} : { input: value }),
    ...(namesIn(tags.value).length === 0 ? {} : { tags: namesIn(tags.value) }),
    ...(startKey.value.trim() === '' ? {} : { start_key: startKey.value.trim() }),
    ...(debounceKey.value.trim() === ''
      ? {}
      : { debounce: { key: debounceKey.value.trim(), delay_seconds: Number(delay.value) } }),
  })
  const start = async (): Promise<string> => {
    if (debounceKey.value.trim() !== '' && !(Number(delay.value) > 0)) {
      throw new InputError('The delay of the debounce must be a number of seconds.')
    }
    const made = await api('POST /v1/instances', { body: bodyOf(readForm(form)) })
    if ('debounced' in made) return `It starts when no other start follows under ${made.debounced.key}.`
    go(href(`/instances/${made.id}`))
    return made.created ? `${name} has been started.` : 'The start key was used before: this is its instance.'
  }
  const options = [
    isLatest ? '' : ` --version ${quoted(version)}`,
    startKey.value.trim() === '' ? '' : ` --key ${quoted(startKey.value.trim())}`,
    namesIn(tags.value).length === 0 ? '' : ` --tag ${namesIn(tags.value).map(quoted).join(' ')}`,
    debounceKey.value.trim() === '' ? '' : ` --debounce ${quoted(debounceKey.value.trim())} --delay ${delay.value}`,
  ]
  return (
    <ActionDialog
      title={`Start ${name} ${version}`}
      verb="Start"
      command={`petrel start ${quoted(name)}${options.join('')} --input @input.json`}
      request={{ method: 'POST', path: '/v1/instances', body: bodyOf(undefined) }}
      onClose={onClose}
      onConfirm={start}
    >
      <SchemaForm model={form} label="Input" />
      {input.node !== null && (
        <p class="dim">
          The form is that of the first step, <bdi>{input.node}</bdi>, which receives the whole input.
        </p>
      )}
      {input.defaults !== undefined && (
        <details>
          <summary class="dim">Defaults that the input is laid over</summary>
          <JsonValue value={input.defaults} label="Defaults of the input" />
        </details>
      )}
      <Line label="Tags" help="separated by commas" text={tags} />
      <Line label="Start key" help="a second start under it answers with the first instance" text={startKey} />
      <Line label="Debounce key" help="it starts when no other start has followed under it" text={debounceKey} />
      {debounceKey.value.trim() !== '' && <Line label="Delay in seconds" help="of the debounce" text={delay} />}
    </ActionDialog>
  )
}

function Line(props: { readonly label: string; readonly help: string; readonly text: { value: string } }) {
  const { label, help, text } = props
  return (
    <label>
      {label} <span class="dim">optional; {help}</span>
      <input
        value={text.value}
        autocomplete="off"
        onInput={(event) => {
          text.value = event.currentTarget.value
        }}
      />
    </label>
  )
}

function namesIn(text: string): readonly string[] {
  return text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
}
