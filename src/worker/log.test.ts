import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { type ExecutionLog, LogWriter } from './log.ts'
import type { LogPart, Session } from './port.ts'

const delivery = { runId: 'r', epoch: 3 } as never
const logger = { debug() {}, info() {}, warn: vi.fn(), error() {} }

describe('the log of an execution', () => {
  let written: LogPart[]
  let fails: boolean
  let writer: LogWriter
  let log: ExecutionLog
  beforeEach(() => {
    vi.useFakeTimers()
    written = []
    fails = false
    const session = {
      log: async (parts: readonly LogPart[]) => {
        if (fails) throw new Error('no connection')
        written.push(...parts)
      },
    } as unknown as Session
    writer = new LogWriter({ session: () => session, logger })
    log = writer.of(delivery)
  })
  afterEach(() => vi.useRealTimers())

  const texts = () => written.flatMap(({ lines }) => lines.map(({ m }) => m))

  it('nothing logged: nothing is written, and its end does not wait', async () => {
    expect(writer.end(log)).toBeNull()
    await vi.advanceTimersByTimeAsync(10_000)
    expect([written, vi.getTimerCount()]).toEqual([[], 0])
  })

  it('lines are written together after half a second, in order and with their numbers', async () => {
    log.info('one', { a: 1 })
    log.print('stderr', 'two')
    await vi.advanceTimersByTimeAsync(499)
    expect(written).toEqual([])
    await vi.advanceTimersByTimeAsync(1)
    log.error('three')
    await vi.advanceTimersByTimeAsync(500)
    expect(written).toMatchObject([
      {
        runId: 'r',
        epoch: 3,
        first: 0,
        lines: [
          { l: 'info', m: 'one', f: { a: 1 } },
          { l: 'warn', s: 'stderr', m: 'two' },
        ],
      },
      { first: 2, lines: [{ l: 'error', m: 'three' }] },
    ])
  })

  it('its end writes the last lines; later ones are dropped', async () => {
    log.info('last')
    const end = writer.end(log) as Promise<void>
    expect([...writer.ending]).toEqual(['r'])
    await end
    log.info('too late')
    await vi.advanceTimersByTimeAsync(10_000)
    expect([texts(), writer.ending.size]).toEqual([['last'], 0])
  })

  it('a flood between two writes keeps its first and its newest lines; numbers show the gap', async () => {
    for (let i = 0; i < 50_000; i++) log.info(`line ${i}`)
    await vi.advanceTimersByTimeAsync(500)
    const numbers = written.flatMap(({ first, lines }) => lines.map(({ m }, at) => [first + at, m] as const))
    expect(numbers.every(([number, text]) => text === `line ${number}`)).toBe(true)
    expect(texts()).toContain('line 0')
    expect(texts()).toContain('line 49999')
    const bytes = written.reduce((sum, { lines }) => sum + JSON.stringify(lines).length, 0)
    expect(bytes).toBeLessThan(200_000)
    for (const { lines } of written) expect(JSON.stringify(lines).length).toBeLessThan(40_000)
  })

  it('an execution that has written much is written every five seconds', async () => {
    const flood = (): void => {
      for (let i = 0; i < 1_000; i++) log.info('x'.repeat(100))
    }
    for (let i = 0; i < 6; i++) {
      flood()
      await vi.advanceTimersByTimeAsync(500)
    }
    const before = written.length
    flood()
    await vi.advanceTimersByTimeAsync(2_000)
    expect(written.length).toBe(before)
    await vi.advanceTimersByTimeAsync(3_500)
    expect(written.length).toBeGreaterThan(before)
  })

  it('lines that cannot be stored do not hold up the execution', async () => {
    fails = true
    log.info('lost')
    await writer.end(log)
    expect(logger.warn).toHaveBeenCalled()
  })

  it('long texts are cut, and values that are not JSON are left out', async () => {
    const loop: Record<string, unknown> = {}
    loop['self'] = loop
    log.info('x'.repeat(20_000), loop)
    log.info('nul \0', { big: 'x'.repeat(5_000) })
    await writer.end(log)
    const [first, second] = written.flatMap(({ lines }) => lines)
    expect(first?.m.length).toBe(8 * 1024 + 1)
    expect(first?.f).toMatchObject({ $omitted: { why: expect.any(String) } })
    expect(second).toMatchObject({ m: 'nul \uFFFD', f: { $omitted: { bytes: expect.any(Number) } } })
  })
})
