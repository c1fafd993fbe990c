/**
 * An engine created with `sweep: false` leaves everything that becomes due to other processes, even after it stored it.
 */
import { afterEach, describe, expect, it, vi } from 'vitest'
import { Engine } from '../../src/engine/engine.ts'
import { openStore } from '../../src/store/open.ts'
import { Injector } from '../misbehaviour/injector.ts'

describe('an engine that does not sweep', () => {
  afterEach(() => void vi.useRealTimers())

  it.each([
    ['sweeps its own work when that is due', true],
    ['does not, if it was made with sweep: false', false],
  ])('%s', async (_, sweep) => {
    const store = await openStore('sqlite::memory:')
    await store.migrate()
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const calls = new Injector()
    const engine = await Engine.open({ store: calls.wrap(store), sweep, pollMs: 60_000 })
    const before = calls.calledTimes('sweep.overdueRuns')
    await engine.enqueue([{ type: 'job', payload: null, expiresInMs: 10 }])
    await engine.putSchedule({ name: 'often', expression: '@every 1s', run: { type: 'job', payload: null } })
    await vi.advanceTimersByTimeAsync(5_000)
    expect(calls.calledTimes('sweep.overdueRuns') > before).toBe(sweep)
    vi.useRealTimers()
    await engine.close()
    await store.close()
  })
})
