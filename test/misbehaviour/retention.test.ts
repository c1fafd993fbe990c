/**
 * Ended work that cannot be deleted: a foreign table refers to it, a trigger refuses it, another transaction holds one
 * of its rows. It stays and is recorded; everything else that is old is deleted, and other work is not affected.
 */
import pg from 'pg'
import { expect, it } from 'vitest'
import { openDatabase } from '../../src/store/sqlite/driver.ts'
import { onBothStores, type Serving, type Stage, until } from '../server/serving.ts'
import { Neighbour } from './neighbour.ts'

/** Long enough that nothing of the neighbour is pruned during the test. */
const KEPT_MS = 60_000
const OLD = 40

onBothStores('ended work that cannot be deleted', (stage) => {
  it('stays, and does not prevent other deletions', async () => {
    // A different engine prunes: retention runs once a minute, and first when an engine starts.
    const before = await stage.serve()
    const jobs = await endedJobs(before)
    const chains = await endedChains(before)
    const [odd, ...others] = [jobs[7] as string, ...jobs.filter((_, i) => i !== 7)]
    const [oddChain, heldChain, ...otherChains] = chains as [string, string, ...string[]]
    const neighbour = await Neighbour.of(before)
    await neighbour.calm(4)
    const release = await hinder(stage, odd, oddChain, heldChain)
    try {
      await before.store.moveClock(2 * KEPT_MS)
      const pruning = await neighbour.beside(async () => {
        const serving = await stage.serve({ engine: { retention: { endedMs: KEPT_MS, eventsMs: null } } })
        const left = async (): Promise<number> => (await present(serving, [...others, ...otherChains])).length
        await until(left, (n) => n === 0)
        expect(await present(serving, [...others, ...otherChains])).toEqual([])
        return serving
      })
      await neighbour.expectUnaffected()
      const kept = stage.kind === 'sqlite' ? [odd, oddChain] : [odd, oddChain, heldChain]
      expect(await present(pruning, [odd, oddChain, heldChain])).toEqual(kept)
      await until(
        async () => pruning.engine.faults.standing().get('sweep_retention'),
        (n) => n === kept.length,
      )
      expect(pruning.engine.faults.standing().get('sweep_retention')).toBe(kept.length)
      expect(pruning.engine.faults.standing().get('sweep_failed') ?? 0).toBe(0)
    } finally {
      await release()
    }
    // When the obstacle is gone, they are deleted too.
    const after = await stage.serve({ engine: { retention: { endedMs: KEPT_MS, eventsMs: null } } })
    const left = await until(
      () => present(after, chains),
      (ids) => ids.length === 0,
    )
    expect([left, await present(after, jobs)]).toEqual([[], []])
    expect(await after.store.read.doctor()).toEqual([])
  }, 90_000)
})

const asked = { queues: ['old'], count: 100, worker_id: 'w' }

async function end(serving: Serving): Promise<void> {
  for (;;) {
    const { jobs } = (await serving.post('/ojs/v1/workers/fetch', asked)).body
    if (jobs.length === 0) return
    for (const { id } of jobs) await serving.post('/ojs/v1/workers/ack', { job_id: id, worker_id: 'w', attempt: 1 })
  }
}

async function endedJobs(serving: Serving): Promise<string[]> {
  const body = { jobs: Array.from({ length: OLD }, (_, i) => ({ type: 'old', args: [i], options: { queue: 'old' } })) }
  const made = await serving.post('/ojs/v1/jobs/batch', body)
  await end(serving)
  return made.body.jobs.map(({ id }: { id: string }) => id)
}

async function endedChains(serving: Serving): Promise<string[]> {
  const ids: string[] = []
  const steps = [0, 1].map((i) => ({ type: 'old', args: [i], options: { queue: 'old' } }))
  for (let i = 0; i < 6; i++)
    ids.push((await serving.post('/ojs/v1/workflows', { type: 'chain', steps })).body.workflow.id)
  await end(serving)
  return ids
}

async function present({ store }: Serving, ids: readonly string[]): Promise<string[]> {
  const found = await Promise.all(ids.map(async (id) => (await store.read.run(id)) ?? (await store.read.instance(id))))
  return ids.filter((_, i) => found[i] !== null)
}

/** Returns a function that removes the obstacle. */
async function hinder(stage: Stage, run: string, chain: string, held: string): Promise<() => Promise<void>> {
  const url = await stage.url()
  if (stage.kind === 'sqlite') {
    const refuse = (table: string, id: string): string =>
      `CREATE TRIGGER keep_${table} BEFORE DELETE ON ${table} WHEN OLD.id = '${id}'
       BEGIN SELECT RAISE(ABORT, 'an invoice refers to it'); END`
    const database = await openDatabase(url.slice('sqlite:'.length))
    database.exec(refuse('workflow_run', run))
    database.exec(refuse('workflow_instance', chain))
    return async () => {
      database.exec('DROP TRIGGER keep_workflow_run')
      database.exec('DROP TRIGGER keep_workflow_instance')
      database.close()
    }
  }
  const client = new pg.Client({ connectionString: url, application_name: 'invoices' })
  await client.connect()
  await client.query('CREATE TABLE public.invoice (run uuid REFERENCES workflow.workflow_run (id))')
  await client.query('CREATE TABLE public.bill (instance uuid REFERENCES workflow.workflow_instance (id))')
  await client.query('INSERT INTO public.invoice VALUES ($1)', [run])
  await client.query('INSERT INTO public.bill VALUES ($1)', [chain])
  await client.query("INSERT INTO workflow.workflow_slot (instance_id, key, value) VALUES ($1, 'c:held', '1')", [held])
  await client.query('BEGIN')
  await client.query('SELECT FROM workflow.workflow_slot WHERE instance_id = $1 FOR UPDATE', [held])
  return async () => {
    await client.query('COMMIT')
    await client.query('DROP TABLE public.invoice, public.bill')
    await client.end()
  }
}
