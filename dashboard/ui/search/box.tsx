/**
 * The search of a list: one field with completion. What is finished is searched for while the user types; Enter searches at
 * once. Recent queries are offered while the field is empty.
 */
import { type Signal, useSignal } from '@preact/signals'
import { useEffect, useId, useRef } from 'preact/hooks'
import type { Fields } from '../../../src/model/search/fields.ts'
import { type Suggestion, suggestions } from './completion.ts'
import { knownValues, learn } from './known.ts'
import { Mistake } from './mistake.tsx'
import { atCaret, isFinished } from './query.ts'
import { recentQueries, remember } from './recent.ts'

export interface SearchBoxProps {
  readonly fields: Fields
  readonly query: string
  /** What the server said of this query. */
  readonly error: Error | null
  readonly onSearch: (query: string) => void
}

const DEBOUNCE_MS = 250

export function SearchBox({ fields, query, error, onSearch }: SearchBoxProps) {
  const box = useBox({ fields, query, error, onSearch })
  const { id, text, found, chosen, isOpen } = box
  return (
    <search class="search">
      <div class="search-field">
        <input
          ref={box.field}
          type="text"
          role="combobox"
          data-search
          aria-label={`Search ${fields.of}`}
          aria-expanded={isOpen}
          aria-controls={id}
          aria-autocomplete="list"
          aria-activedescendant={isOpen && chosen >= 0 ? `${id}-${chosen}` : undefined}
          aria-invalid={error !== null}
          aria-describedby={error === null ? undefined : `${id}-mistake`}
          autocomplete="off"
          spellcheck={false}
          maxLength={2_000}
          placeholder={fields.of === 'instances' ? 'state:failed name:order* age:>1h' : 'status:failed type:billing.*'}
          value={text}
          onInput={box.typed}
          onKeyDown={box.keyDown}
          onKeyUp={box.moved}
          onClick={box.moved}
          onFocus={box.moved}
          onBlur={box.left}
        />
        {text !== '' && (
          <button type="button" class="small plain" aria-label="Clear the search" onClick={() => box.write('', 0)}>
            ✕
          </button>
        )}
        <div id={id} role="listbox" aria-label="Suggestions" class="search-list" hidden={!isOpen}>
          {found.map(({ label, detail, from }, i) => (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the field above handles the keyboard
            <div
              key={`${label} ${from}`}
              id={`${id}-${i}`}
              role="option"
              tabIndex={-1}
              aria-selected={i === chosen}
              // Keeps the focus in the field.
              onMouseDown={(event) => event.preventDefault()}
              onClick={() => box.accept(found[i])}
            >
              <code>{label}</code> <span class="dim">{detail}</span>
            </div>
          ))}
        </div>
      </div>
      <div id={`${id}-mistake`}>
        {error !== null && <Mistake error={error} query={query} onCorrect={(corrected) => box.write(corrected)} />}
      </div>
    </search>
  )
}

/** The text while it is edited, and when it is searched for. */
function useDraft({ query, onSearch }: SearchBoxProps) {
  const text = useSignal(query)
  const caret = useSignal(0)
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  // The address has changed otherwise: a link, a toggle, the history.
  useEffect(() => {
    if (query !== text.peek().trim()) text.value = query
  }, [query])
  useEffect(() => () => clearTimeout(timer.current), [])
  const search = (value: string): void => {
    clearTimeout(timer.current)
    onSearch(value.trim())
  }
  const write = (value: string, at = value.length): void => {
    text.value = value
    caret.value = at
    clearTimeout(timer.current)
    if (isFinished(value)) timer.current = setTimeout(() => search(value), DEBOUNCE_MS)
  }
  return { text, caret, search, write }
}

function useBox(props: SearchBoxProps) {
  const { fields, query } = props
  const id = useId()
  const field = useRef<HTMLInputElement>(null)
  const { text, caret, search, write } = useDraft(props)
  const open = useSignal(false)
  const chosen = useSignal(-1)
  const found = open.value ? offered(text.value, caret.value, fields) : []
  const accept = (suggestion: Suggestion | undefined): void => {
    if (suggestion === undefined) return
    const { insert, from, to } = suggestion
    const at = from + insert.length
    const value = text.value.slice(0, from) + insert + text.value.slice(to)
    write(value, at)
    chosen.value = -1
    const input = field.current
    if (input === null) return
    // At once, so that what is typed next follows the completion.
    input.value = value
    input.focus()
    input.setSelectionRange(at, at)
  }
  const submit = (): void => {
    open.value = false
    remember(fields.of, text.value)
    search(text.value)
  }
  return {
    id: `${id}-list`,
    field,
    text: text.value,
    found,
    chosen: Math.min(chosen.value, found.length - 1),
    isOpen: found.length > 0,
    write,
    accept,
    keyDown: keyHandler({ found, chosen, open, accept, submit }),
    typed: (event: Event): void => {
      const input = event.currentTarget as HTMLInputElement
      open.value = input.value.trim() !== ''
      chosen.value = -1
      write(input.value, input.selectionStart ?? input.value.length)
    },
    moved: (event: Event): void => {
      const at = (event.currentTarget as HTMLInputElement).selectionStart ?? 0
      if (event.type === 'click') open.value = true
      if (at !== caret.value) chosen.value = -1
      caret.value = at
    },
    left: (): void => {
      open.value = false
      if (isFinished(text.value)) remember(fields.of, text.value)
      if (text.value.trim() !== query) search(text.value)
    },
  }
}

interface Keyed {
  readonly found: readonly Suggestion[]
  readonly chosen: Signal<number>
  readonly open: Signal<boolean>
  readonly accept: (suggestion: Suggestion | undefined) => void
  readonly submit: () => void
}

/** The arrows choose, Tab and Enter accept; Enter without a choice searches. */
function keyHandler({ found, chosen, open, accept, submit }: Keyed): (event: KeyboardEvent) => void {
  const last = found.length - 1
  return (event) => {
    const at = Math.min(chosen.value, last)
    if (event.key === 'ArrowDown' && last < 0) open.value = true
    else if (event.key === 'ArrowDown') chosen.value = Math.min(last, at + 1)
    else if (event.key === 'ArrowUp' && last >= 0) chosen.value = Math.max(-1, at - 1)
    else if (at >= 0 && (event.key === 'Enter' || (event.key === 'Tab' && !event.shiftKey))) accept(found[at])
    else if (event.key === 'Enter') submit()
    else if (event.key === 'Escape' && last >= 0) open.value = false
    else return
    event.preventDefault()
  }
}

function offered(text: string, caret: number, fields: Fields): readonly Suggestion[] {
  if (text.trim() !== '') {
    const { kind, field } = atCaret(text, caret)
    if (kind === 'value') learn(field)
    return suggestions(text, caret, fields, knownValues.value)
  }
  const recent = recentQueries(fields.of).map(
    (query): Suggestion => ({ insert: query, label: query, detail: 'recent', from: 0, to: text.length }),
  )
  return [...recent, ...suggestions('', 0, fields).map((one) => ({ ...one, to: text.length }))]
}
