import { expect, test } from 'vitest'
import { ThreadLine } from './thread-line.ts'

test('an owner who sends many files delays others no longer than the running ones take', async () => {
  const line = new ThreadLine(2)
  const began: string[] = []
  const ends: (() => void)[] = []
  const read = (owner: string): Promise<void> =>
    line.during(owner, () => {
      began.push(owner)
      return new Promise((resolve) => ends.push(resolve))
    })
  const many = Array.from({ length: 50 }, () => read('many'))
  const [other, third] = [read('other'), read('third')]
  expect(began).toEqual(['many', 'other'])
  ends[0]?.()
  await many[0]
  await turn()
  expect(began).toHaveLength(3)
  ends[1]?.()
  await other
  await turn()
  // The order does not matter: both had their turn.
  expect(began.toSorted()).toEqual(['many', 'many', 'other', 'third'])
  for (let ended = 2; ended < 52; ended++) {
    ends[ended]?.()
    await turn()
  }
  await Promise.all([...many, third])
  expect(began.filter((owner) => owner === 'many')).toHaveLength(50)
})

test('one that fails frees its place', async () => {
  const line = new ThreadLine(1)
  await expect(line.during('a', () => Promise.reject(new Error('no')))).rejects.toThrow('no')
  await expect(line.during('b', async () => 'read')).resolves.toBe('read')
})

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
