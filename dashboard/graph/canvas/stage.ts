/** The canvas: holds what is painted, paints at most once a frame, and moves the camera. */
import { onThemeChange, readPalette } from '../../ui/palette.ts'
import type { Scene } from '../model/scene.ts'
import type { Trace } from '../model/trace.ts'
import { type Box, between, type Camera, centredOn, fitted, panned, revealing, seen, zoomed } from './camera.ts'
import { listen } from './gestures.ts'
import { Grid } from './grid.ts'
import { LinkLayer } from './link-layer.ts'
import { linkGridOf } from './links.ts'
import { MiniMap } from './mini-map.ts'
import { paint } from './paint.ts'
import type { Face, Picture } from './picture.ts'

export interface StageElements {
  readonly canvas: HTMLCanvasElement
  readonly map: HTMLCanvasElement
  /** Lies over the selected part. */
  readonly focus: HTMLElement
}

export interface StageEvents {
  readonly onSelect: (part: number | null) => void
  readonly onOpen: (part: number) => void
  /** The user has moved the camera. */
  readonly onMove: () => void
  /** What the tooltip says of a part. */
  readonly titleOf: (part: number) => string
}

/** What is shown besides the scene. */
export interface Shown {
  readonly faces: readonly Face[]
  readonly selected: number | null
  readonly found: ReadonlySet<number> | null
  readonly trace: Trace | null
  readonly hideSucceeded: boolean
}

const MOVE_MS = 220
/** A part that is looked for is shown at least this large. */
const READABLE = 0.6
const NOTHING: Shown = { faces: [], selected: null, found: null, trace: null, hideSucceeded: false }

interface OnStage {
  readonly scene: Scene
  readonly grid: Grid
  readonly linkGrid: Grid
  readonly layer: LinkLayer
}

export class Stage {
  readonly #elements: StageElements
  readonly #events: StageEvents
  readonly #map: MiniMap
  readonly #stop: (() => void)[] = []
  #palette = readPalette()
  #on: OnStage | null = null
  #shown = NOTHING
  #camera: Camera = { left: 0, top: 0, scale: 1 }
  #width = 0
  #height = 0
  #frame = 0
  #move: { readonly from: Camera; readonly to: Camera; readonly since: number } | null = null
  #moved = false

