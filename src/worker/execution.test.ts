import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { TimedOut } from './errors.ts'
import { Execution } from './execution.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

it.each([
  [null, 3000],
  ['{"petrel":{"grace_ms":1000}}', 2000],
])('asks a handler to stop when its grace period begins (meta %s)', (meta, at) => {
  const delivery = { runId: 'r', timeoutMs: 3000, meta, instanceId: null }
  const execution = new Execution(delivery as never, {
    ...{ session: null as never, logger: null as never, logs: null as never },
    maxBytes: 1,
  })
  const signal = execution.signal()
  vi.advanceTimersByTime(at - 1)
  expect(signal.aborted).toBe(false)
  vi.advanceTimersByTime(1)
  expect(signal.reason).toBeInstanceOf(TimedOut)
})
