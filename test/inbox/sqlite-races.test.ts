/** Several sqlite3 processes and a Petrel engine on one file at the same time. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Drive } from '../engine/drive.ts'
import { chain, job, workflow } from '../engine/specifications/stage.ts'
import { ToolStage } from './sqlite-stage.ts'
import { hasSqlite3, type ToolWorker } from './sqlite-tool.ts'

describe.skipIf(!hasSqlite3())('sqlite3 processes side by side', () => {
  let t: ToolStage
  let d: Drive
  beforeEach(async () => {
    t = await ToolStage.open()
    d = t.s.d
  })
  afterEach(async () => {
    await d.engine.sweep()
    expect(await d.doctor()).toEqual([])
    await t.close()
  })

  /** Works until nothing is pending; returns what it executed. */
  const drain = async (worker: ToolWorker, pause?: () => Promise<unknown>): Promise<string[]> => {
    const done: string[] = []
    for (;;) {
      const run = await worker.claim()
      if (run === null) return done
      done.push(run.id)
      await pause?.()
      await worker.succeed(run.id, JSON.stringify(worker.name))
    }
  }

  it('four pollers execute 200 runs once each, and every run has exactly one history', {
    timeout: 60_000,
  }, async () => {
    await t.tool.ask(`WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 200)
      INSERT INTO workflow_run (type, payload, idempotency_key) SELECT 'content.thumbnail.v1', json_object('n', i), 'n' || i FROM n`)
    const workers = ['sh-1', 'sh-2', 'sh-3', 'sh-4'].map((name) => t.worker(name))
    const done = (await Promise.all(workers.map((worker) => drain(worker)))).flat()
    expect(done).toHaveLength(200)
    expect(new Set(done).size).toBe(200)
    const counts = await t.tool.ask('SELECT event_type, count(*) AS n FROM workflow_event GROUP BY 1 ORDER BY 1')
    expect(counts).toEqual(['created', 'leased', 'started', 'succeeded'].map((event_type) => ({ event_type, n: 200 })))
    const { n } = await t.tool.one(
      `SELECT count(*) AS n FROM workflow_run WHERE status = 'succeeded' AND leased_by IS NULL AND epoch = 1 AND attempt = 0`,
    )
    expect(n).toBe(200)
  })

  it('a Petrel worker and tools share a backlog: each run is executed once', { timeout: 60_000 }, async () => {
    await t.tool.ask(`WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 120)
      INSERT INTO workflow_run (type, payload) SELECT 'content.thumbnail.v1', '{}' FROM n`)
    const ours: string[] = []
    const petrel = async (): Promise<void> => {
      for (;;) {
        const batch = await d.claim(3)
        if (batch.length === 0) return
        for (const delivery of batch) {
          ours.push(delivery.runId)
          expect((await d.succeed(delivery)).status).toBe('recorded')
        }
        await new Promise((resolve) => setImmediate(resolve))
      }
    }
    const [, ...theirs] = await Promise.all([petrel(), drain(t.worker('sh-1')), drain(t.worker('sh-2'))])
    const all = [...ours, ...theirs.flat()]
    expect([all.length, new Set(all).size]).toEqual([120, 120])
    await d.engine.sweep()
    const recorded = await t.tool.ask(
      `SELECT event_type, count(*) AS n FROM workflow_history GROUP BY 1 HAVING event_type IN ('created', 'leased', 'started', 'succeeded') ORDER BY 1`,
    )
    expect(recorded.map((row) => row['n'])).toEqual([120, 120, 120, 120])
  })

  it('of a simultaneous cancel and completion one wins, and it is recorded once', {
    timeout: 60_000,
  }, async () => {
    const [worker, other] = [t.worker('sh-1'), t.worker('sh-2')]
    for (let round = 0; round < 30; round++) {
      const id = await t.insert()
      await worker.claimed()
      const [done, cancelled] = await Promise.all([worker.succeed(id), other.cancel(id)])
      expect(done + cancelled).toBe(1)
      await d.engine.sweep()
      const status = done === 1 ? 'succeeded' : 'cancelled'
      expect(await t.run(id)).toMatchObject({ status, epoch: 1 })
      expect(await t.words(id)).toEqual(['created', 'leased', 'started', status])
    }
  })

  it('chains whose steps are executed by tools and a Petrel worker in any order end, each step once', {
    timeout: 60_000,
  }, async () => {
    const flows = await Promise.all(
      Array.from({ length: 6 }, () => workflow(d, chain(job('a.v1'), job('b.v1'), job('c.v1')))),
    )
    const tools = [t.worker('sh-1'), t.worker('sh-2')]
    const states = (): Promise<string[]> => Promise.all(flows.map((id) => d.state(id)))
    while ((await states()).some((state) => state !== 'completed')) {
      await Promise.all([...tools.map((tool) => drain(tool)), d.work()])
      await d.engine.sweep()
    }
    for (const flow of flows) {
      const view = await d.engine.view(flow)
      expect(view?.runs).toHaveLength(3)
      for (const run of view?.runs ?? []) {
        expect(await t.words(run.id)).toEqual(['created', 'leased', 'started', 'succeeded'])
      }
    }
  })
})
