/** Where an arrow key leads from a part: along the links, or to its neighbour. */
import type { Scene } from './scene.ts'

export type Direction = 'up' | 'down' | 'left' | 'right'

export function neighbour(scene: Scene, from: number, direction: Direction): number | null {
  const middle = (i: number): number => scene.x[i]! + scene.w[i]! / 2
  const centre = (i: number): number => scene.y[i]! + scene.h[i]! / 2
  if (direction === 'up' || direction === 'down') {
    const linked: number[] = []
    for (const link of scene.links) {
      if (direction === 'down' && link.from === from) linked.push(link.to)
      if (direction === 'up' && link.to === from) linked.push(link.from)
    }
    const isAhead = (i: number): boolean =>
      direction === 'down' ? centre(i) > centre(from) + 1 : centre(i) < centre(from) - 1
    const ahead = linked.filter(isAhead)
    return nearest(ahead.length > 0 ? ahead : linked.filter((i) => i !== from), (i) =>
      Math.abs(middle(i) - middle(from)),
    )
  }
  const isBeside = (i: number): boolean => {
    const overlap = Math.abs(centre(i) - centre(from)) < (scene.h[i]! + scene.h[from]!) / 2
    return overlap && (direction === 'right' ? middle(i) > middle(from) + 1 : middle(i) < middle(from) - 1)
  }
  const beside: number[] = []
  for (let i = 0; i < scene.parts.length; i++) if (i !== from && isBeside(i)) beside.push(i)
  return nearest(beside, (i) => Math.abs(middle(i) - middle(from)))
}

function nearest(parts: readonly number[], distance: (part: number) => number): number | null {
  let best: number | null = null
  for (const part of parts) if (best === null || distance(part) < distance(best)) best = part
  return best
}
