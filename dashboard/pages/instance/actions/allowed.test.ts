import { describe, expect, it } from 'vitest'
import * as allowed from './allowed.ts'
import type { Instance } from './states.ts'

const RUNNING: Instance = {
  state: 'running',
  phase: 'forward',
  outcome: null,
  dialect: 'dag',
  paused: false,
  parent_id: null,
  start_key: null,
}
const FAILED: Instance = { ...RUNNING, state: 'failed', phase: 'ended', outcome: 'failed' }
const DONE: Instance = { ...RUNNING, state: 'completed', phase: 'ended', outcome: 'success' }

const permitted = (instance: Instance): readonly string[] =>
  Object.entries(allowed).flatMap(([name, whyNot]) =>
    name.startsWith('whyNot') && (whyNot as (of: Instance) => string | null)(instance) === null
      ? [name.slice('whyNot'.length)]
      : [],
  )

describe('what the state of an instance permits', () => {
  it('of one that runs', () => {
    expect(permitted(RUNNING).toSorted()).toEqual(['Cancel', 'Patch', 'Pause', 'RetryNow'])
    expect(permitted({ ...RUNNING, start_key: 'k' })).toContain('RollBack')
  })

  it('of one that is paused, idle or undoes its work', () => {
    expect(permitted({ ...RUNNING, paused: true }).toSorted()).toEqual(['Cancel', 'Patch', 'Resume'])
    expect(permitted({ ...RUNNING, state: 'idle' }).toSorted()).toEqual(['Cancel', 'Patch', 'Pause', 'Start'])
    expect(permitted({ ...RUNNING, state: 'compensating', phase: 'undo' })).not.toContain('Cancel')
  })

  it('of one that has ended', () => {
    expect(permitted(FAILED).toSorted()).toEqual(['Fork', 'Retry', 'RetryFrom'])
    expect(permitted(DONE)).toEqual(['Fork'])
  })

  it('of a nested one: a retry from a step, but no pause', () => {
    expect(permitted({ ...FAILED, parent_id: 'p' }).toSorted()).toEqual(['Fork', 'RetryFrom'])
    expect(permitted({ ...RUNNING, parent_id: 'p' })).not.toContain('Pause')
  })

  it('a cancel undoes only where the notation says so', () => {
    expect([allowed.cancelUndoes({ dialect: 'saga' }), allowed.cancelUndoes(RUNNING)]).toEqual([true, false])
  })
})
