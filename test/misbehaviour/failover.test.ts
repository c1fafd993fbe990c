/**
 * A database that loses commits: after a failover to a replica that lags behind, rows are in an earlier state than the
 * outcomes it acknowledged. Rows leased to a worker that has finished them must not stay leased.
 */
import pg from 'pg'
import { describe, expect, it } from 'vitest'
import { ManualWorker } from '../engine/manual-worker.ts'
import { onBothStores, serveOn, until } from '../server/serving.ts'
import { freshDatabase, postgresUrl } from '../services.ts'
import { Neighbour } from './neighbour.ts'

const TABLES = [
  'workflow_run',
  'workflow_instance',
  'workflow_slot',
  'workflow_event',
  'workflow_worker',
  'workflow_net',
]

/** The current content of the tables, to be restored without the engine's knowledge, with every connection cut. */
class Backup {
  readonly #client: pg.Client

  private constructor(client: pg.Client) {
    this.#client = client
  }

  static async of(url: string): Promise<Backup> {
    const client = new pg.Client({ connectionString: url, application_name: 'failover' })
    await client.connect()
    await client.query('SET session_replication_role = replica; SET search_path = workflow')
    return new Backup(client)
  }

  async take(): Promise<void> {
    for (const table of TABLES) {
      await this.#client.query(`DROP TABLE IF EXISTS public.${table}; CREATE TABLE public.${table} AS TABLE ${table}`)
    }
  }

  async restore(): Promise<void> {
    await this.#client.query('BEGIN')
    await this.#client.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE datname = current_database() AND application_name LIKE 'petrel%'`,
    )
    for (const table of TABLES) {
      const { rows } = await this.#client.query(
        `SELECT string_agg(quote_ident(attname), ', ') AS names FROM pg_attribute
         WHERE attrelid = '${table}'::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''`,
      )
      const { names } = rows[0]
      await this.#client.query(
        `DELETE FROM ${table};
         INSERT INTO ${table} (${names}) OVERRIDING SYSTEM VALUE SELECT ${names} FROM public.${table}`,
      )
    }
    await this.#client.query('COMMIT')
  }

  async close(): Promise<void> {
    for (const table of TABLES) await this.#client.query(`DROP TABLE IF EXISTS public.${table}`)
    await this.#client.end()
  }
}

onBothStores('a started run that its worker no longer holds', (stage) => {
  it('counts as lost, which costs an attempt', async () => {
    const serving = await stage.serve({ engine: { heartbeatMs: 100 } })
    const { engine, store } = serving
    const neighbour = await Neighbour.of(serving)
    await neighbour.calm(4)
    const hand = await ManualWorker.open(engine, { types: ['dropped'] })
    const [enqueued] = await engine.enqueue([{ type: 'dropped', payload: null, maxAttempts: 3 }])
    const [delivery] = await hand.claim(1)
    if (delivery === undefined || enqueued === undefined) throw new Error('nothing was claimed')
    await hand.begin(delivery)
    hand.drop(delivery)
    const run = await neighbour.beside(() =>
      until(
        () => store.read.run(enqueued.id),
        (found) => found?.status === 'pending',
      ),
    )
    await neighbour.expectUnaffected()
    expect(run).toMatchObject({ status: 'pending', attempt: 1, sessionId: null })
    const [again] = await hand.claim(1)
    expect(again).toMatchObject({ runId: enqueued.id, attempt: 2 })
    expect(await hand.report(again as NonNullable<typeof again>)).toMatchObject({ status: 'recorded' })
    expect((await store.read.runHistory(enqueued.id)).filter(({ type }) => type === 'succeeded')).toHaveLength(1)
  })
})

describe.skipIf(postgresUrl() === null)('a failover that loses acknowledged outcomes (postgres)', () => {
  it('leaves nothing leased to workers that have finished it', async () => {
    const database = await freshDatabase()
    const serving = await serveOn(database.url, { engine: { heartbeatMs: 100, pollMs: 100 } })
    const backup = await Backup.of(database.url)
    try {
      const { engine, store } = serving
      const neighbour = await Neighbour.of(serving)
      await neighbour.calm(4)
      const hand = await ManualWorker.open(engine, { types: ['kept', 'first', 'second'] })
      const options = { queue: 'http', visibility_timeout_ms: 2_000 }
      const posted = await serving.post('/ojs/v1/jobs', { type: 'over.http', args: [], options })
      const steps = ['first', 'second'].map((type) => ({ type, args: [] }))
      const chain = (await serving.post('/ojs/v1/workflows', { type: 'chain', steps })).body.workflow.id
      const [bare] = await engine.enqueue([{ type: 'kept', payload: null, maxAttempts: 3 }])
      const claimed = await hand.claim(10)
      expect(claimed.map(({ type }) => type).sort()).toEqual(['first', 'kept'])
      for (const delivery of claimed) await hand.begin(delivery)
      const fetching = { queues: ['http'], worker_id: 'w' }
      const [job] = (await serving.post('/ojs/v1/workers/fetch', fetching)).body.jobs
      await backup.take()

      for (const delivery of claimed) expect(await hand.report(delivery, false)).toMatchObject({ status: 'recorded' })
      const ack = { job_id: job.id, worker_id: 'w', attempt: job.attempt, result: 1 }
      expect((await serving.post('/ojs/v1/workers/ack', ack)).status).toBe(200)
      expect((await store.read.run(bare?.id ?? ''))?.status).toBe('succeeded')
      await backup.restore()

      // All of it is executed again, and recorded once.
      const done = new Set<string>()
      const ended = async (): Promise<boolean> => {
        for (const delivery of await hand.claim(10).catch(() => [])) {
          await hand.report(delivery, false)
          done.add(delivery.type)
        }
        const again = await serving.post('/ojs/v1/workers/fetch', fetching)
        for (const { id, attempt } of again.body.jobs ?? []) {
          const late = { job_id: id, worker_id: 'w', attempt, result: 2 }
          expect((await serving.post('/ojs/v1/workers/ack', late)).status).toBe(200)
          done.add('over.http')
        }
        return done.size === 4
      }
      expect(await neighbour.beside(() => until(ended, (all) => all, 25_000))).toBe(true)
      await neighbour.expectUnaffected()
      expect([...done].sort()).toEqual(['first', 'kept', 'over.http', 'second'])
      const { workflow } = (await serving.get(`/ojs/v1/workflows/${chain}`)).body
      expect(workflow.state).toBe('completed')
      for (const id of [bare?.id as string, posted.body.job.id]) {
        expect((await store.read.runHistory(id)).filter(({ type }) => type === 'succeeded')).toHaveLength(1)
      }
    } finally {
      await backup.close()
      await serving.server.close({ graceMs: 500 })
      await serving.engine.close()
      await serving.store.close()
      await database.drop()
    }
  }, 60_000)
})
