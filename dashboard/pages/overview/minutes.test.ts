import { expect, it } from 'vitest'
import { minutesOf } from './minutes.ts'

const NOW = '2026-11-20T10:00:30.000Z'
const counts = { started: 3, succeeded: 2, failed: 1 }

it('has sixty minutes, the last of which is the current one; those without counts are 0', () => {
  const [times, started, succeeded, failed] = minutesOf(NOW, [
    { minute: '2026-11-20T10:00:00.000Z', ...counts },
    { minute: '2026-11-20T09:58:00.000Z', ...counts },
  ])
  expect([times.length, times[0], times[59]]).toEqual([
    60,
    Date.parse('2026-11-20T09:01:00Z') / 1000,
    Date.parse('2026-11-20T10:00:00Z') / 1000,
  ])
  expect(started.slice(-3)).toEqual([3, 0, 3])
  expect([succeeded.at(-1), failed.at(-1)]).toEqual([2, 1])
  expect(started.reduce((sum, n) => sum + n, 0)).toBe(6)
})

it('leaves out minutes of another hour', () => {
  const [, started] = minutesOf(NOW, [{ minute: '2026-11-20T08:00:00.000Z', ...counts }])
  expect(started.every((n) => n === 0)).toBe(true)
})
