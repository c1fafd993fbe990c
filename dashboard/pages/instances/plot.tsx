/**
 * The instances of the list as dots of time and duration. Dragging over it filters by age and duration; a click opens an
 * instance. With the keyboard the filters age: and took: do the same. While the pointer is over it, it stands still.
 */
import { useSignal } from '@preact/signals'
import { useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks'
import { go, href } from '../../browser/router.ts'
import { theme } from '../../browser/theme.ts'
import { now, span } from '../../ui/moments.tsx'
import type { Tone } from '../../ui/state.tsx'
import { type Box, brushed, type Dot, type Frame, frameOf, nearest } from './dots.ts'
import { draw, drawShape, LEGEND } from './drawing.ts'

const HEIGHT = 140
/** Less is a click. */
const LEAST_DRAG = 5

export function Plot({
  dots,
  onFilter,
}: {
  readonly dots: readonly Dot[]
  readonly onFilter: (filters: string) => void
}) {
  const canvas = useRef<HTMLCanvasElement>(null)
  const width = useWidth(canvas)
  const held = useRef<readonly Dot[] | null>(null)
  const pointed = useSignal<Dot | null>(null)
  const brush = useSignal<Box | null>(null)
  const shown = held.current ?? dots
  const frame = useMemo(() => frameOf(shown, { width, height: HEIGHT }), [shown, width])
  useEffect(() => {
    if (canvas.current === null || frame === null) return
    draw(canvas.current, { frame, dots: shown, pointed: pointed.value, brush: brush.value })
  }, [frame, pointed.value, brush.value, theme.value])
  const pointer = pointerHandlers({ frame, dots: shown, pointed, brush, onFilter })
  return (
    <figure class="plot">
      <canvas
        ref={canvas}
        role="img"
        aria-label={`${dots.length} instances by time and duration. The filters age: and took: select among them.`}
        style={{ height: `${HEIGHT}px`, cursor: pointed.value === null ? 'crosshair' : 'pointer' }}
        onPointerEnter={() => {
          held.current = dots
        }}
        onPointerLeave={() => {
          held.current = null
          pointed.value = null
        }}
        {...pointer}
      />
      <figcaption class="row">
        <span class="grow plot-pointed">
          {pointed.value === null ? 'Drag to filter by time and duration.' : <Pointed dot={pointed.value} />}
        </span>
        {LEGEND.map(({ tone, words }) => (
          <span key={tone} class="legend">
            <Shape tone={tone} /> {words}
          </span>
        ))}
      </figcaption>
    </figure>
  )
}

function Pointed({ dot: { name, state, at, tookMs } }: { readonly dot: Dot }) {
  return (
    <>
      <bdi>{name}</bdi> · {state} · took {span(tookMs)} · {span(now.value - at)} ago
    </>
  )
}

function Shape({ tone }: { readonly tone: Tone }) {
  const canvas = useRef<HTMLCanvasElement>(null)
  useEffect(() => {
    if (canvas.current !== null) drawShape(canvas.current, tone)
  }, [tone, theme.value])
  return (
    <span aria-hidden="true">
      <canvas ref={canvas} class="shape" />
    </span>
  )
}

interface Pointing {
  readonly frame: Frame | null
  readonly dots: readonly Dot[]
  readonly pointed: { value: Dot | null }
  readonly brush: { value: Box | null }
  readonly onFilter: (filters: string) => void
}

function pointerHandlers({ frame, dots, pointed, brush, onFilter }: Pointing) {
  const place = (event: PointerEvent): { readonly x: number; readonly y: number } => {
    const { left, top } = (event.currentTarget as HTMLElement).getBoundingClientRect()
    return { x: event.clientX - left, y: event.clientY - top }
  }
  return {
    onPointerDown: (event: PointerEvent): void => {
      if (event.button !== 0) return
      ;(event.currentTarget as HTMLElement).setPointerCapture(event.pointerId)
      const { x, y } = place(event)
      brush.value = { x1: x, y1: y, x2: x, y2: y }
    },
    onPointerMove: (event: PointerEvent): void => {
      const { x, y } = place(event)
      if (brush.value === null) pointed.value = frame === null ? null : nearest(dots, frame, x, y)
      else brush.value = { ...brush.value, x2: x, y2: y }
    },
    onPointerUp: (event: PointerEvent): void => {
      const box = brush.value
      brush.value = null
      if (box === null || frame === null) return
      if (Math.abs(box.x2 - box.x1) >= LEAST_DRAG || Math.abs(box.y2 - box.y1) >= LEAST_DRAG) {
        onFilter(brushed(frame, box, Date.now()))
        return
      }
      const { x, y } = place(event)
      const dot = nearest(dots, frame, x, y)
      if (dot !== null) go(href(`/instances/${dot.id}`))
    },
    onPointerCancel: (): void => {
      brush.value = null
    },
  }
}

function useWidth(canvas: { readonly current: HTMLCanvasElement | null }): number {
  const width = useSignal(800)
  useLayoutEffect(() => {
    const box = canvas.current
    if (box === null) return
    const observer = new ResizeObserver(() => {
      width.value = Math.max(200, box.clientWidth)
    })
    observer.observe(box)
    return () => observer.disconnect()
  }, [])
  return width.value
}
