import { describe, expect, it } from 'vitest'
import type { RunRow } from '../../../model/rows.ts'
import { HELD_AT } from '../../../model/rows.ts'
import { jobState, startsOf, stateBeforeCancel } from './state.ts'

const NOW = 1_000_000

function run(row: Partial<RunRow>): RunRow {
  return { status: 'pending', attempt: 0, runAt: NOW, unknown: false, finishedAt: null, ...row } as RunRow
}

describe('the state of a job', () => {
  it.each([
    ['available', run({})],
    ['available', run({ attempt: 2 })],
    ['scheduled', run({ runAt: NOW + 1 })],
    ['retryable', run({ runAt: NOW + 1, attempt: 1 })],
    ['pending', run({ runAt: HELD_AT })],
    ['active', run({ status: 'leased' })],
    ['completed', run({ status: 'succeeded' })],
    ['discarded', run({ status: 'failed' })],
    ['cancelled', run({ status: 'cancelled' })],
  ])('is %s', (state, row) => {
    expect(jobState(row, NOW)).toBe(state)
  })

  it('becomes available by the clock alone', () => {
    const row = run({ runAt: NOW + 1 })
    expect([jobState(row, NOW), jobState(row, NOW + 1)]).toEqual(['scheduled', 'available'])
  })
})

describe('attempt on the wire', () => {
  it.each([
    [0, run({})],
    [1, run({ status: 'leased' })],
    [1, run({ attempt: 1, runAt: NOW + 5 })],
    [2, run({ attempt: 1, status: 'leased' })],
    [2, run({ attempt: 1, status: 'succeeded' })],
    [3, run({ attempt: 3, status: 'failed' })],
    [0, run({ status: 'cancelled' })],
    [1, run({ status: 'cancelled', unknown: true })],
  ])('is %i', (attempt, row) => {
    expect(startsOf(row)).toBe(attempt)
  })
})

describe('the state before a cancel', () => {
  const cancelled = (row: Partial<RunRow>) => run({ status: 'cancelled', finishedAt: NOW, ...row })
  it.each([
    ['active', cancelled({ unknown: true })],
    ['available', cancelled({})],
    ['scheduled', cancelled({ runAt: NOW + 1 })],
    ['retryable', cancelled({ runAt: NOW + 1, attempt: 1 })],
    ['pending', cancelled({ runAt: HELD_AT })],
  ])('was %s', (state, row) => {
    expect(stateBeforeCancel(row)).toBe(state)
  })
})
