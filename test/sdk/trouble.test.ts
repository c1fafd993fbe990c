/** A database that goes away and comes back, and gates that wait for a person. */

import pg from 'pg'
import { expect, it } from 'vitest'
import { chain, job, task, WorkflowFailed } from '../../src/index.ts'
import type { Net } from '../../src/net/net.ts'
import { engineOf } from '../engine-of.ts'
import { postgresUrl } from '../services.ts'
import { onBothStores, onPostgres } from './stores.ts'

onPostgres('a lost connection to Postgres', (stage) => {
  it('is survived: every workflow ends correctly, nothing is lost', async () => {
    const petrel = await stage.open()
    const admin = new pg.Client({ connectionString: postgresUrl()! })
    await admin.connect()
    let cutting = true
    try {
      const step = task('step', async (n: number) => {
        await new Promise((resolve) => setTimeout(resolve, 5))
        return n
      })
      petrel.handle(step)
      await petrel.work({ concurrency: 20 })
      const name = new URL(await stage.url()).pathname.slice(1)
      const cuts = (async () => {
        let count = 0
        while (cutting) {
          const { rowCount } = await admin.query(
            'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1',
            [name],
          )
          count += rowCount ?? 0
          await new Promise((resolve) => setTimeout(resolve, 150))
        }
        return count
      })()
      const start = async (n: number) => {
        // A caller whose enqueue was refused tries again with the same key.
        for (;;) {
          try {
            return await petrel.start(chain(job(step, n), job(step, n + 1)), { idempotencyKey: `order-${n}` })
          } catch (error) {
            if (error instanceof WorkflowFailed) throw error
            await new Promise((resolve) => setTimeout(resolve, 50))
          }
        }
      }
      const handles = []
      for (let n = 0; n < 60; n++) handles.push(await start(n))
      const ids = handles.map((handle) => handle.id)
      cutting = false
      expect(await cuts).toBeGreaterThan(0)
      const results = await Promise.all(ids.map((id) => petrel.instance<number>(id).result()))
      expect(results).toEqual(Array.from({ length: 60 }, (_, n) => n + 1))
      expect(new Set(ids).size).toBe(60)
    } finally {
      cutting = false
      await admin.end()
    }
  })
})

const asking: Net = {
  version: 1,
  name: 'asking',
  dialect: 'test',
  nodes: [
    {
      key: 'ask',
      work: { kind: 'gate', options: { question: 'ship it?' }, timeoutMs: null, onTimeout: 'reject' },
      join: 'each',
      admit: null,
      retry: null,
      timeout: null,
      onFailure: 'net',
      undo: null,
      next: { mode: 'first', arcs: [], scope: null },
    },
  ],
  entry: ['ask'],
  finals: [],
  onFailure: 'abort',
  verdict: { failedOn: 'unhandled', partial: false },
  unknown: 'ignore',
  timeoutMs: null,
  undoTimeoutMs: null,
  held: 'wait',
  noMatch: 'end',
}

onBothStores('gates', (stage) => {
  it('wait for an answer: approved it continues, rejected it fails', async () => {
    const petrel = await stage.open()
    const started = await engineOf(petrel).start([{ net: asking }, { net: asking }])
    const [yes, no] = started.map(({ id }) => petrel.instance(id))
    expect(await yes!.status()).toBe('waiting')
    const [gate] = await yes!.gates()
    await petrel.gates.approve(gate!.id, { answer: { by: 'ada' }, actor: 'ada' })
    expect(await yes!.result()).toHaveProperty('ask')
    expect(await yes!.gates()).toEqual([])
    const [other] = await no!.gates()
    await petrel.gates.reject(other!.id, { actor: 'eve', reason: 'too early' })
    await expect(no!.result()).rejects.toMatchObject({ state: 'failed' })
  })
})
