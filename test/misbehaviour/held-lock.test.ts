/**
 * A client of the database opens a transaction, locks single rows and does not end it. Work that needs those rows
 * waits; everything else continues, and once they are free every outcome is recorded exactly once.
 */
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ManualWorker } from '../engine/manual-worker.ts'
import { type Serving, serveOn, until } from '../server/serving.ts'
import { type FreshDatabase, freshDatabase, postgresUrl } from '../services.ts'
import { Neighbour } from './neighbour.ts'

const HELD_MS = process.env.PETREL_TEST_FULL === '1' ? 60_000 : 6_000

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

describe.skipIf(postgresUrl() === null)('a transaction left open on single rows (postgres)', () => {
  let database: FreshDatabase
  let serving: Serving
  let foreign: pg.Client

  beforeAll(async () => {
    database = await freshDatabase()
    serving = await serveOn(database.url)
    foreign = new pg.Client({ connectionString: database.url, application_name: 'psql of the night shift' })
    await foreign.connect()
    await foreign.query("SET search_path = workflow, public; SET statement_timeout = '20s'")
  })

  afterAll(async () => {
    await foreign?.end()
    await serving?.server.close({ graceMs: 500 })
    await serving?.engine.close()
    await serving?.store.close()
    await database?.drop()
  })

  const job = async (type: string, queue: string, options: object = {}): Promise<string> =>
    (await serving.post('/ojs/v1/jobs', { type, args: [], options: { queue, ...options } })).body.job.id

  const fetched = async (queue: string): Promise<{ readonly id: string; readonly attempt: number } | undefined> =>
    (await serving.post('/ojs/v1/workers/fetch', { queues: [queue], worker_id: queue })).body.jobs[0]

  const ack = (queue: string, { id, attempt }: { readonly id: string; readonly attempt: number }) =>
    serving.post('/ojs/v1/workers/ack', { job_id: id, worker_id: queue, attempt, result: 'done' })

  const stateOf = async (id: string): Promise<string> => (await serving.get(`/ojs/v1/jobs/${id}`)).body.job.state

  const ends = async (id: string): Promise<number> =>
    (await serving.store.read.runHistory(id)).filter(({ type }) => type === 'succeeded').length

  it(
    'delays no other work, and the waiting outcome is recorded once',
    async () => {
      const { engine } = serving
      const neighbour = await Neighbour.of(serving)
      await neighbour.calm(5)

      // Held by a worker of this process, held over HTTP, in a workflow, under a limit, and not held.
      const hand = await ManualWorker.open(engine, { types: ['held.session'] })
      await engine.enqueue([{ type: 'held.session', payload: null, queue: 'session' }])
      const [inProcess] = await hand.claim(1)
      await job('held.http', 'http')
      const http = await fetched('http')
      const steps = [1, 2].map((n) => ({ type: `held.step${n}`, args: [], options: { queue: 'chain' } }))
      const chain = (await serving.post('/ojs/v1/workflows', { type: 'chain', steps })).body.workflow.id
      const step = await fetched('chain')
      await engine.setLimit({ key: 'queue:limited', maxConcurrent: 1 })
      await job('held.limited', 'limited')
      const limited = await fetched('limited')
      const silent = await job('held.silent', 'silent', { visibility_timeout_ms: 300, retry: { max_attempts: 3 } })
      await fetched('silent')
      const cancelled = await job('held.cancelled', 'cancelled')
      if (!inProcess || !http || !step || !limited) throw new Error('nothing was fetched')

      await foreign.query('BEGIN')
      await foreign.query('SELECT FROM workflow_run WHERE id = ANY ($1) FOR UPDATE', [
        [inProcess.runId, http.id, silent],
      ])
      await foreign.query('SELECT FROM workflow_instance WHERE id = $1 FOR UPDATE', [chain])
      await foreign.query("SELECT FROM workflow_limit WHERE key = 'queue:limited' FOR UPDATE")
      await foreign.query("UPDATE workflow_run SET status = 'cancelled' WHERE id = $1", [cancelled])
      let ended = 0
      const acks: Promise<{ readonly status: number }>[] = []
      const cancels: Promise<{ readonly status: number }>[] = []
      await neighbour.beside(async () => {
        const answered = hand.report(inProcess, false)
        // More of them than there are connections.
        for (let i = 0; i < 8; i++) cancels.push(serving.ask('DELETE', `/ojs/v1/jobs/${cancelled}`))
        // Workers over HTTP are asked to send the report again after a while, and do.
        for (const [queue, held] of [
          ['http', http],
          ['chain', step],
          ['limited', limited],
        ] as const) {
          const acked = until(
            () => ack(queue, held),
            ({ status }) => status !== 503,
            2 * HELD_MS,
          )
          acks.push(acked)
          void acked.then(() => ended++)
        }
        // The worker of this process has capacity for other work at once.
        expect((await answered).status).toBe('waiting')
        // Work arrives under the locked limit, and is not handed out.
        const behind = await job('held.behind', 'limited')
        const begun = performance.now()
        while (performance.now() - begun < HELD_MS) {
          expect(await fetched('limited')).toBeUndefined()
          await pause(200)
        }
        expect(await stateOf(behind)).toBe('available')
        expect(ended).toBe(0)
      })
      await foreign.query('COMMIT')

      expect((await Promise.all(acks)).map(({ status }) => status)).toEqual([200, 200, 200])
      // Cancelled before them, or they were asked to try again.
      for (const { status } of await Promise.all(cancels)) expect([409, 503]).toContain(status)
      for (const id of [inProcess.runId, http.id, step.id, limited.id]) {
        await until(
          () => stateOf(id),
          (state) => state === 'completed',
        )
        expect(await ends(id)).toBe(1)
      }
      expect(await stateOf(cancelled)).toBe('cancelled')
      expect(
        await until(
          () => stateOf(silent),
          (state) => state === 'available',
        ),
      ).toBe('available')
      expect(
        (
          await until(
            () => fetched('limited'),
            (found) => found !== undefined,
          )
        )?.id,
      ).toBeDefined()
      expect(
        (
          await until(
            () => fetched('chain'),
            (found) => found !== undefined,
          )
        )?.id,
      ).toBeDefined()
      await neighbour.expectUnaffected()
      expect(await serving.store.read.doctor()).toEqual([])
    },
    120_000 + 2 * HELD_MS,
  )

  it('does not let an enqueue with a key that is being inserted delay the others', async () => {
    const { engine } = serving
    await foreign.query('BEGIN')
    await foreign.query(
      "INSERT INTO workflow_run (type, payload, idempotency_key) VALUES ('foreign.v1', '{}', 'taken')",
    )
    const begun = performance.now()
    const same = engine.enqueue([{ type: 'foreign.v1', payload: {}, queue: 'keys', idempotencyKey: 'taken' }])
    const others = Array.from({ length: 20 }, (_, i) =>
      engine.enqueue([{ type: 'other', payload: null, queue: 'keys', idempotencyKey: `free ${i}` }]),
    )
    await Promise.all(others)
    expect(performance.now() - begun).toBeLessThan(5_000)
    await foreign.query('COMMIT')
    expect((await same)[0]?.created).toBe(false)
  })
})
