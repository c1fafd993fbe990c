/** What waited and ran when, in an instance. */
import { useSignal } from '@preact/signals'
import { useEffect, useId, useMemo, useRef } from 'preact/hooks'
import { Empty } from '../ui/empty.tsx'
import { now } from '../ui/moments.tsx'
import { Problem } from '../ui/problem.tsx'
import { type Axis, axisOf } from './axis.ts'
import { Details } from './details.tsx'
import { type Lane, lanesOf } from './lanes.ts'
import { type TimelineData, useTimeline } from './live-timeline.ts'
import { HEAD, LANE } from './paint.ts'
import { type Pointed, TimelineStage } from './stage.ts'

export interface InstanceTimelineProps {
  readonly id: string
  /** The key of a node, to be shown in the graph. */
  readonly onSelect?: (nodeKey: string) => void
}

export function InstanceTimeline({ id, onSelect }: InstanceTimelineProps) {
  const { data, error } = useTimeline(id)
  if (error.value !== null) return <Problem error={error.value} />
  if (data.value === null) return <p class="dim">Loading …</p>
  if (data.value.rows.length === 0) return <Empty what="Nothing has begun yet." command={`petrel why ${id}`} />
  return <Timeline key={id} data={data.value} onSelect={onSelect} />
}

interface TimelineProps {
  readonly data: TimelineData
  readonly onSelect: ((nodeKey: string) => void) | undefined
}

function Timeline({ data, onSelect }: TimelineProps) {
  const view = useView(data)
  const { lanes, at, selected, pointed, search, canvas, scroller } = view
  const help = useId()
  const shown = pointed.value ?? (selected === null ? null : { lane: selected, segment: null })
  const lane = shown === null ? undefined : lanes[shown.lane]
  return (
    <div class="timeline">
      <Bar view={view} />
      <div
        class="timeline-stage"
        role="application"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the keys of the picture are those of this element
        tabIndex={0}
        aria-label={`Timeline: ${lanes.length} lines. The Steps tab has the same as a table.`}
        aria-describedby={help}
        onKeyDown={(event) => onKey(event, view, onSelect)}
      >
        <div ref={scroller} class="timeline-scroll">
          <div class="timeline-space" style={{ height: `${HEAD + lanes.length * LANE + 4}px` }}>
            <canvas ref={canvas} class="timeline-canvas" />
          </div>
        </div>
      </div>
      <div class="timeline-details" role="status">
        {lane === undefined || shown === null ? (
          <p class="dim">Point at a line, or select one by the keyboard, for its reasons and exact times.</p>
        ) : (
          <Details lane={lane} segment={shown.segment} now={at} onSelect={onSelect} />
        )}
      </div>
      <p id={help} class="graph-keys dim">
        <kbd>↑</kbd> <kbd>↓</kbd> select a line, <kbd>Space</kbd> opens it, <kbd>Enter</kbd> shows its step,{' '}
        <kbd>←</kbd> <kbd>→</kbd> move, <kbd>+</kbd> <kbd>−</kbd> <kbd>0</kbd> zoom. Drag along the times, or with{' '}
        <kbd>Shift</kbd>, to zoom into a stretch; <kbd>Ctrl</kbd> and the wheel zoom, <kbd>Shift</kbd> and the wheel
        move.
      </p>
      {search.value !== '' && lanes.length === 0 && <p class="dim">No step is named so.</p>}
    </div>
  )
}

type View = ReturnType<typeof useView>