  constructor(elements: StageElements, events: StageEvents) {
    this.#elements = elements
    this.#events = events
    this.#map = new MiniMap(elements.map)
    const observer = new ResizeObserver(() => this.#resize())
    observer.observe(elements.canvas)
    this.#stop.push(
      () => observer.disconnect(),
      onThemeChange(() => {
        this.#palette = readPalette()
        this.#on?.layer.clear()
        this.invalidate()
      }),
      listen(elements.canvas, this.#gestures()),
      listen(elements.map, this.#mapGestures()),
    )
    this.#resize()
  }

  close(): void {
    for (const stop of this.#stop) stop()
    cancelAnimationFrame(this.#frame)
  }

  setScene(scene: Scene): void {
    const cell = 420
    const box = (i: number, put: (left: number, top: number, right: number, bottom: number) => void): void =>
      put(scene.x[i]!, scene.y[i]!, scene.x[i]! + scene.w[i]!, scene.y[i]! + scene.h[i]!)
    const grid = new Grid({ count: scene.parts.length, box }, cell)
    const isFirst = this.#on === null
    this.#on = { scene, grid, linkGrid: linkGridOf(scene), layer: new LinkLayer(scene) }
    if (isFirst || !this.#moved) this.#begin()
    this.invalidate()
  }

  show(shown: Shown): void {
    this.#shown = shown
    this.invalidate()
  }

  invalidate(): void {
    if (this.#frame !== 0) return
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0
      this.#paint()
    })
  }

  fit(): void {
    if (this.#on === null || this.#width === 0) return
    const { width, height } = this.#on.scene
    this.#to(fitted({ x: 0, y: 0, w: width, h: height }, this.#width, this.#height), true)
    this.#moved = false
  }

  /** Everything; of a drawing that would be a thin line, its beginning. */
  #begin(): void {
    if (this.#on === null || this.#width === 0) return
    const { width, height } = this.#on.scene
    const whole = fitted({ x: 0, y: 0, w: width, h: height }, this.#width, this.#height)
    const wide = fitted({ x: 0, y: 0, w: width, h: 1 }, this.#width, this.#height, { most: READABLE })
    const isLine = height * whole.scale > 2.5 * width * whole.scale && whole.scale < READABLE / 2
    this.#to(isLine ? { ...wide, top: 0 } : whole, false)
    this.#moved = false
  }

  zoom(factor: number): void {
    this.#to(zoomed(this.#camera, factor, this.#width / 2, this.#height / 2), true)
    this.#byUser()
  }

  pan(dx: number, dy: number): void {
    this.#camera = panned(this.#camera, dx, dy)
    this.#move = null
    this.#byUser()
  }

  /** Brings parts into view. Of many the first ones. */
  reveal(parts: readonly number[]): void {
    if (this.#on === null || parts.length === 0) return
    const { scene } = this.#on
    const [first] = parts
    const one = boxOf(scene, first as number)
    const camera = this.#camera.scale < READABLE ? centredOn(one, this.#width, this.#height, READABLE) : this.#camera
    const room = seen(camera, this.#width, this.#height)
    let box = one
    for (const part of parts.slice(1)) {
      const wider = around(box, boxOf(scene, part))
      if (wider.w < room.w * 0.8 && wider.h < room.h * 0.8) box = wider
    }
    this.#to(revealing(camera, box, this.#width, this.#height), true)
    this.#moved = true
  }

  partAt(x: number, y: number): number | null {
    if (this.#on === null) return null
    const { scene, grid } = this.#on
    const slack = 3 / this.#camera.scale
    const at = seen(this.#camera, this.#width, this.#height)
    const box = { x: at.x + x / this.#camera.scale, y: at.y + y / this.#camera.scale, w: 0, h: 0 }
    const near = { x: box.x - slack, y: box.y - slack, w: 2 * slack, h: 2 * slack }
    // What is inside a nested workflow comes later than the part that contains it.
    const found = grid.touching(near)
    return found.findLast((part) => contains(boxOf(scene, part), box)) ?? found.at(-1) ?? null
  }

  #gestures() {
    const { canvas } = this.#elements
    return {
      pan: (dx: number, dy: number) => this.pan(dx, dy),
      zoom: (factor: number, x: number, y: number) => {
        this.#camera = zoomed(this.#camera, factor, x, y)
        this.#move = null
        this.#byUser()
      },
      click: (x: number, y: number) => this.#events.onSelect(this.partAt(x, y)),
      open: (x: number, y: number) => {
        const part = this.partAt(x, y)
        if (part !== null) this.#events.onOpen(part)
      },
      hover: (at: { readonly x: number; readonly y: number } | null) => {
        const part = at === null ? null : this.partAt(at.x, at.y)
        canvas.style.cursor = part === null ? 'grab' : 'pointer'
        canvas.title = part === null ? '' : this.#events.titleOf(part)
      },
    }
  }

  #mapGestures() {
    const centre = (x: number, y: number): void => {
      const point = this.#map.pointAt(x, y)
      this.#camera = centredOn({ ...point, w: 0, h: 0 }, this.#width, this.#height, this.#camera.scale)
      this.#move = null
      this.#byUser()
    }
    let at = { x: 0, y: 0 }
    return {
      pan: (dx: number, dy: number) => {
        at = { x: at.x + dx, y: at.y + dy }
        centre(at.x, at.y)
      },
      zoom: (factor: number) => this.zoom(factor),
      click: centre,
      open: () => {},
      hover: (point: { readonly x: number; readonly y: number } | null) => {
        if (point !== null) at = point
      },
    }
  }

  #byUser(): void {
    this.#moved = true
    this.#events.onMove()
    this.invalidate()
  }

  #to(camera: Camera, animated: boolean): void {
    const isStill = window.matchMedia('(prefers-reduced-motion: reduce)').matches
    if (!animated || isStill) {
      this.#move = null
      this.#camera = camera
    } else this.#move = { from: this.#camera, to: camera, since: performance.now() }
    this.invalidate()
  }

  #resize(): void {
    const { canvas } = this.#elements
    const { clientWidth, clientHeight } = canvas
    if (clientWidth === this.#width && clientHeight === this.#height) return
    const isFirst = this.#width === 0
    this.#width = clientWidth
    this.#height = clientHeight
    canvas.width = Math.round(clientWidth * window.devicePixelRatio)
    canvas.height = Math.round(clientHeight * window.devicePixelRatio)
    if (isFirst || !this.#moved) this.#begin()
    this.#paint()
  }

  #paint(): void {
    const context = this.#elements.canvas.getContext('2d', { alpha: false })
    if (this.#on === null || context === null || this.#width === 0) return
    this.#advance()
    const ratio = this.#elements.canvas.width / this.#width
    const { scene, grid, linkGrid, layer } = this.#on
    const faces = this.#shown.faces.length === scene.parts.length ? this.#shown.faces : scene.parts.map(() => BLANK)
    const picture: Picture = {
      ...{ scene, grid, linkGrid, palette: this.#palette, camera: this.#camera },
      ...{ width: this.#width, height: this.#height, now: Date.now() },
      ...this.#shown,
      faces,
    }
    const isBehind = paint(context, picture, layer, ratio)
    this.#paintAround(picture, ratio)
    if (isBehind || this.#move !== null) this.invalidate()
  }

  #advance(): void {
    if (this.#move === null) return
    const { from, to, since } = this.#move
    const t = Math.min(1, (performance.now() - since) / MOVE_MS)
    this.#camera = t === 1 ? to : between(from, to, 1 - (1 - t) ** 3)
    if (t === 1) this.#move = null
  }

  /** The map, where the whole is larger than the window; and the element of the selected part. */
  #paintAround(picture: Picture, ratio: number): void {
    const { map, focus } = this.#elements
    const { scene, camera, width, height, selected } = picture
    const isLarge = scene.width * camera.scale > width * 1.3 || scene.height * camera.scale > height * 1.3
    map.hidden = !isLarge || scene.parts.length < 30
    if (!map.hidden) this.#map.paint(picture, ratio)
    focus.hidden = selected === null
    if (selected === null) return
    const { x, y, w, h } = boxOf(scene, selected)
    focus.style.transform = `translate(${x * camera.scale + camera.left}px, ${y * camera.scale + camera.top}px)`
    focus.style.width = `${Math.max(8, w * camera.scale)}px`
    focus.style.height = `${Math.max(8, h * camera.scale)}px`
  }
}

const BLANK: Face = { state: '', mark: null, held: null }

function boxOf({ x, y, w, h }: Scene, i: number): Box {
  return { x: x[i]!, y: y[i]!, w: w[i]!, h: h[i]! }
}

function contains({ x, y, w, h }: Box, at: Box): boolean {
  return at.x >= x && at.x <= x + w && at.y >= y && at.y <= y + h
}

function around(a: Box, b: Box): Box {
  const [x, y] = [Math.min(a.x, b.x), Math.min(a.y, b.y)]
  return { x, y, w: Math.max(a.x + a.w, b.x + b.w) - x, h: Math.max(a.y + a.h, b.y + b.h) - y }
}
