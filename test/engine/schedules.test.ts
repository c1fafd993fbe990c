import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { nextAfter } from '../../src/kernel/cron.ts'
import { Drive, net, node, PLACES } from './drive.ts'

describe('the next time of a schedule', () => {
  const at = (text: string): number => Date.parse(text)
  it('follows the time zone through daylight saving', () => {
    expect(nextAfter('s', '30 9 * * *', 'Europe/Berlin', at('2026-03-28T12:00:00Z'))).toBe(at('2026-03-29T07:30:00Z'))
    expect(nextAfter('s', '30 9 * * *', 'Europe/Berlin', at('2026-03-27T12:00:00Z'))).toBe(at('2026-03-28T08:30:00Z'))
  })
  it('accepts shorthands and intervals', () => {
    expect(nextAfter('s', '@hourly', 'UTC', at('2026-01-01T00:10:00Z'))).toBe(at('2026-01-01T01:00:00Z'))
    expect(nextAfter('s', '@every 30m', 'UTC', at('2026-01-01T00:10:00Z'))).toBe(at('2026-01-01T00:40:00Z'))
  })
  it('refuses invalid expressions with a suggestion', () => {
    expect(() => nextAfter('s', 'not a cron', 'UTC', 0)).toThrow(/schedule 's'.*five fields/)
  })
})

describe.each(PLACES)('schedules on $name', (place) => {
  let d: Drive
  beforeEach(async () => {
    d = await Drive.open(place, { sessionTtlMs: 1e9, heartbeatMs: 1e6 })
  })
  afterEach(async () => {
    expect(await d.doctor()).toEqual([])
    await d.close()
  })

  it('fires once per due time, whichever process sweeps', async () => {
    await d.engine.putSchedule({ name: 'tick', expression: '@every 60s', run: { type: 'tick', payload: null } })
    await d.pass(59_000)
    expect(await d.claim()).toEqual([])
    await d.pass(2_000)
    await Promise.all([d.engine.sweep(), d.engine.sweep()])
    expect(await d.claim()).toHaveLength(1)
    expect((await d.store.read.schedules())[0]).toMatchObject({ fireCount: 1 })
  })

  it('skips a firing while the last one still runs', async () => {
    await d.engine.putSchedule({
      name: 'tick',
      expression: '@every 60s',
      overlap: 'skip',
      run: { type: 'tick', payload: null },
    })
    await d.pass(61_000)
    const first = await d.claimOne()
    await d.pass(61_000)
    expect(await d.claim()).toEqual([])
    await d.succeed(first)
    await d.pass(61_000)
    expect(await d.claim()).toHaveLength(1)
  })

  it('lets firings overlap, replace or follow one another', async () => {
    const put = (overlap: 'allow' | 'cancel_previous' | 'enqueue') =>
      d.engine.putSchedule({ name: overlap, expression: '@every 60s', overlap, run: { type: overlap, payload: null } })
    await put('allow')
    await put('cancel_previous')
    await put('enqueue')
    await d.pass(61_000)
    const first = await d.claim()
    expect(first).toHaveLength(3)
    await d.pass(61_000)
    const second = await d.claim()
    expect(second.map((x) => x.type).sort()).toEqual(['allow', 'cancel_previous'])
    const cancelled = first.find((x) => x.type === 'cancel_previous')
    expect((await d.store.read.run(cancelled?.runId as string))?.status).toBe('cancelled')
    const queued = first.find((x) => x.type === 'enqueue')
    await d.succeed(queued as never)
    await d.pass(1)
    expect((await d.claim()).map((x) => x.type)).toEqual(['enqueue'])
  })

  it('starts workflows, and can be changed and removed', async () => {
    const start = { net: net([node('a')]) }
    await d.engine.putSchedule({ name: 'wf', expression: '@every 60s', start })
    await d.pass(61_000)
    expect(await d.work()).toEqual(['a'])
    expect(await d.engine.removeSchedule('wf')).toBe(true)
    expect(await d.engine.removeSchedule('wf')).toBe(false)
    await expect(
      d.engine.putSchedule({ name: 'bad', expression: '61 * * * *', run: { type: 'x', payload: null } }),
    ).rejects.toMatchObject({ code: 'invalid_request' })
  })
})
