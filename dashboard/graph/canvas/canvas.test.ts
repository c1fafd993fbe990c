import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Box, fitted, revealing, seen, zoomed } from './camera.ts'
import { Grid } from './grid.ts'

const number = (min: number, max: number) => fc.double({ min, max, noNaN: true })
const box: fc.Arbitrary<Box> = fc.record({
  x: number(-5000, 5000),
  y: number(-5000, 5000),
  w: number(0, 3000),
  h: number(0, 3000),
})

describe('the grid', () => {
  it('finds exactly the boxes that touch', () => {
    fc.assert(
      fc.property(fc.array(box, { maxLength: 60 }), box, number(20, 900), (given, asked, cell) => {
        const boxes = given.map(
          ({ x, y, w, h }) => [x, y, x + w, y + h].map(Math.fround) as [number, number, number, number],
        )
        const grid = new Grid({ count: boxes.length, box: (i, put) => put(...boxes[i]!) }, cell)
        const touching = boxes.flatMap(([left, top, right, bottom], i) =>
          left <= asked.x + asked.w && right >= asked.x && top <= asked.y + asked.h && bottom >= asked.y ? [i] : [],
        )
        expect(grid.touching(asked)).toEqual(touching)
      }),
    )
  })
})

describe('the camera', () => {
  it('keeps the point under the pointer while it zooms', () => {
    fc.assert(
      fc.property(number(0.1, 2), number(0.5, 2), number(0, 900), number(0, 600), (scale, factor, x, y) => {
        const before = { left: 30, top: -40, scale }
        const after = zoomed(before, factor, x, y)
        expect((x - after.left) / after.scale).toBeCloseTo((x - before.left) / before.scale, 4)
        expect((y - after.top) / after.scale).toBeCloseTo((y - before.top) / before.scale, 4)
      }),
    )
  })

  it('fits a box into the window, and never makes a small one larger than it is', () => {
    const view = seen(fitted({ x: 100, y: 200, w: 4000, h: 500 }, 800, 600), 800, 600)
    expect(view.x < 100 && view.x + view.w > 4100 && view.y < 200 && view.y + view.h > 700).toBe(true)
    expect(fitted({ x: 0, y: 0, w: 10, h: 10 }, 800, 600).scale).toBe(1)
  })

  it('reveals a box, and does not move if it is in view', () => {
    const camera = { left: 0, top: 0, scale: 1 }
    expect(revealing(camera, { x: 100, y: 100, w: 50, h: 50 }, 800, 600)).toEqual(camera)
    expect(revealing(camera, { x: 900, y: 100, w: 50, h: 50 }, 800, 600)).toEqual({ left: -190, top: 0, scale: 1 })
  })
})
