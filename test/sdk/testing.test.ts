/** petrel/testing: workflows on a clock that the test moves. */
import { afterEach, describe, expect, it } from 'vitest'
import { chain, job } from '../../src/index.ts'
import { openTestPetrel, type TestPetrel } from '../../src/testing.ts'
import { freshDatabase, postgresUrl } from '../services.ts'

const HOUR = 3_600_000

function suite(open: () => Promise<TestPetrel>): void {
  it('is idle when nothing can happen before the clock is moved', async () => {
    const { petrel, clock, idle } = await open()
    const begun: string[] = []
    petrel.handle('step', (name: string) => void begun.push(name))
    await petrel.work()
    await petrel.start(chain(job('step', 'a'), job('step', 'b', { delayMs: HOUR }), job('step', 'c')))
    await idle()
    expect(begun).toEqual(['a'])
    const before = await clock.now()
    await clock.move(HOUR)
    expect((await clock.now()) - before).toBeGreaterThanOrEqual(HOUR)
    await idle()
    expect(begun).toEqual(['a', 'b', 'c'])
    expect(await clock.moveToNext()).toBe(false)
  })

  it('moves from one retry to the next, without jitter, however long the delays are', async () => {
    const { petrel, clock, idle } = await open()
    const tries: number[] = []
    petrel.handle('flaky', async () => {
      tries.push(await clock.now())
      throw new Error('not yet')
    })
    await petrel.work()
    const retry = { maxAttempts: 3, initialMs: HOUR, coefficient: 10, maxMs: 100 * HOUR }
    const run = await petrel.enqueue('flaky', null, { retry })
    await idle()
    for (let turn = 2; turn <= 3; turn++) {
      expect(await clock.moveToNext()).toBe(true)
      await idle()
      expect(tries).toHaveLength(turn)
    }
    expect(await run.status()).toBe('failed')
    expect(Math.round(((tries[2] as number) - (tries[1] as number)) / HOUR)).toBe(10)
  })

  it('does not wait for work that no local worker takes', async () => {
    const { petrel, idle } = await open()
    petrel.handle('mine', () => 'done')
    await petrel.work()
    await petrel.queues.pause('paused')
    const mine = await petrel.enqueue('mine')
    const others = await petrel.enqueueMany([job('theirs'), job('mine', null, { queue: 'paused' })])
    await idle()
    expect(await mine.status()).toBe('succeeded')
    for (const run of others) expect(await run.status()).toBe('pending')
  })

  it('waits for a running handler, and names it when it takes too long', async () => {
    const { petrel, idle } = await open()
    let release = (): void => undefined
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    petrel.handle('slow', () => held)
    await petrel.work()
    const run = await petrel.enqueue('slow')
    await expect(idle({ timeoutMs: 100 })).rejects.toThrow(/not idle after 100 ms: run .* of type 'slow' is leased/)
    release()
    await idle()
    expect(await run.status()).toBe('succeeded')
  })

  it('moves only forward', async () => {
    const { clock } = await open()
    await expect(clock.move(-1)).rejects.toMatchObject({ code: 'invalid_request' })
  })
}

describe('petrel/testing', () => {
  const opened: { close(): Promise<void> }[] = []
  afterEach(async () => {
    for (const { close } of opened.splice(0).reverse()) await close()
  })
  const kept = (test: TestPetrel): TestPetrel => {
    opened.push(test)
    return test
  }

  describe('in memory', () => suite(async () => kept(await openTestPetrel())))

  describe.skipIf(postgresUrl() === null)('on Postgres', () =>
    suite(async () => {
      const { url, drop } = await freshDatabase()
      opened.push({ close: drop })
      return kept(await openTestPetrel({ url }))
    }),
  )
})
