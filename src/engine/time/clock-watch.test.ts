import { afterEach, expect, it, vi } from 'vitest'
import type { Logger } from '../../kernel/logger.ts'
import type { Store } from '../../store/store.ts'
import { ClockWatch } from './clock-watch.ts'

/** Time that has really passed, and the store's clock, in milliseconds. */
let [passed, shown] = [0, 0]
/** How long it takes until the answer of the store is processed. */
let delayMs = 0
const corrections = vi.fn(async (_: { readonly known: boolean }) => true)
const store = {
  now: async () => {
    const now = shown
    passed += delayMs
    shown += delayMs
    return now
  },
  sweep: { clockWentBack: corrections },
} as unknown as Store
const logger: Logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

function watch(): ClockWatch {
  vi.spyOn(performance, 'now').mockImplementation(() => passed)
  corrections.mockClear()
  ;[passed, shown, delayMs] = [1_000, 1_790_000_000_000, 0]
  return new ClockWatch({ store, logger, reschedule: async () => {} })
}

const later = (ms: number): void => {
  passed += ms
  shown += ms
}

afterEach(() => {
  vi.restoreAllMocks()
})

it('searches for rows ahead of the clock at the start, and for none while the clock runs normally', async () => {
  const clock = watch()
  await clock.look()
  later(10_000)
  await clock.look()
  expect(corrections.mock.calls).toEqual([[{ known: false }]])
})

it('notices that the clock was set back', async () => {
  const clock = watch()
  await clock.look()
  later(10_000)
  shown -= 3_600_000
  await clock.look()
  expect(corrections.mock.lastCall).toEqual([{ known: true }])
})

it('notices that it jumped ahead and was set back between two checks', async () => {
  const clock = watch()
  await clock.look()
  clock.saw(shown + 3_600_000)
  await clock.look()
  expect(corrections.mock.lastCall).toEqual([{ known: true }])
})

it('does not mistake a delayed answer in a busy process for a clock that was set back', async () => {
  const clock = watch()
  await clock.look()
  delayMs = 5_000
  await clock.look()
  delayMs = 0
  await clock.look()
  expect(corrections.mock.calls).toEqual([[{ known: false }]])
})
