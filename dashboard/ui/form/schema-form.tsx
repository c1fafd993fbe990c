/**
 * A form generated from a JSON Schema. Mistakes that can be recognised here are shown at their fields; the server
 * checks the whole value. Any form can be filled in as JSON instead.
 */
import { type Signal, signal, useSignal } from '@preact/signals'
import { useId, useMemo } from 'preact/hooks'
import { InputError } from '../problem.tsx'
import { type Draft, draftOf, draftText, type FormMistake, readDraft, readJson } from './schema-draft.ts'
import { type Field, fieldOf } from './schema-fields.ts'

export interface SchemaFormModel {
  /** null: nothing is asked for. */
  readonly field: Field | null
  readonly draft: Signal<Draft>
  /** The value as JSON, if it is typed by hand. */
  readonly json: Signal<string | null>
  readonly mistakes: Signal<readonly FormMistake[]>
}

/** `initial`: what the fields contain at first; default: the defaults of the schema. */
export function useSchemaForm(schema: unknown, initial?: unknown): SchemaFormModel {
  return useMemo(() => {
    const field = fieldOf(schema)
    return {
      field,
      draft: signal(field === null ? new Map() : draftOf(field, initial ?? field.initial)),
      json: signal(null),
      mistakes: signal([]),
    }
  }, [schema])
}

/** The value; undefined: none. Throws an InputError if fields are wrong, after marking them. */
export function readForm({ field, draft, json, mistakes }: SchemaFormModel): unknown {
  mistakes.value = []
  if (field === null) return undefined
  const reading =
    json.value === null
      ? readDraft(field, draft.value)
      : json.value.trim() === ''
        ? ({ ok: true, value: undefined } as const)
        : readJson(json.value)
  if (reading.ok) return reading.value
  mistakes.value = reading.mistakes
  const names = reading.mistakes.map(({ path, message }) => `${path === '' ? 'the value' : path.slice(1)} ${message}`)
  throw new InputError(names.slice(0, 3).join('; ') + (names.length > 3 ? ` (and ${names.length - 3} more)` : ''))
}

export function SchemaForm({ model, label }: { readonly model: SchemaFormModel; readonly label: string }) {
  const { field, draft, json } = model
  if (field === null) return null
  const isJson = json.value !== null
  const toggle = (): void => {
    model.mistakes.value = []
    if (json.value === null) {
      json.value = draftText(field, draft.value)
      return
    }
    const read = readJson(json.value)
    if (read.ok) draft.value = draftOf(field, read.value)
    json.value = null
  }
  return (
    <fieldset class="schema-form">
      <legend class="row">
        <span>{label}</span>
        {field.kind !== 'json' && (
          <button type="button" class="small plain" onClick={toggle}>
            {isJson ? 'as a form' : 'as JSON'}
          </button>
        )}
      </legend>
      {field.description !== '' && <p class="dim">{field.description}</p>}
      {isJson ? (
        <JsonInput
          label={label}
          text={json.value ?? ''}
          onText={(text) => {
            json.value = text
          }}
          mistake={model.mistakes.value[0]?.message ?? null}
          schema={field.schema}
        />
      ) : field.kind === 'group' ? (
        field.fields.map((one) => <FieldInput key={one.path} field={one} model={model} />)
      ) : (
        <FieldInput field={field} model={model} label={label} />
      )}
    </fieldset>
  )
}

interface InputProps {
  readonly field: Field
  readonly model: SchemaFormModel
  readonly label?: string
}

function FieldInput({ field, model, label = field.title }: InputProps) {
  const { draft, mistakes } = model
  const typed = draft.value.get(field.path)
  const set = (value: string | readonly string[]): void => {
    draft.value = new Map(draft.value).set(field.path, value)
  }
  const mistake = mistakes.value.find(({ path }) => path === field.path)?.message ?? null
  if (field.kind === 'group') {
    return (
      <fieldset class="schema-group">
        <legend>
          <bdi>{label}</bdi> <Optional field={field} />
        </legend>
        {field.description !== '' && <p class="dim">{field.description}</p>}
        {field.fields.map((one) => (
          <FieldInput key={one.path} field={one} model={model} />
        ))}
      </fieldset>
    )
  }
  if (field.kind === 'list' && field.item !== null) {
    const texts = Array.isArray(typed) ? (typed as readonly string[]) : []
    return <ListInput field={field} label={label} texts={texts} onTexts={set} mistakes={mistakes.value} />
  }
  const text = typeof typed === 'string' ? typed : ''
  if (field.kind === 'json') {
    return (
      <JsonInput
        label={label}
        optional={<Optional field={field} />}
        help={field.description}
        text={text}
        onText={set}
        mistake={mistake}
        schema={field.schema}
      />
    )
  }
  return <PlainInput field={field} label={label} text={text} onText={set} mistake={mistake} />
}

function Optional({ field }: { readonly field: Field }) {
  return field.required ? null : <span class="dim">optional</span>
}

interface PlainProps {
  readonly field: Field
  readonly label: string
  readonly text: string
  readonly onText: (text: string) => void
  readonly mistake: string | null
}

function PlainInput({ field, label, text, onText, mistake }: PlainProps) {
  const id = useId()
  const hint = hintOf(field)
  return (
    <div class="schema-field">
      <label for={id}>
        <bdi>{label}</bdi> <Optional field={field} />
      </label>
      <Control id={id} field={field} text={text} onText={onText} isWrong={mistake !== null} />
      <p id={`${id}-help`} class="schema-help">
        {mistake !== null && <span class="schema-mistake">{mistake} </span>}
        {field.description}
        {field.description !== '' && hint !== '' && ' · '}
        {hint}
      </p>
    </div>
  )
}

