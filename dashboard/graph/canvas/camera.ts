/** Which part of a drawing is seen: a point (x, y) of it is at (x · scale + left, y · scale + top) of the canvas. */

export interface Camera {
  readonly left: number
  readonly top: number
  readonly scale: number
}

export interface Box {
  readonly x: number
  readonly y: number
  readonly w: number
  readonly h: number
}

const MOST_SCALE = 2.5
const LEAST_SCALE = 0.0005

/** The whole box, at most in its natural size, in the middle. */
export function fitted(box: Box, width: number, height: number, { margin = 24, most = 1 } = {}): Camera {
  const room = Math.min((width - 2 * margin) / Math.max(1, box.w), (height - 2 * margin) / Math.max(1, box.h))
  return centredOn(box, width, height, Math.min(most, Math.max(LEAST_SCALE, room)))
}

export function centredOn(box: Box, width: number, height: number, scale: number): Camera {
  return { scale, left: width / 2 - (box.x + box.w / 2) * scale, top: height / 2 - (box.y + box.h / 2) * scale }
}

/** The point under (x, y) of the canvas stays there. */
export function zoomed(camera: Camera, factor: number, x: number, y: number): Camera {
  const scale = Math.min(MOST_SCALE, Math.max(LEAST_SCALE, camera.scale * factor))
  const by = scale / camera.scale
  return { scale, left: x - (x - camera.left) * by, top: y - (y - camera.top) * by }
}

export function panned(camera: Camera, dx: number, dy: number): Camera {
  return { ...camera, left: camera.left + dx, top: camera.top + dy }
}

/** What is seen, in coordinates of the drawing. */
export function seen({ left, top, scale }: Camera, width: number, height: number): Box {
  return { x: -left / scale, y: -top / scale, w: width / scale, h: height / scale }
}

/** Moved as little as possible so that the box is in view, with a margin in pixels. */
export function revealing(camera: Camera, box: Box, width: number, height: number, margin = 40): Camera {
  const shift = (from: number, to: number, size: number): number => {
    if (to - from > size - 2 * margin) return (size - from - to) / 2
    return from < margin ? margin - from : to > size - margin ? size - margin - to : 0
  }
  const x = box.x * camera.scale + camera.left
  const y = box.y * camera.scale + camera.top
  return panned(camera, shift(x, x + box.w * camera.scale, width), shift(y, y + box.h * camera.scale, height))
}

export function between(a: Camera, b: Camera, t: number): Camera {
  const mix = (from: number, to: number): number => from + (to - from) * t
  return { left: mix(a.left, b.left), top: mix(a.top, b.top), scale: mix(a.scale, b.scale) }
}
