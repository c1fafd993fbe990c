/** Runs of the last hour, by minute: three lines that differ in colour and in dashes, and the same in numbers. */
import { useSignal } from '@preact/signals'
import { minutesOf } from './minutes.ts'
import type { Shared } from './overview.tsx'

const HEIGHT = 150
const WIDTH = 600
/** Below the lines, for the times. */
const FOOT = 16
const SERIES = ['started', 'succeeded', 'failed'] as const

export function Throughput({ now, shared }: { readonly now: string; readonly shared: Shared }) {
  const [times, ...lines] = minutesOf(now, shared.minutes)
  const at = useSignal<number | null>(null)
  const total = (line: readonly number[]): number => line.reduce((sum, n) => sum + n, 0)
  const shown = at.value
  return (
    <section class="card">
      <h2>Runs in the last hour</h2>
      <ul class="row chart-legend" aria-label="Totals">
        {SERIES.map((name, i) => (
          <li key={name} class={name}>
            <svg width="22" height="8" aria-hidden="true">
              <line x1="0" y1="4" x2="22" y2="4" class={`line ${name}`} />
            </svg>{' '}
            {name} {shown === null ? total(lines[i] ?? []) : (lines[i]?.[shown] ?? 0)}
          </li>
        ))}
        <li class="dim">{shown === null ? 'in all' : clock(times[shown] ?? 0)}</li>
      </ul>
      <svg
        class="chart"
        viewBox={`0 0 ${WIDTH} ${HEIGHT + FOOT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`Runs in each minute of the last hour: ${SERIES.map((name, i) => `${total(lines[i] ?? [])} ${name}`).join(', ')}`}
        onPointerMove={(event) => {
          const { left, width } = event.currentTarget.getBoundingClientRect()
          at.value = Math.round(((event.clientX - left) / width) * (times.length - 1))
        }}
        onPointerLeave={() => {
          at.value = null
        }}
      >
        <Lines lines={lines} />
        {shown !== null && (
          <line x1={x(shown, times.length)} x2={x(shown, times.length)} y1="0" y2={HEIGHT} class="cursor" />
        )}
      </svg>
      <p class="row dim chart-foot">
        <span class="grow">{clock(times[0] ?? 0)}</span> <span>{clock(times.at(-1) ?? 0)}</span>
      </p>
    </section>
  )
}

function Lines({ lines }: { readonly lines: readonly (readonly number[])[] }) {
  const most = Math.max(1, ...lines.flat())
  const points = (line: readonly number[]): string =>
    line.map((n, i) => `${x(i, line.length)},${(HEIGHT - 2 - (n / most) * (HEIGHT - 6)).toFixed(1)}`).join(' ')
  return (
    <>
      <line x1="0" x2={WIDTH} y1={HEIGHT - 1} y2={HEIGHT - 1} class="base" />
      {lines.map((line, i) => (
        <polyline key={SERIES[i]} points={points(line)} class={`line ${SERIES[i]}`} />
      ))}
    </>
  )
}

function x(minute: number, minutes: number): string {
  return ((minute / (minutes - 1)) * WIDTH).toFixed(1)
}

function clock(seconds: number): string {
  return new Date(seconds * 1000).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' })
}
