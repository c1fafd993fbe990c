/**
 * The links of a large net, as a bitmap. Tens of thousands of curves take longer than a frame, but they do not change:
 * while the picture moves, the last bitmap moves along, and a new one is drawn in portions.
 */
import type { Scene } from '../model/scene.ts'
import type { Camera } from './camera.ts'
import { traceLink } from './links.ts'

const PORTION_MS = 5

interface Drawn {
  readonly canvas: HTMLCanvasElement
  readonly camera: Camera
  readonly width: number
  readonly height: number
}

interface Work {
  readonly drawn: Drawn
  readonly links: readonly number[]
  readonly context: CanvasRenderingContext2D
  next: number
}

export class LinkLayer {
  readonly #scene: Scene
  #shown: Drawn | null = null
  #work: Work | null = null
  #asked: Camera | null = null

  constructor(scene: Scene) {
    this.#scene = scene
  }

  /** Whether the bitmap is that of the camera. */
  isCurrent(camera: Camera, width: number, height: number): boolean {
    return this.#shown !== null && isOf(this.#shown, camera, width, height)
  }

  /** Draws for a few milliseconds. `links` are asked for when a new bitmap is begun. */
  advance(camera: Camera, width: number, height: number, ratio: number, ink: string, links: () => readonly number[]) {
    const work = this.#work
    if (work === null || !isOf(work.drawn, camera, width, height)) {
      // While the picture moves, nothing is begun that the next frame throws away.
      if (this.#asked === camera) this.#work = begun(camera, width, height, ratio, ink, links())
      else this.#work = null
      this.#asked = camera
      return
    }
    const until = performance.now() + PORTION_MS
    while (work.next < work.links.length && performance.now() < until) {
      const { context } = work
      context.beginPath()
      const end = Math.min(work.links.length, work.next + 60)
      for (; work.next < end; work.next++) traceLink(context, this.#scene, work.links[work.next]!)
      context.stroke()
    }
    if (work.next < work.links.length) return
    this.#shown = work.drawn
    this.#work = null
  }

  /** With the context in pixels of the page. */
  paint(context: CanvasRenderingContext2D, camera: Camera): void {
    if (this.#shown === null) return
    const { canvas, camera: before, width, height } = this.#shown
    const by = camera.scale / before.scale
    context.drawImage(canvas, camera.left - before.left * by, camera.top - before.top * by, width * by, height * by)
  }

  clear(): void {
    this.#shown = null
    this.#work = null
  }
}

function isOf({ camera, width, height }: Drawn, wanted: Camera, w: number, h: number): boolean {
  const isSame = camera.left === wanted.left && camera.top === wanted.top && camera.scale === wanted.scale
  return isSame && width === w && height === h
}

function begun(
  camera: Camera,
  width: number,
  height: number,
  ratio: number,
  ink: string,
  links: readonly number[],
): Work | null {
  const canvas = document.createElement('canvas')
  canvas.width = Math.max(1, Math.round(width * ratio))
  canvas.height = Math.max(1, Math.round(height * ratio))
  const context = canvas.getContext('2d')
  if (context === null) return null
  const { left, top, scale } = camera
  context.setTransform(scale * ratio, 0, 0, scale * ratio, left * ratio, top * ratio)
  context.strokeStyle = ink
  // Many lines on top of each other are not to become a black area.
  context.globalAlpha = links.length > 8000 ? 0.18 : 0.4
  context.lineWidth = 0.7 / scale
  return { drawn: { canvas, camera, width, height }, links, context, next: 0 }
}
