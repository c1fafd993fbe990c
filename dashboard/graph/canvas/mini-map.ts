/** The whole drawing in a corner, with what is seen of it. */
import { type Camera, seen } from './camera.ts'
import { toneOf } from './cards.ts'
import type { Picture } from './picture.ts'

const EVERY_MS = 400

export class MiniMap {
  readonly #canvas: HTMLCanvasElement
  readonly #below = document.createElement('canvas')
  #of: readonly unknown[] = []
  #at = 0
  #fit: Camera = { left: 0, top: 0, scale: 1 }

  constructor(canvas: HTMLCanvasElement) {
    this.#canvas = canvas
  }

  /** The point of the drawing at a point of the map. */
  pointAt(x: number, y: number): { readonly x: number; readonly y: number } {
    return { x: (x - this.#fit.left) / this.#fit.scale, y: (y - this.#fit.top) / this.#fit.scale }
  }

  paint(picture: Picture, ratio: number): void {
    const { clientWidth: width, clientHeight: height } = this.#canvas
    const context = this.#canvas.getContext('2d')
    if (context === null || width === 0) return
    if (this.#canvas.width !== Math.round(width * ratio)) {
      this.#canvas.width = Math.round(width * ratio)
      this.#canvas.height = Math.round(height * ratio)
    }
    this.#drawBelow(picture, width, height, ratio)
    context.setTransform(1, 0, 0, 1, 0, 0)
    context.drawImage(this.#below, 0, 0)
    context.setTransform(ratio, 0, 0, ratio, 0, 0)
    const view = seen(picture.camera, picture.width, picture.height)
    const { left, top, scale } = this.#fit
    const box = [left + view.x * scale, top + view.y * scale, view.w * scale, view.h * scale] as const
    context.fillStyle = picture.palette.selected
    context.globalAlpha = 0.35
    context.fillRect(...box)
    context.globalAlpha = 1
    context.strokeStyle = picture.palette.accent
    context.lineWidth = 1.5
    context.strokeRect(box[0], box[1], Math.max(3, box[2]), Math.max(3, box[3]))
  }

  #drawBelow({ scene, faces, palette }: Picture, width: number, height: number, ratio: number): void {
    const of = [scene, palette, width, height, ratio]
    const isSame = of.every((one, i) => one === this.#of[i])
    const now = performance.now()
    if (isSame && (faces === this.#of[5] || now - this.#at < EVERY_MS)) return
    this.#of = [...of, faces]
    this.#at = now
    this.#below.width = Math.round(width * ratio)
    this.#below.height = Math.round(height * ratio)
    const context = this.#below.getContext('2d')
    if (context === null) return
    const scale = Math.min((width - 8) / scene.width, (height - 8) / scene.height)
    this.#fit = { scale, left: (width - scene.width * scale) / 2, top: (height - scene.height * scale) / 2 }
    context.setTransform(scale * ratio, 0, 0, scale * ratio, this.#fit.left * ratio, this.#fit.top * ratio)
    const least = 1.2 / scale
    for (const pass of ['others', 'bad'] as const) {
      for (let i = 0; i < scene.parts.length; i++) {
        const tone = toneOf(faces[i] ?? { state: '', mark: null, held: null }, scene.parts[i]!.change)
        if ((tone === 'bad' || tone === 'active') !== (pass === 'bad')) continue
        context.fillStyle = palette.ink[tone]
        const more = pass === 'bad' ? 2.5 : 1
        context.fillRect(
          scene.x[i]!,
          scene.y[i]!,
          Math.max(least * more, scene.w[i]!),
          Math.max(least * more, scene.h[i]!),
        )
      }
    }
  }
}
