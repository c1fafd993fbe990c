import { describe, expect, it } from 'vitest'
import { nextAfter } from '../../kernel/cron.ts'

const next = (expression: string, after: string, timezone = 'UTC'): string | null => {
  const at = nextAfter('test', expression, timezone, Date.parse(after))
  return at === null ? null : new Date(at).toISOString()
}

describe('nextAfter', () => {
  it('counts an interval from the last time', () => {
    expect(next('@every 30m', '2030-01-01T00:10:00Z')).toBe('2030-01-01T00:40:00.000Z')
    expect(next('@every 1h30m', '2030-01-01T00:00:00Z')).toBe('2030-01-01T01:30:00.000Z')
    expect(next('@every 500ms', '2030-01-01T00:00:00Z')).toBe('2030-01-01T00:00:00.500Z')
  })

  it('is a local time in its zone', () => {
    expect(next('0 9 * * *', '2030-01-01T00:00:00Z', 'Asia/Tokyo')).toBe('2030-01-02T00:00:00.000Z')
  })

  it('skips a time that does not exist on the day the clocks go forward', () => {
    expect(next('30 2 * * *', '2030-03-09T08:00:00Z', 'America/New_York')).toBe('2030-03-11T06:30:00.000Z')
  })

  it('fires once on the day a time exists twice', () => {
    const first = next('30 1 * * *', '2030-11-03T04:00:00Z', 'America/New_York')
    expect(first).toBe('2030-11-03T05:30:00.000Z')
    expect(next('30 1 * * *', first as string, 'America/New_York')).toBe('2030-11-04T06:30:00.000Z')
  })

  it('is null if it never fires', () => {
    expect(next('0 0 30 2 *', '2030-01-01T00:00:00Z')).toBeNull()
  })

  it.each(['nonsense', '61 * * * *', '@every 0s', '@every 5 minutes'])('refuses %s', (expression) => {
    expect(() => next(expression, '2030-01-01T00:00:00Z')).toThrow(/schedule 'test'/)
  })
})
