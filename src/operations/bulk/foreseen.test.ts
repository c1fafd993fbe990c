import { describe, expect, it } from 'vitest'
import type { InstanceRow, RunRow } from '../../model/rows.ts'
import { refusalOfInstance, refusalOfRun } from './foreseen.ts'

const instance = (row: Partial<InstanceRow>) =>
  ({
    state: 'failed',
    phase: 'ended',
    outcome: 'failed',
    parentId: null,
    parentNode: null,
    paused: null,
    ...row,
  }) as InstanceRow
const run = (row: Partial<RunRow>) => ({ status: 'failed', deadLetter: false, ...row }) as RunRow

describe('what an action would refuse', () => {
  it('cancel: what has ended, or is ending', () => {
    expect(refusalOfInstance('cancel', instance({ state: 'running', phase: 'forward' }))).toBeNull()
    expect(refusalOfInstance('cancel', instance({}))).toBe('it is already failed')
    expect(refusalOfInstance('cancel', instance({ state: 'cancelling' }))).toBe('it is already cancelling')
    expect(refusalOfInstance('cancel', instance({ state: 'compensating', phase: 'undo' }))).toBe(
      'it is undoing its work',
    )
  })

  it('roll back: what no longer goes forward', () => {
    expect(refusalOfInstance('roll_back', instance({ state: 'running', phase: 'forward' }))).toBeNull()
    expect(refusalOfInstance('roll_back', instance({ state: 'running', phase: 'drain' }))).toBe('it is ending already')
    expect(refusalOfInstance('roll_back', instance({ state: 'completed' }))).toBe('it is already completed')
  })

  it('retry: what has not ended, has completed, or is nested', () => {
    expect(refusalOfInstance('retry', instance({}))).toBeNull()
    expect(refusalOfInstance('retry', instance({ state: 'completed', outcome: 'partial' }))).toBeNull()
    expect(refusalOfInstance('retry', instance({ state: 'running' }))).toBe('it is still running')
    expect(refusalOfInstance('retry', instance({ state: 'completed', outcome: 'success' }))).toBe('it completed')
    expect(refusalOfInstance('retry', instance({ parentNode: 'sub' }))).toBe('it is nested')
  })

  it('delete: what has not ended, or is nested', () => {
    expect(refusalOfInstance('delete', instance({}))).toBeNull()
    expect(refusalOfInstance('delete', instance({ state: 'waiting' }))).toBe('it is still waiting')
    expect(refusalOfInstance('delete', instance({ parentId: 'p' }))).toBe('it is nested')
  })

  it('pause: what has ended, is paused, or is nested; resume: what is not paused', () => {
    expect(refusalOfInstance('pause', instance({ state: 'running' }))).toBeNull()
    expect(refusalOfInstance('pause', instance({}))).toBe('it is already failed')
    expect(refusalOfInstance('pause', instance({ state: 'running', paused: 'stop' }))).toBe('it is paused already')
    expect(refusalOfInstance('pause', instance({ state: 'running', parentId: 'p' }))).toBe('it is nested')
    expect(refusalOfInstance('resume', instance({ state: 'running', paused: 'stop' }))).toBeNull()
    expect(refusalOfInstance('resume', instance({ state: 'running' }))).toBe('it is not paused')
  })

  it('of runs', () => {
    expect(refusalOfRun('cancel', run({ status: 'leased' }))).toBeNull()
    expect(refusalOfRun('cancel', run({}))).toBe('it is already failed')
    expect(refusalOfRun('redrive', run({}))).toBeNull()
    expect(refusalOfRun('redrive', run({ status: 'pending' }))).toBe('it is pending')
    expect(refusalOfRun('delete', run({ status: 'leased' }))).toBe('a worker holds it')
    expect(refusalOfRun('delete', run({}))).toBeNull()
    expect(refusalOfRun('dismiss', run({}))).toBe('it is no dead letter')
    expect(refusalOfRun('dismiss', run({ deadLetter: true }))).toBeNull()
  })
})
