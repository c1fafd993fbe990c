/** Runs of the last hour, by minute: as a picture, and as numbers for those who cannot see it. */
import { useEffect, useRef } from 'preact/hooks'
import { colour, theme } from '../../browser/theme.ts'
import { minutesOf } from './minutes.ts'
import type { Shared } from './overview.tsx'

const HEIGHT = 180

export function Throughput({ now, shared }: { readonly now: string; readonly shared: Shared }) {
  const minutes = minutesOf(now, shared.minutes)
  const total = (of: (typeof minutes)[number]): number => of.reduce((sum, n) => sum + n, 0)
  const [, started, succeeded, failed] = minutes
  return (
    <section class="card">
      <h2>Runs in the last hour</h2>
      <p class="dim">
        {total(started)} started, {total(succeeded)} succeeded, {total(failed)} failed
      </p>
      <Chart data={minutes} />
    </section>
  )
}

/** The library is loaded with the first chart. */
function Chart({ data }: { readonly data: ReturnType<typeof minutesOf> }) {
  const box = useRef<HTMLDivElement>(null)
  const latest = useRef(data)
  const chart = useRef<{ setData(data: unknown): void; destroy(): void } | null>(null)
  latest.current = data
  useEffect(() => {
    const place = box.current
    if (place === null) return
    let gone = false
    const observer = new ResizeObserver(() => {
      ;(chart.current as { setSize?: (size: { width: number; height: number }) => void } | null)?.setSize?.({
        width: place.clientWidth,
        height: HEIGHT,
      })
    })
    void import('uplot').then(({ default: UPlot }) => {
      if (gone) return
      const line = (label: string, tone: string, dash: readonly number[]) => ({
        label,
        stroke: () => colour(tone),
        width: 2,
        dash: [...dash],
        points: { show: false },
      })
      const axis = { stroke: () => colour('dim'), grid: { stroke: () => colour('line') }, ticks: { show: false } }
      chart.current = new UPlot(
        {
          width: place.clientWidth,
          height: HEIGHT,
          series: [{}, line('started', 'active', [6, 4]), line('succeeded', 'good', []), line('failed', 'bad', [2, 3])],
          axes: [axis, { ...axis, size: 40 }],
          cursor: { drag: { x: false, y: false } },
        },
        latest.current as never,
        place,
      )
      observer.observe(place)
    })
    return () => {
      gone = true
      observer.disconnect()
      chart.current?.destroy()
      chart.current = null
    }
  }, [theme.value])
  useEffect(() => chart.current?.setData(data), [data])
  return (
    <div
      ref={box}
      class="chart"
      role="img"
      aria-label="Runs started, succeeded and failed in each minute of the last hour"
    />
  )
}
