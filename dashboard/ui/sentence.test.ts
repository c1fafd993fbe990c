import { expect, it } from 'vitest'
import { sentenceOf } from './sentence.ts'

it('times of sentences are those of this window', () => {
  const at = '2026-11-20T00:00:00.000Z'
  expect(sentenceOf(`times out at ${at}, 20 per 60000 ms, since ${at}`)).toBe(
    `times out at ${new Date(at).toLocaleString()}, 20 per 60 s, since ${new Date(at).toLocaleString()}`,
  )
})
