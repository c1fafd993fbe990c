/**
 * A machine's clock that jumps an hour ahead and back: durations within a process are measured by the time that really
 * passed.
 */
import fastify from 'fastify'
import { afterEach, expect, test, vi } from 'vitest'
import { guardRate } from '../../src/http/rate-guard.ts'
import { Execution } from '../../src/worker/execution.ts'
import { Waiter } from '../../src/worker/waiter.ts'
import { onBothStores, until } from '../server/serving.ts'
import { Neighbour } from './neighbour.ts'

const HOUR = 3_600_000

afterEach(() => void vi.restoreAllMocks())

function machineClock(aheadMs: number): void {
  vi.restoreAllMocks()
  const real = Date.now
  if (aheadMs !== 0) vi.spyOn(Date, 'now').mockImplementation(() => real() + aheadMs)
}

test('a caller refused ahead of time is refused for no longer than a minute', async () => {
  let passed = 0
  const app = fastify()
  app.addHook('onRequest', async (request) => void Object.assign(request, { caller: { key: null } }))
  await guardRate(app, 1)
  app.get('/', async () => 'here')
  const ask = async (): Promise<boolean> => (await app.inject('/')).statusCode === 200
  machineClock(HOUR)
  expect([await ask(), await ask()]).toEqual([true, false])
  machineClock(0)
  const real = performance.now.bind(performance)
  vi.spyOn(performance, 'now').mockImplementation(() => real() + passed)
  expect(await ask()).toBe(false)
  passed = 60_001
  expect(await ask()).toBe(true)
  await app.close()
})

test('a limited wait that begins after a jump ends at its limit', async () => {
  const waiter = new Waiter()
  const waiting = waiter.wait('drain', () => false, HOUR)
  machineClock(2 * HOUR)
  waiter.limit('drain', 1)
  await waiting
})

test('start and duration of an execution do not depend on the clock at its start', () => {
  machineClock(HOUR)
  const execution = new Execution({ runId: 'r' } as never, { session: null, logger: null, maxBytes: 1 } as never)
  machineClock(0)
  expect(execution.ageMs).toBeLessThan(HOUR / 2)
  expect(Math.abs(execution.startedAt - Date.now())).toBeLessThan(HOUR / 2)
})

onBothStores('with a clock that jumps an hour ahead and back', (stage) => {
  test('a neighbour is not affected', async () => {
    const s = await stage.serve({ engine: { pollMs: 100 } })
    const neighbour = await Neighbour.of(s, { leasesEnd: true })
    await neighbour.calm(5)
    let queue = ''
    const fetch = async (): Promise<readonly { id: string }[]> =>
      (await s.post('/ojs/v1/workers/fetch', { queues: [queue], worker_id: 'w', count: 10 })).body.jobs
    const put = async (options: object): Promise<string> =>
      (await s.post('/ojs/v1/jobs', { type: 'jump', args: [], options: { queue, ...options } })).body.job.id
    await neighbour.beside(async () => {
      for (const jumpMs of [HOUR, 24 * HOUR]) {
        queue = `jump-${jumpMs}`
        await s.store.moveClock(jumpMs)
        const lost = await put({ visibility_timeout_ms: 1000 })
        expect(await until(fetch, (jobs) => jobs.length > 0)).toMatchObject([{ id: lost }])
        const delayed = await put({ scheduled_at: '+PT1S' })
        await s.store.moveClock(0)
        // The job whose worker never reports is returned, and the delayed one becomes due.
        const left = new Set([lost, delayed])
        await until(fetch, (jobs) => {
          for (const { id } of jobs) left.delete(id)
          return left.size === 0
        })
        expect([...left]).toEqual([])
      }
    }, 8)
    await neighbour.expectUnaffected()
  }, 60_000)
})
