/** How many there are in each state, as switches of the filter. */
import { lookOf } from '../state.tsx'
import { acceptedBy, toggled } from './query.ts'

export interface Counted {
  readonly state: string
  readonly count: number
  readonly more: boolean
}

export function countText({ count, more }: { readonly count: number; readonly more: boolean }): string {
  return `${count.toLocaleString('en')}${more ? '+' : ''}`
}

export function StateCounts({
  field,
  query,
  counts,
  onSearch,
}: {
  /** `state` of instances, `status` of runs. */
  readonly field: string
  readonly query: string
  readonly counts: readonly Counted[]
  readonly onSearch: (query: string) => void
}) {
  const chosen = acceptedBy(query, field)
  const missing = chosen.filter((state) => !counts.some((one) => one.state === state))
  const all = [...counts, ...missing.map((state) => ({ state, count: 0, more: false }))]
  return (
    <fieldset class="counts">
      <legend class="visually-hidden">Only in this {field}</legend>
      {all.map((counted) => {
        const { state } = counted
        const { shape, tone } = lookOf(state)
        return (
          <button
            type="button"
            key={state}
            class={`count state ${tone}`}
            aria-pressed={chosen.includes(state)}
            onClick={() => onSearch(toggled(query, field, state))}
          >
            <span aria-hidden="true">{shape}</span> {state} <strong>{countText(counted)}</strong>
          </button>
        )
      })}
    </fieldset>
  )
}
