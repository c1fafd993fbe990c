import { fileURLToPath } from 'node:url'
import { beforeAll, expect, it } from 'vitest'
import { onBothStores } from '../server/serving.ts'
import { built, Program } from './process.ts'

const COUNTER = fileURLToPath(new URL('counter.mjs', import.meta.url))
const FAILURES = 40

let dist: string
beforeAll(() => {
  dist = built()
}, 300_000)

onBothStores('processes killed while they count failures', (stage) => {
  it('every failure is counted once', async () => {
    const { engine, store } = await stage.serve({ engine: { sweep: false } })
    const url = await stage.url()
    await engine.enqueue(
      Array.from({ length: FAILURES }, (_, i) => ({ type: `t${i % 2}`, payload: {}, maxAttempts: 1 })),
    )
    const runs = await engine.leases.fetch({
      queues: null,
      types: null,
      limit: FAILURES,
      holder: 'hand',
      runtime: null,
      tenant: null,
      leaseMs: () => 60_000,
      waitMs: 0,
    })
    const error = { code: 'broken', message: 'it broke' }
    const outcome = { kind: 'failed' as const, how: 'discard' as const, error }
    await engine.leases.settle(runs.map(({ id: runId }) => ({ runId, holder: 'hand', attempt: null, outcome })))
    for (const point of ['before-commit', 'after-commit', 'before-commit', 'after-commit']) {
      const counter = new Program(COUNTER, { dist, url, at: { point, time: 2 } })
      expect(await counter.exit()).toBe('SIGKILL')
    }
    const list = async () =>
      (await store.errorGroups.list({ tenant: null, states: null, text: null, limit: 10, before: null })).rows
    const partly = (await list()).reduce((sum, { count }) => sum + count, 0)
    // Two portions of three are committed by a process that is killed after its second commit, one by the others.
    expect(partly).toBe(18)
    const rest = new Program(COUNTER, { dist, url, at: { point: 'never', time: 1 } })
    expect(await rest.exit()).toBe('code 0')
    expect((await list()).map(({ count }) => count)).toEqual([FAILURES / 2, FAILURES / 2])
  }, 120_000)
})
