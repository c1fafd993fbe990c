import { describe, expect, it } from 'vitest'
import { Buffer } from './buffer.ts'
import { Pace } from './pace.ts'
import type { Delivery } from './port.ts'

describe('how many runs are fetched ahead', () => {
  const options = { concurrency: 10, prefetchMs: 50, maxPrefetch: 500 }

  it('one for each slot before anything is measured', () => {
    expect(new Pace(options).target).toBe(10)
    expect(new Pace({ ...options, maxPrefetch: 0 }).target).toBe(0)
  })

  it('as many as will begin within the time, up to the bound', () => {
    const pace = new Pace(options)
    pace.add(5)
    expect(pace.target).toBe(100)
    for (let i = 0; i < 200; i++) pace.add(0)
    expect(pace.target).toBe(500)
  })

  it('none for slow runs', () => {
    const pace = new Pace(options)
    pace.add(1_000)
    expect(pace.target).toBe(0)
  })

  it('none once every slot is stuck, until runs are quick again', () => {
    const pace = new Pace(options)
    pace.add(0.01)
    pace.stalled(1_000)
    expect(pace.target).toBe(0)
    for (let i = 0; i < 200; i++) pace.add(0.1)
    expect(pace.target).toBeGreaterThan(100)
  })
})

describe('the buffer of leased runs', () => {
  const run = (n: number) => ({ runId: String(n) }) as Delivery

  it('returns them in the order they came, in any number', () => {
    const buffer = new Buffer()
    const out: string[] = []
    for (let i = 0; i < 5_000; i++) {
      buffer.push(run(i))
      if (i % 3 === 0) out.push(buffer.shift()!.runId)
    }
    while (buffer.length > 0) out.push(buffer.shift()!.runId)
    expect(out).toEqual(Array.from({ length: 5_000 }, (_, i) => String(i)))
    expect(buffer.shift()).toBeUndefined()
  })

  it('returns those that are asked for', () => {
    const buffer = new Buffer()
    for (let i = 0; i < 6; i++) buffer.push(run(i))
    buffer.shift()
    expect(buffer.take((d) => Number(d.runId) % 2 === 0).map((d) => d.runId)).toEqual(['2', '4'])
    expect(buffer.length).toBe(3)
    expect(buffer.shift()?.runId).toBe('1')
  })
})