interface ControlProps extends Pick<PlainProps, 'field' | 'text' | 'onText'> {
  readonly id: string
  readonly isWrong: boolean
}

function Control({ id, field, text, onText, isWrong }: ControlProps) {
  const { kind, required, initial, choices } = field
  const common = {
    id,
    'aria-invalid': isWrong,
    'aria-describedby': `${id}-help`,
    onInput: (event: { readonly currentTarget: { readonly value: string } }): void => onText(event.currentTarget.value),
  }
  if (kind === 'flag' && (required || typeof initial === 'boolean')) {
    return (
      <input
        type="checkbox"
        id={id}
        aria-describedby={`${id}-help`}
        checked={text === 'true'}
        onChange={(event) => onText(String(event.currentTarget.checked))}
      />
    )
  }
  if (kind === 'flag' || kind === 'choice') {
    const options = kind === 'flag' ? YES_NO : choices.map(({ label }, i) => [String(i), label] as const)
    return (
      <select {...common} aria-required={required} value={text}>
        <option value="">–</option>
        {options.map(([value, name]) => (
          <option key={value} value={value}>
            {name}
          </option>
        ))}
      </select>
    )
  }
  if (kind === 'long') return <textarea {...common} aria-required={required} rows={4} value={text} />
  const inputMode = kind === 'integer' ? 'numeric' : kind === 'number' ? 'decimal' : 'text'
  return (
    <input {...common} type="text" aria-required={required} inputMode={inputMode} autocomplete="off" value={text} />
  )
}

const YES_NO = [
  ['true', 'yes'],
  ['false', 'no'],
] as const

const FORMATS: Readonly<Record<string, string>> = {
  date: 'such as 2026-03-01',
  'date-time': 'such as 2026-03-01T09:30:00Z',
  email: 'an e-mail address',
  uri: 'such as https://example.com',
  uuid: 'a UUID',
}

/** What is permitted, in words. */
function hintOf({ kind, least, most, format }: Field): string {
  const isText = kind === 'text' || kind === 'long'
  const unit = isText ? ' characters' : ''
  const bounds =
    least !== null && most !== null
      ? `${least} to ${most}${unit}`
      : least !== null && !(isText && least <= 1)
        ? `at least ${least}${unit}`
        : most !== null
          ? `at most ${most}${unit}`
          : ''
  return [bounds, FORMATS[format ?? ''] ?? ''].filter((part) => part !== '').join(', ')
}

interface ListProps {
  readonly field: Field
  readonly label: string
  readonly texts: readonly string[]
  readonly onTexts: (texts: readonly string[]) => void
  readonly mistakes: readonly FormMistake[]
}

function ListInput({ field, label, texts, onTexts, mistakes }: ListProps) {
  const item = field.item as Field
  const mistake = mistakes.find(({ path }) => path === field.path)?.message
  return (
    <fieldset class="schema-group">
      <legend>
        <bdi>{label}</bdi> <Optional field={field} />
      </legend>
      {field.description !== '' && <p class="dim">{field.description}</p>}
      {mistake !== undefined && <p class="schema-mistake">{mistake}</p>}
      {texts.map((text, i) => (
        <div class="row schema-entry" key={i}>
          <div class="grow">
            <PlainInput
              field={item}
              label={`${i + 1}.`}
              text={text}
              onText={(value) => onTexts(texts.with(i, value))}
              mistake={mistakes.find(({ path }) => path === `${field.path}/${i}`)?.message ?? null}
            />
          </div>
          <button
            type="button"
            class="small"
            aria-label={`Remove entry ${i + 1} of ${label}`}
            onClick={() => onTexts(texts.toSpliced(i, 1))}
          >
            ✕
          </button>
        </div>
      ))}
      <button
        type="button"
        class="small"
        onClick={() => onTexts([...texts, item.kind === 'flag' ? 'false' : ''])}
        disabled={field.most !== null && texts.length >= field.most}
      >
        Add an entry
      </button>
    </fieldset>
  )
}

export function JsonInput(props: {
  readonly label: string
  readonly text: string
  readonly onText: (text: string) => void
  readonly mistake?: string | null
  readonly optional?: preact.ComponentChildren
  readonly help?: string
  /** Shown on request. */
  readonly schema?: unknown
}) {
  const { label, text, onText, mistake = null, optional, help = '', schema } = props
  const id = useId()
  const left = useSignal(false)
  const read = text.trim() === '' ? null : readJson(text)
  const found = mistake ?? (left.value && read !== null && !read.ok ? (read.mistakes[0]?.message ?? null) : null)
  return (
    <div class="schema-field">
      <label for={id}>
        <bdi>{label}</bdi> <span class="dim">JSON</span> {optional}
      </label>
      <textarea
        id={id}
        class="code"
        rows={6}
        spellcheck={false}
        aria-invalid={found !== null}
        aria-describedby={`${id}-help`}
        value={text}
        onInput={(event) => onText(event.currentTarget.value)}
        onBlur={() => {
          left.value = true
        }}
      />
      <p id={`${id}-help`} class="schema-help">
        {found !== null && <span class="schema-mistake">{found} </span>}
        {help}
      </p>
      {schema !== undefined && (
        <details>
          <summary class="dim">Schema</summary>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by the keyboard */}
          <pre tabIndex={0}>{JSON.stringify(schema, null, 2)}</pre>
        </details>
      )}
    </div>
  )
}
