import { describe, expect, it } from 'vitest'
import { localTime, timesOf } from './cron.ts'

const at = (text: string): number => Date.parse(text)

describe('the next fires of a schedule', () => {
  const times = (expression: string, timezone: string, now: string, first: string | null = null, count = 3) =>
    timesOf({ name: 's', expression, timezone }, { first: first === null ? null : at(first), now: at(now), count }).map(
      (time) => [new Date(time).toISOString(), localTime(time, timezone)],
    )

  it('keep their local time when the clocks go forward, and leave out a time that they skip', () => {
    expect(times('30 6 * * *', 'Europe/Berlin', '2026-03-27T12:00:00Z')).toEqual([
      ['2026-03-28T05:30:00.000Z', '2026-03-28T06:30:00.000+01:00'],
      ['2026-03-29T04:30:00.000Z', '2026-03-29T06:30:00.000+02:00'],
      ['2026-03-30T04:30:00.000Z', '2026-03-30T06:30:00.000+02:00'],
    ])
    expect(times('30 2 * * *', 'Europe/Berlin', '2026-03-27T12:00:00Z')).toEqual([
      ['2026-03-28T01:30:00.000Z', '2026-03-28T02:30:00.000+01:00'],
      ['2026-03-30T00:30:00.000Z', '2026-03-30T02:30:00.000+02:00'],
      ['2026-03-31T00:30:00.000Z', '2026-03-31T02:30:00.000+02:00'],
    ])
  })

  it('fire once when the clocks go back and show a time twice', () => {
    expect(times('30 2 * * *', 'Europe/Berlin', '2026-10-24T12:00:00Z', null, 2)).toEqual([
      ['2026-10-25T00:30:00.000Z', '2026-10-25T02:30:00.000+02:00'],
      ['2026-10-26T01:30:00.000Z', '2026-10-26T02:30:00.000+01:00'],
    ])
  })

  it('begin with the time that is stored; times missed before it fires are one fire', () => {
    const late = times('0 * * * *', 'UTC', '2026-06-01T05:30:00Z', '2026-06-01T02:00:00Z', 2)
    expect(late.map(([time]) => time)).toEqual(['2026-06-01T02:00:00.000Z', '2026-06-01T06:00:00.000Z'])
  })

  it('are fewer if it has no more', () => {
    expect(times('0 0 30 2 *', 'UTC', '2026-06-01T00:00:00Z')).toEqual([])
  })

  it('count intervals from the last fire', () => {
    const every = times('@every 90m', 'UTC', '2026-06-01T00:00:00Z', '2026-06-01T00:10:00Z', 2)
    expect(every.map(([time]) => time)).toEqual(['2026-06-01T00:10:00.000Z', '2026-06-01T01:40:00.000Z'])
  })
})

describe('a time on the clocks of a zone', () => {
  it.each([
    ['UTC', '2026-06-01T12:00:00.000+00:00'],
    ['Asia/Kolkata', '2026-06-01T17:30:00.000+05:30'],
    ['America/St_Johns', '2026-06-01T09:30:00.000-02:30'],
  ])('%s: %s', (timezone, local) => expect(localTime(at('2026-06-01T12:00:00Z'), timezone)).toBe(local))
})
