/** Times and durations, relative where one looks and exact where one points. */
import { signal } from '@preact/signals'

/** The time of the window, once a second while it is visible. */
export const now = signal(Date.now())
setInterval(() => {
  if (!document.hidden) now.value = Date.now()
}, 1000)

const UNITS: readonly (readonly [string, number])[] = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1000],
]

/** `340 ms`, `2.5 s`, `3 m 12 s`, `4 d 2 h` */
export function span(ms: number): string {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`
  if (ms < 10_000) return `${(ms / 1000).toFixed(1)} s`
  const at = UNITS.findIndex(([, size]) => ms >= size)
  const [unit, size] = UNITS[at] as readonly [string, number]
  const whole = Math.floor(ms / size)
  const next = UNITS[at + 1]
  const rest = next === undefined ? 0 : Math.floor((ms - whole * size) / next[1])
  return rest === 0 || next === undefined ? `${whole} ${unit}` : `${whole} ${unit} ${rest} ${next[0]}`
}

function exact(at: number): string {
  const date = new Date(at)
  return `${date.toLocaleString()} · ${date.toISOString()}`
}

/** `3 m ago`, `in 2 h`. `at`: ISO 8601, or milliseconds. */
export function Moment({ at }: { readonly at: string | number | null | undefined }) {
  if (at === null || at === undefined) return <span class="dim">–</span>
  const time = typeof at === 'number' ? at : Date.parse(at)
  const difference = now.value - time
  // The clock of the window is up to a second behind.
  const text =
    Math.abs(difference) < 1000 ? 'now' : difference > 0 ? `${span(difference)} ago` : `in ${span(-difference)}`
  return (
    <time dateTime={new Date(time).toISOString()} title={exact(time)}>
      {text}
    </time>
  )
}

/** The length from one time to another; to now if it has not ended. */
export function Took({ from, to }: { readonly from: string | null; readonly to: string | null }) {
  if (from === null) return <span class="dim">–</span>
  return <span>{span((to === null ? now.value : Date.parse(to)) - Date.parse(from))}</span>
}
