/** The statements of simple-workflow's clients, sent by a role with no other rights. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { postgresUrl } from '../../services.ts'
import type { InboxClient } from './clients.ts'
import { type InboxStage, inboxStage } from './stage.ts'

const MINUTE = 60_000

describe.skipIf(postgresUrl() === null).each(['Go', 'Python'] as const)(
  "simple-workflow's client in %s",
  (language) => {
    let stage: InboxStage
    let client: InboxClient
    beforeEach(async () => {
      stage = await inboxStage()
      client = await stage.client(language)
    })
    afterEach(() => stage.close())

    it('produces once per key, claims by prefix, heartbeats and completes; the audit trail records each step once', async () => {
      await client.submit('other.report.v1')
      const id = await client.submit('billing.charge.v1', { payload: { amount: 7 }, key: 'order:1' })
      expect(await client.submit('billing.charge.v1', { key: 'order:1' })).toBe('')
      expect([await client.depth('billing.%'), await client.depth('mail.%')]).toEqual([1, 0])
      const claimed = await client.claim('worker-1', ['mail.%', 'billing.%'])
      expect(claimed).toEqual({
        id,
        type: 'billing.charge.v1',
        payload: { amount: 7 },
        attempt: 0,
        max_attempts: 3,
      })
      expect(await client.claim('worker-2', ['mail.%', 'billing.%'])).toBeNull()
      await client.started(id, 'worker-1')
      expect(await client.heartbeat(id, 60)).toBe(true)
      expect(await client.isCancelled(id)).toBe(false)
      await client.complete(id, { paid: true })
      expect(await client.heartbeat(id, 60)).toBe(false)
      expect(await client.cancel(id)).toBe(false)
      expect(await stage.run(id)).toMatchObject({
        status: 'succeeded',
        result: { paid: true },
        attempt: 0,
        leased_by: null,
        lease_until: null,
        inbox: true,
      })
      expect(await stage.recorded(id)).toEqual(['created', 'leased', 'started', 'heartbeat', 'succeeded'])
      const data = (await stage.sql('SELECT data FROM workflow_event WHERE workflow_id = $1 ORDER BY id', [id])).rows
      expect(data.map((row) => row['data'])).toEqual([
        null,
        { worker_id: 'worker-1', attempt: 0 },
        { worker_id: 'worker-1' },
        { extended_by_seconds: 60 },
        null,
      ])
    })

    it('fails, waits a minute, fails, waits four, and fails for good the third time', async () => {
      const id = await client.submit('mail.send.v1')
      for (const [attempt, minutes] of [
        [1, 1],
        [2, 4],
      ] as const) {
        const claimed = await client.claim('worker-1', ['mail.%'])
        expect(claimed?.attempt).toBe(attempt - 1)
        expect(await client.fail(claimed!, `no ${attempt}`)).toBe('pending')
        const run = await stage.run(id)
        expect(run).toMatchObject({ status: 'pending', attempt, last_error: `no ${attempt}`, leased_by: null })
        const wait = run['run_at'].getTime() - Date.now()
        expect(wait).toBeGreaterThan(minutes * MINUTE - 5_000)
        expect(wait).toBeLessThan(minutes * MINUTE * 1.1)
        expect(await client.claim('worker-1', ['mail.%'])).toBeNull()
        await stage.sql('UPDATE workflow_run SET run_at = now() WHERE id = $1', [id])
      }
      expect(await client.fail((await client.claim('worker-1', ['mail.%']))!, 'no 3')).toBe('failed')
      expect(await stage.run(id)).toMatchObject({
        status: 'failed',
        attempt: 3,
        last_error: 'no 3',
        error: { code: 'handler_error', message: 'no 3' },
      })
      const lease = ['leased', 'started']
      expect(await stage.recorded(id)).toEqual([
        'created',
        ...lease,
        'retried',
        ...lease,
        'retried',
        ...lease,
        'failed',
      ])
      expect((await stage.history(id)).map((event) => event.type)).toEqual(await stage.recorded(id))
      expect(JSON.parse((await stage.history(id)).at(-1)?.data as string)).toEqual({
        attempt: 3,
        error: { code: 'handler_error', message: 'no 3' },
      })
    })

    it('cancels pending and leased work, and learns from the row count that it came too late', async () => {
      const waiting = await client.submit('mail.send.v1', { priority: 200 })
      expect([await client.cancel(waiting), await client.cancel(waiting)]).toEqual([true, false])
      const running = await client.submit('mail.send.v1')
      await client.claim('worker-1', ['mail.%'])
      expect(await client.cancel(running)).toBe(true)
      expect(await client.isCancelled(running)).toBe(true)
      expect(await stage.recorded(waiting)).toEqual(['created', 'cancelled'])
      expect(await stage.recorded(running)).toEqual(['created', 'leased', 'started', 'cancelled'])
    })

    it('reads a timestamp without a zone as UTC, in any zone of the server: a run due in an hour is due in an hour', async () => {
      expect((await stage.sql('SHOW timezone')).rows).toEqual([{ TimeZone: 'UTC' }])
      const at = Math.ceil(Date.now() / 1000) * 1000 + 60 * MINUTE
      const id = await client.submit('mail.send.v1', { runAt: at })
      expect((await stage.run(id))['run_at'].getTime()).toBe(at)
      expect(await client.claim('worker-1', ['mail.%'])).toBeNull()
    })

    it('schedules; its ticker creates one run per due time, recorded like any other', async () => {
      const due = Math.floor(Date.now() / 1000) * 1000 - MINUTE
      const id = await client.schedule('report.daily.v1', '0 9 * * 1', 'Europe/Berlin', due)
      const next = due + 24 * 60 * MINUTE
      const made = await client.tick(next)
      expect(made).toHaveLength(1)
      expect(await client.tick(next)).toEqual([])
      expect(await stage.run(made[0]!)).toMatchObject({ idempotency_key: `schedule:${id}:${due / 1000}`, inbox: true })
      expect(await stage.recorded(made[0]!)).toEqual(['created'])
      const row = (await stage.sql('SELECT * FROM workflow_schedule WHERE id = $1', [id])).rows[0]!
      expect(row['next_run_at'].getTime()).toBe(next)
      await stage.sql('UPDATE workflow_schedule SET enabled = false, updated_at = NOW() WHERE id = $1', [id])
      await stage.sql(
        'UPDATE workflow_schedule SET deleted_at = NOW(), enabled = false, updated_at = NOW() WHERE id = $1',
        [id],
      )
    })
  },
)

describe.skipIf(postgresUrl() === null)("simple-workflow's client in Go: its queries and its migration", () => {
  let stage: InboxStage
  beforeEach(async () => {
    stage = await inboxStage()
  })
  afterEach(() => stage.close())

  const COLUMNS = `id, type, payload, status, priority, run_at, idempotency_key, attempt, max_attempts, leased_by,
    lease_until, last_error, result, created_at, updated_at`

  it('gets, lists and reads events by the columns it names', async () => {
    const go = await stage.client('Go')
    const first = await go.submit('mail.send.v1', { key: 'first' })
    const second = await go.submit('mail.sort.v1')
    const got = await stage.sql(`SELECT ${COLUMNS} FROM workflow_run WHERE id = $1 AND deleted_at IS NULL`, [first])
    expect(got.rows[0]).toMatchObject({ id: first, status: 'pending', idempotency_key: 'first', attempt: 0 })
    const listed = await stage.sql(
      `SELECT ${COLUMNS} FROM workflow_run WHERE deleted_at IS NULL AND status = $1 ORDER BY created_at DESC LIMIT $2 OFFSET $3`,
      ['pending', 50, 0],
    )
    expect(listed.rows.map((row) => row['id'])).toEqual([second, first])
    const events = await stage.sql(
      'SELECT id, workflow_id, event_type, data, created_at FROM workflow_event WHERE workflow_id = $1 ORDER BY created_at ASC',
      [first],
    )
    expect(events.rows).toMatchObject([{ workflow_id: first, event_type: 'created', data: null }])
  })

  it('finds its tables and indexes in place: its migration, run by the owner, changes nothing', async () => {
    const schema = async () => ({
      indexes: (
        await stage.admin(`SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'workflow' ORDER BY 1`)
      ).rows,
      tables: (
        await stage.admin(
          `SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'workflow' ORDER BY 1, 2`,
        )
      ).rows,
    })
    const before = await schema()
    await stage.admin(MIGRATION)
    expect(await schema()).toEqual(before)
  })
})

/** The migration of simple-workflow, which creates whatever is missing. */
const MIGRATION = `
  CREATE TABLE IF NOT EXISTS workflow_run (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), type text NOT NULL, payload jsonb NOT NULL);
  CREATE INDEX IF NOT EXISTS idx_workflow_run_claim ON workflow_run (status, run_at, priority, created_at) WHERE status = 'pending';
  CREATE INDEX IF NOT EXISTS idx_workflow_run_type_prefix ON workflow_run (type text_pattern_ops, status, run_at) WHERE status = 'pending';
  CREATE INDEX IF NOT EXISTS idx_workflow_run_idempotency ON workflow_run (idempotency_key) WHERE idempotency_key IS NOT NULL;
  CREATE INDEX IF NOT EXISTS idx_workflow_run_type_status ON workflow_run (type, status, created_at DESC);
  CREATE INDEX IF NOT EXISTS idx_workflow_run_deleted_at ON workflow_run (deleted_at) WHERE deleted_at IS NULL;
  CREATE TABLE IF NOT EXISTS workflow_event (id bigserial PRIMARY KEY, workflow_id uuid NOT NULL REFERENCES workflow_run (id) ON DELETE CASCADE);
  CREATE INDEX IF NOT EXISTS idx_workflow_event_workflow_id ON workflow_event (workflow_id, created_at DESC);
  CREATE INDEX IF NOT EXISTS idx_workflow_event_type ON workflow_event (event_type, created_at DESC);
  CREATE TABLE IF NOT EXISTS workflow_registry (id uuid PRIMARY KEY, workflow_name text NOT NULL UNIQUE, runtime text NOT NULL);
  CREATE INDEX IF NOT EXISTS idx_workflow_registry_runtime ON workflow_registry (runtime, is_enabled);
  CREATE INDEX IF NOT EXISTS idx_workflow_registry_deleted_at ON workflow_registry (deleted_at) WHERE deleted_at IS NULL;
  CREATE TABLE IF NOT EXISTS workflow_schedule (id uuid PRIMARY KEY, type text NOT NULL, schedule text NOT NULL);
  CREATE INDEX IF NOT EXISTS idx_workflow_schedule_next_run ON workflow_schedule (next_run_at) WHERE enabled = true AND deleted_at IS NULL;
  CREATE INDEX IF NOT EXISTS idx_workflow_schedule_type ON workflow_schedule (type)`
