/** Which columns of a list are shown; kept by the browser. */
import { type Signal, useSignal } from '@preact/signals'
import { useId } from 'preact/hooks'
import type { Column } from '../rows.tsx'

export interface ChosenColumns<Row> {
  readonly shown: readonly Column<Row>[]
  readonly all: readonly Column<Row>[]
  readonly keys: Signal<readonly string[]>
}

/** `usual`: those shown until the user chooses. */
export function useColumns<Row>(
  name: string,
  all: readonly Column<Row>[],
  usual: readonly string[],
): ChosenColumns<Row> & { readonly change: (keys: readonly string[] | null) => void } {
  const stored = useSignal<readonly string[]>(storedKeys(name) ?? usual)
  return {
    all,
    keys: stored,
    shown: all.filter(({ key }) => stored.value.includes(key)),
    change: (keys) => {
      stored.value = keys ?? usual
      if (keys === null) localStorage.removeItem(placeOf(name))
      else localStorage.setItem(placeOf(name), JSON.stringify(keys))
    },
  }
}

const placeOf = (name: string): string => `petrel.columns.${name}`

function storedKeys(name: string): readonly string[] | null {
  try {
    const value: unknown = JSON.parse(localStorage.getItem(placeOf(name)) ?? 'null')
    return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : null
  } catch {
    return null
  }
}

export function ColumnChooser<Row>({
  columns,
  change,
}: {
  readonly columns: ChosenColumns<Row>
  readonly change: (keys: readonly string[] | null) => void
}) {
  const id = useId()
  const { all, keys } = columns
  const toggle = (key: string): void => {
    change(keys.value.includes(key) ? keys.value.filter((one) => one !== key) : [...keys.value, key])
  }
  return (
    <div class="chooser">
      <button type="button" class="small" popovertarget={id}>
        Columns
      </button>
      <fieldset id={id} popover="auto" class="chooser-list">
        <legend class="visually-hidden">Columns</legend>
        {all.map(({ key, title }) => (
          <label key={key} class="inline">
            <input
              type="checkbox"
              checked={keys.value.includes(key)}
              disabled={keys.value.length === 1 && keys.value.includes(key)}
              onChange={() => toggle(key)}
            />
            {title}
          </label>
        ))}
        <button type="button" class="small" onClick={() => change(null)}>
          As at first
        </button>
      </fieldset>
    </div>
  )
}
