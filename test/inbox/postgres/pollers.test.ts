/** Many workers on one table. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Engine } from '../../../src/engine/engine.ts'
import { until } from '../../server/serving.ts'
import { postgresUrl } from '../../services.ts'
import { type InboxStage, inboxStage } from './stage.ts'

const RUNS = 200

describe.skipIf(postgresUrl() === null).each(['Go', 'Python'] as const)('four pollers in %s', (language) => {
  let stage: InboxStage
  let engine: Engine
  beforeEach(async () => {
    stage = await inboxStage()
    engine = await Engine.open({ store: stage.store, pollMs: 50 })
  })
  afterEach(async () => {
    await engine.close()
    await stage.close()
  })

  it('execute 200 runs, each once; every event exists once, while an engine settles', async () => {
    const producer = await stage.client(language)
    for (let n = 0; n < RUNS; n++) await producer.submit('load.test.v1', { payload: { n }, key: `load:${n}` })
    const executed: number[] = []
    const poll = async (worker: string): Promise<void> => {
      const client = await stage.client(language)
      for (
        let run = await client.claim(worker, ['load.%']);
        run !== null;
        run = await client.claim(worker, ['load.%'])
      ) {
        await client.started(run.id, worker)
        executed.push((run.payload as { n: number }).n)
        await client.complete(run.id, { n: (run.payload as { n: number }).n })
      }
    }
    await Promise.all(['w1', 'w2', 'w3', 'w4'].map(poll))
    expect(executed).toHaveLength(RUNS)
    expect(new Set(executed).size).toBe(RUNS)
    const open = () => stage.sql('SELECT id FROM workflow_run WHERE settled_at IS NULL')
    expect((await until(open, (found) => found.rowCount === 0)).rowCount).toBe(0)
    const counts = await stage.sql('SELECT event_type, count(*)::int AS n FROM workflow_event GROUP BY 1 ORDER BY 1')
    expect(counts.rows).toEqual([
      { event_type: 'created', n: RUNS },
      { event_type: 'leased', n: RUNS },
      { event_type: 'started', n: RUNS },
      { event_type: 'succeeded', n: RUNS },
    ])
    const shown = await stage.sql('SELECT count(*)::int AS n FROM workflow_history')
    expect(shown.rows).toEqual([{ n: 4 * RUNS }])
    expect(await stage.store.read.doctor()).toEqual([])
  }, 180_000)
})
