/** Times out of range, written by plain SQL: they are refused, and rows that already contain one affect no others. */
import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Engine } from '../../src/engine/engine.ts'
import { openStore } from '../../src/store/open.ts'
import { onBothStores, type Serving, serveOn, until } from '../server/serving.ts'
import { freshDatabase, postgresUrl } from '../services.ts'
import { Neighbour } from './neighbour.ts'

const ODD = [
  '-infinity',
  'infinity',
  '0044-03-15 12:00:00+00 BC',
  '294276-12-31 00:00:00+00',
  '10000-01-01 00:00:00+00',
]

describe.skipIf(postgresUrl() === null)('times out of range by plain SQL (postgres)', () => {
  let place: Awaited<ReturnType<typeof freshDatabase>>
  let client: pg.Client
  let serving: Serving

  beforeAll(async () => {
    place = await freshDatabase()
    serving = await serveOn(place.url)
    client = new pg.Client(place.url)
    await client.connect()
  })
  afterAll(async () => {
    await client.end()
    await serving.server.close({ graceMs: 500 })
    await serving.engine.close()
    await serving.store.close()
    await place.drop()
  })

  /** A row as written before the triggers checked this: they do not fire here. */
  const unchecked = async (sql: string, values: readonly unknown[]): Promise<void> => {
    await client.query('BEGIN')
    await client.query('SET LOCAL session_replication_role = replica')
    await client.query(sql, [...values])
    await client.query('COMMIT')
  }

  test.each(ODD)('%s is refused in every column that a client may write', async (time) => {
    const refused = { code: '23514', hint: expect.any(String) }
    const insert = (column: string): Promise<unknown> =>
      client.query(`INSERT INTO workflow.workflow_run (type, payload, ${column}) VALUES ('odd.v1', '{}', $1)`, [time])
    for (const column of ['run_at', 'created_at', 'expires_at'])
      await expect(insert(column)).rejects.toMatchObject(refused)
    const schedule = `INSERT INTO workflow.workflow_schedule (type, schedule, enabled`
    for (const column of ['last_run_at', 'created_at', 'updated_at', 'deleted_at']) {
      const sql = `${schedule}, next_run_at, ${column}) VALUES ('odd.v1', '* * * * *', false, now(), $1)`
      await expect(client.query(sql, [time])).rejects.toMatchObject(refused)
    }
    const first = `${schedule}, next_run_at) VALUES ('odd.v1', '* * * * *', false, $1)`
    await expect(client.query(first, [time])).rejects.toMatchObject(refused)
    const id = randomUUID()
    await client.query(`INSERT INTO workflow.workflow_run (id, type, payload) VALUES ($1, 'odd.v1', '{}')`, [id])
    const update = (set: string): Promise<unknown> =>
      client.query(`UPDATE workflow.workflow_run SET ${set} WHERE id = $2`, [time, id])
    await expect(update('run_at = $1')).rejects.toMatchObject(refused)
    await expect(update('deleted_at = $1')).rejects.toMatchObject(refused)
    await expect(update(`status = 'leased', leased_by = 'me', lease_until = $1`)).rejects.toMatchObject(refused)
    await client.query(`UPDATE workflow.workflow_run SET status = 'cancelled' WHERE id = $1`, [id])
  })

  test('a timeout that no interval can represent is refused', async () => {
    const sql = `INSERT INTO workflow.workflow_run (type, payload, timeout_ms) VALUES ('odd.v1', '{}', 9223372036854775807)`
    await expect(client.query(sql)).rejects.toMatchObject({ code: '23514' })
  })

  test('a schedule that already has one is disabled with a reason, and affects no neighbour', async () => {
    const neighbour = await Neighbour.of(serving)
    await neighbour.calm(5)
    const id = randomUUID()
    await neighbour.beside(async () => {
      const sql = `INSERT INTO workflow.workflow_schedule (id, type, schedule, next_run_at) VALUES ($1, 'odd.v1', '* * * * *', $2)`
      await unchecked(sql, [id, '-infinity'])
      const row = await until(
        () => serving.engine.inboxSchedules.get(id),
        (found) => found?.enabled === false,
      )
      expect(row).toMatchObject({ enabled: false, disabledReason: expect.stringContaining('next_run_at') })
    })
    await neighbour.expectUnaffected()
    const resumed = await serving.engine.inboxSchedules.resume(id)
    expect(resumed.nextRunAt).toBeGreaterThan(Date.now())
    await serving.engine.inboxSchedules.remove(id)
  }, 60_000)

  test('runs that already have one are claimed, expire or stay, and can be listed', async () => {
    const queue = 'old-times'
    const put = (column: string, time: string): Promise<void> =>
      unchecked(
        `INSERT INTO workflow.workflow_run (type, payload, inbox, engine_turn, queue, ${column}) VALUES ('odd.v1', '{}', true, true, $1, $2)`,
        [queue, time],
      )
    for (const time of ODD) for (const column of ['run_at', 'created_at', 'expires_at']) await put(column, time)
    await serving.engine.sweep()
    const asked = { worker_id: 'w', queues: [queue], types: ['odd.v1'], limit: 50 }
    const claimed = await serving.post('/v1/runs/claim', asked)
    expect(claimed.status).toBe(200)
    // Due long ago, or created at any time; not those due at infinity or expired long ago.
    expect(claimed.body.runs).toHaveLength(2 + ODD.length + 3)
    for (const path of ['/v1/runs?limit=100', '/ojs/v1/admin/jobs?limit=100', '/ojs/v1/queues', '/metrics']) {
      expect([path, (await serving.get(path)).status]).toEqual([path, 200])
    }
  })
})

onBothStores('a row that stays due', (stage) => {
  test('causes no engine to search without pause, and hides nothing that is due later', async () => {
    const store = await openStore(await stage.url())
    await store.migrate()
    const now = await store.now()
    const schedule = {
      type: 'odd.v1',
      payload: '{}',
      schedule: '* * * * *',
      timezone: 'UTC',
      priority: 1,
      maxAttempts: 1,
    }
    await store.inboxSchedules.add({ id: randomUUID(), ...schedule, nextRunAt: now - 60_000 })
    await store.inboxSchedules.add({ id: randomUUID(), ...schedule, nextRunAt: now + 60_000 })
    expect(await store.sweep.nextDueAt()).toBe(now - 60_000)
    expect(await store.sweep.nextDueAt(now)).toBe(now + 60_000)
    // An engine that cannot do anything about the first one.
    let fired = 0
    store.inboxSchedules.advance = async () => {
      fired++
      return false
    }
    const engine = await Engine.open({ store, pollMs: 200 })
    await new Promise((resolve) => setTimeout(resolve, 2_000))
    await engine.close()
    await store.close()
    expect(fired).toBeGreaterThan(0)
    expect(fired).toBeLessThan(2_000 / 100)
  })
})
