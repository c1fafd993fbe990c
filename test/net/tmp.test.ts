import { expect, test } from 'vitest'
import { runCases } from './cases.ts'

const dir = process.env.IMPL!
test('tmp', { timeout: 600_000 }, async () => {
  const core = await import(dir)
  const { failure, played, coverage } = runCases(core, {
    count: Number(process.env.N ?? 10000),
    seed: Number(process.env.SEED ?? 1),
    shrink: true,
  })
  console.log(played, coverage.get('guard error'), coverage.get('no match'))
  expect(failure ?? '').toBe('')
})
