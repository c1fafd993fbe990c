/** A field for JSON, which keeps every digit of the numbers that are typed into it. */
import type { Signal } from '@preact/signals'
import { useId } from 'preact/hooks'
import { exactJson } from './exact-json.ts'

export function JsonField(props: {
  readonly label: string
  readonly text: Signal<string>
  /** Absent: it may be empty. */
  readonly required?: boolean
  readonly rows?: number
}) {
  const { label, text, required = false, rows = 5 } = props
  const id = useId()
  const mistake = mistakeIn(text.value, required)
  return (
    <label>
      <span>{label}</span>
      <textarea
        class="json-field"
        rows={rows}
        spellcheck={false}
        value={text.value}
        aria-invalid={mistake !== null}
        aria-describedby={id}
        onInput={({ currentTarget }) => {
          text.value = currentTarget.value
        }}
      />
      <span id={id} class="field-mistake" role="status">
        {mistake ?? ''}
      </span>
    </label>
  )
}

/** null: it is valid. */
function mistakeIn(text: string, required: boolean): string | null {
  if (text.trim() === '') return required ? 'JSON is needed here, for example {"amount": 20}' : null
  try {
    exactJson(text)
    return null
  } catch (error) {
    return `not valid JSON: ${(error as Error).message}`
  }
}