function useView(data: TimelineData) {
  const canvas = useRef<HTMLCanvasElement>(null)
  const scroller = useRef<HTMLDivElement>(null)
  const stage = useRef<TimelineStage | null>(null)
  const open = useSignal<ReadonlySet<string>>(new Set())
  const bands = useSignal<ReadonlySet<number>>(new Set())
  const chosen = useSignal<string | null>(null)
  const pointed = useSignal<Pointed | null>(null)
  const search = useSignal('')
  const follow = useSignal(false)
  // What has ended does not move with the clock.
  const clock = data.hasEnded ? 0 : now.value
  const at = data.hasEnded ? lastOf(data) : clock + data.skewMs
  const lanes = useMemo(() => lanesOf(data.rows, open.value, search.value), [data, open.value, search.value])
  const axis = useMemo(() => axisOf(data.rows, at, bands.value), [data, at, bands.value])
  const found = lanes.findIndex(({ key }) => key === chosen.value)
  const selected = found < 0 ? null : found
  const current = useRef<{ lanes: readonly Lane[]; axis: Axis }>({ lanes, axis })
  current.current = { lanes, axis }
  const toggle = (lane: number): void => {
    const line = current.current.lanes[lane]
    if (line !== undefined && line.isOpen !== null) open.value = flipped(open.value, line.key)
  }
  useEffect(() => {
    if (canvas.current === null || scroller.current === null) return
    const made = new TimelineStage(canvas.current, scroller.current, {
      onPoint: (one) => {
        if (one?.lane !== pointed.value?.lane || one?.segment !== pointed.value?.segment) pointed.value = one
      },
      onChoose: (lane) => {
        chosen.value = current.current.lanes[lane]?.key ?? null
      },
      onToggle: toggle,
      onBand: (from) => {
        bands.value = flipped(bands.value, from)
      },
      onMove: () => {
        follow.value = false
      },
    })
    stage.current = made
    return () => made.close()
  }, [])
  useEffect(() => stage.current?.follow(follow.value), [follow.value])
  useEffect(() => {
    stage.current?.show({ lanes, axis, selected, now: at, isLive: !data.hasEnded })
  }, [lanes, axis, selected, at])
  return { canvas, scroller, stage, lanes, axis, at, selected, chosen, pointed, search, follow, bands, toggle }
}

function lastOf({ rows }: TimelineData): number {
  let last = 0
  for (const { from, to } of rows) last = Math.max(last, to ?? from)
  return last
}

function flipped<T>(set: ReadonlySet<T>, value: T): ReadonlySet<T> {
  const next = new Set(set)
  if (!next.delete(value)) next.add(value)
  return next
}

function Bar({ view }: { readonly view: View }) {
  const { search, follow, stage, axis, bands } = view
  const isOpen = axis.bands.some((band) => band.isOpen)
  return (
    <div class="graph-bar row">
      <input
        type="search"
        data-search
        placeholder="Find a step …"
        aria-label="Find a step in the timeline"
        value={search.value}
        onInput={(event) => {
          search.value = event.currentTarget.value
        }}
      />
      <span class="grow" />
      {axis.bands.length > 0 && (
        <button
          type="button"
          class="small toggle"
          aria-pressed={isOpen}
          onClick={() => {
            bands.value = isOpen ? new Set() : new Set(axis.bands.map(({ from }) => from))
          }}
        >
          <span aria-hidden="true">{isOpen ? '☑' : '☐'}</span> Idle time in full length
        </button>
      )}
      <button
        type="button"
        class="small toggle"
        aria-pressed={follow.value}
        onClick={() => {
          follow.value = !follow.value
        }}
      >
        <span aria-hidden="true">{follow.value ? '☑' : '☐'}</span> Follow
      </button>
      <button type="button" class="small" aria-label="Zoom out" onClick={() => stage.current?.zoom(1 / 1.6)}>
        −
      </button>
      <button type="button" class="small" onClick={() => stage.current?.fit()}>
        Fit
      </button>
      <button type="button" class="small" aria-label="Zoom in" onClick={() => stage.current?.zoom(1.6)}>
        +
      </button>
    </div>
  )
}

function onKey(event: KeyboardEvent, view: View, onSelect: TimelineProps['onSelect']): void {
  const { lanes, selected, chosen, stage, toggle, pointed } = view
  if (event.ctrlKey || event.metaKey || event.altKey) return
  const choose = (lane: number): void => {
    const next = Math.max(0, Math.min(lanes.length - 1, lane))
    chosen.value = lanes[next]?.key ?? null
    pointed.value = null
    stage.current?.reveal(next)
  }
  const node = selected === null ? '' : (lanes[selected]?.node ?? '')
  const keys: Readonly<Record<string, () => void>> = {
    ArrowDown: () => choose(selected === null ? 0 : selected + 1),
    ArrowUp: () => choose(selected === null ? 0 : selected - 1),
    PageDown: () => choose((selected ?? 0) + 15),
    PageUp: () => choose((selected ?? 0) - 15),
    Home: () => choose(0),
    End: () => choose(lanes.length - 1),
    ArrowLeft: () => stage.current?.shift(-0.15),
    ArrowRight: () => stage.current?.shift(0.15),
    '+': () => stage.current?.zoom(1.6),
    '=': () => stage.current?.zoom(1.6),
    '-': () => stage.current?.zoom(1 / 1.6),
    '0': () => stage.current?.fit(),
    ' ': () => selected !== null && toggle(selected),
    Enter: () => node !== '' && onSelect?.(node),
    Escape: () => {
      chosen.value = null
    },
  }
  const run = keys[event.key]
  if (run === undefined) return
  run()
  event.preventDefault()
  event.stopPropagation()
}
