/** The pointer on a canvas: drag to pan, wheel or pinch to zoom about the pointer, click and double click. */

export interface Gestures {
  readonly pan: (dx: number, dy: number) => void
  readonly zoom: (factor: number, x: number, y: number) => void
  readonly click: (x: number, y: number) => void
  readonly open: (x: number, y: number) => void
  /** null: the pointer has left. */
  readonly hover: (at: { readonly x: number; readonly y: number } | null) => void
}

const CLICK_PIXELS = 4

interface Point {
  readonly x: number
  readonly y: number
}

export function listen(element: HTMLElement, on: Gestures): () => void {
  const held = new Map<number, Point>()
  let moved = 0
  const at = (event: MouseEvent): Point => {
    const { left, top } = element.getBoundingClientRect()
    return { x: event.clientX - left, y: event.clientY - top }
  }
  const down = (event: PointerEvent): void => {
    if (event.button !== 0) return
    if (held.size === 0) moved = 0
    held.set(event.pointerId, at(event))
    element.setPointerCapture(event.pointerId)
  }
  const move = (event: PointerEvent): void => {
    const point = at(event)
    const before = held.get(event.pointerId)
    if (before === undefined) {
      on.hover(point)
      return
    }
    moved += Math.abs(point.x - before.x) + Math.abs(point.y - before.y)
    const other = [...held].find(([id]) => id !== event.pointerId)?.[1]
    held.set(event.pointerId, point)
    if (other === undefined) {
      if (moved > CLICK_PIXELS) on.pan(point.x - before.x, point.y - before.y)
      return
    }
    const distance = (a: Point): number => Math.max(1, Math.hypot(a.x - other.x, a.y - other.y))
    on.zoom(distance(point) / distance(before), (point.x + other.x) / 2, (point.y + other.y) / 2)
    on.pan((point.x - before.x) / 2, (point.y - before.y) / 2)
  }
  const up = (event: PointerEvent): void => {
    const point = held.get(event.pointerId)
    held.delete(event.pointerId)
    if (point !== undefined && event.type === 'pointerup' && moved <= CLICK_PIXELS) on.click(point.x, point.y)
  }
  const wheel = (event: WheelEvent): void => {
    event.preventDefault()
    const { x, y } = at(event)
    const lines = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1
    // A pinch on a touchpad arrives as a wheel with Ctrl, in smaller steps.
    on.zoom(Math.exp(-event.deltaY * lines * (event.ctrlKey ? 0.01 : 0.0016)), x, y)
  }
  const twice = (event: MouseEvent): void => {
    const { x, y } = at(event)
    on.open(x, y)
  }
  const leave = (): void => on.hover(null)
  const all = [
    ['pointerdown', down],
    ['pointermove', move],
    ['pointerup', up],
    ['pointercancel', up],
    ['pointerleave', leave],
    ['dblclick', twice],
    ['wheel', wheel],
  ] as const
  for (const [name, listener] of all) element.addEventListener(name, listener as EventListener, { passive: false })
  return () => {
    for (const [name, listener] of all) element.removeEventListener(name, listener as EventListener)
  }
}
