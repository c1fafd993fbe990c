import { describe, expect, it } from 'vitest'
import { groupOf } from './find-group.ts'

const group = (fingerprint: string, message: string, node = 'pay') => ({ fingerprint, code: 'declined', node, message })

describe('the group of a failure', () => {
  const cause = { code: 'declined', node: 'pay', message: 'order 17 (0192-ab) was declined at 10:30' }

  it('has its code, its step, and its message without numbers and ids', () => {
    const groups = [
      group('a', 'order # (#) was declined at #'),
      group('b', 'order # was lost'),
      group('c', 'no', 'ship'),
    ]
    expect(groupOf(groups, cause)).toBe('a')
    expect(groupOf(groups, { ...cause, code: 'busy' })).toBeNull()
  })

  it('of a nested workflow is that of the step inside', () => {
    const groups = [group('a', 'order # (#) was declined at #', 'inside')]
    expect(groupOf(groups, cause)).toBe('a')
  })

  it('is not guessed between two', () => {
    expect(groupOf([group('a', cause.message), group('b', cause.message)], cause)).toBeNull()
  })
})
