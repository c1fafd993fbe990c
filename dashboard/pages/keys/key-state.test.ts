import { describe, expect, it } from 'vitest'
import { stateOf } from './key-state.ts'

const NOW = Date.parse('2026-03-01T10:00:00Z')

describe('a key', () => {
  it.each([
    [null, null, 'active'],
    [null, '2026-03-01T10:00:01Z', 'active'],
    [null, '2026-03-01T10:00:00Z', 'expired'],
    ['2026-02-01T10:00:00Z', '2026-02-02T10:00:00Z', 'revoked'],
  ])('revoked at %s, expiring at %s, is %s', (revoked, expires, state) => {
    expect(stateOf({ revoked_at: revoked, expires_at: expires }, NOW)).toBe(state)
  })
})
