/** The statements that unmodified upstream workers send (reference/inbox-dag-saga.md §1.2), on our tables. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { postgresUrl } from '../services.ts'
import { type PostgresSubject, postgresSubject } from './postgres-subject.ts'
import { newId } from './rows.ts'

const PRODUCE = `INSERT INTO workflow_run (id, type, payload, priority, run_at, idempotency_key, max_attempts)
  VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (idempotency_key) DO NOTHING RETURNING id`
const CLAIM = `UPDATE workflow_run SET status = 'leased', leased_by = $1, lease_until = NOW() + $2::interval, updated_at = NOW()
  WHERE id = (SELECT id FROM workflow_run
    WHERE ((status = 'pending' AND run_at <= NOW()) OR (status = 'leased' AND lease_until < NOW())) AND deleted_at IS NULL
      AND (type LIKE $3 OR type LIKE $4)
    ORDER BY priority, created_at FOR UPDATE SKIP LOCKED LIMIT 1)
  RETURNING id, type, payload, attempt, max_attempts`
const HEARTBEAT = `UPDATE workflow_run SET lease_until = NOW() + $1::interval, updated_at = NOW() WHERE id = $2 AND status = 'leased'`
const COMPLETE = `UPDATE workflow_run SET status = 'succeeded', result = $1, updated_at = NOW() WHERE id = $2`
const FAIL = `UPDATE workflow_run SET status = $1, attempt = $2, run_at = $3, last_error = $4, updated_at = NOW() WHERE id = $5`
const CANCEL = `UPDATE workflow_run SET status = 'cancelled', updated_at = NOW() WHERE id = $1 AND status IN ('pending', 'leased')`
const EVENT = 'INSERT INTO workflow_event (workflow_id, event_type, data) VALUES ($1, $2, $3)'
const UPSTREAM_INDEXES = `
  CREATE INDEX IF NOT EXISTS idx_workflow_run_claim ON workflow_run (status, run_at, priority, created_at) WHERE status = 'pending';
  CREATE INDEX IF NOT EXISTS idx_workflow_run_type_prefix ON workflow_run (type text_pattern_ops, status, run_at) WHERE status = 'pending';
  CREATE INDEX IF NOT EXISTS idx_workflow_run_idempotency ON workflow_run (idempotency_key) WHERE idempotency_key IS NOT NULL;
  CREATE INDEX IF NOT EXISTS idx_workflow_run_type_status ON workflow_run (type, status, created_at DESC);
  CREATE INDEX IF NOT EXISTS idx_workflow_run_deleted_at ON workflow_run (deleted_at) WHERE deleted_at IS NULL`

describe.skipIf(postgresUrl() === null)('postgres: upstream clients', () => {
  let subject: PostgresSubject
  beforeEach(async () => {
    subject = await postgresSubject()
  })
  afterEach(() => subject.close())

  const produce = async (type: string, key: string | null = null): Promise<string | null> => {
    const at = new Date(Date.now() - 1000).toISOString().slice(0, 19).replace('T', ' ')
    const made = await subject.foreign.query(PRODUCE, [newId(), type, '{"a":1}', 100, `${at}+00`, key, 3])
    return made.rows[0]?.id ?? null
  }
  const claim = async () => (await subject.foreign.query(CLAIM, ['go-1', '30 seconds', 'billing.%', 'mail.%'])).rows[0]

  it('produce once per key, claim by prefix, heartbeat, complete; the engine finds the outcome', async () => {
    const { store, foreign } = subject
    await produce('other.x')
    const id = await produce('billing.charge.v1', 'k1')
    expect(await produce('billing.charge.v1', 'k1')).toBeNull()
    expect(await claim()).toEqual({ id, type: 'billing.charge.v1', payload: { a: 1 }, attempt: 0, max_attempts: 3 })
    expect(await claim()).toBeUndefined()
    await foreign.query(EVENT, [id, 'leased', '{"worker_id":"go-1","attempt":0}'])
    expect((await foreign.query(HEARTBEAT, ['60 seconds', id])).rowCount).toBe(1)
    await foreign.query(COMPLETE, ['{"ok":true}', id])
    expect((await foreign.query(HEARTBEAT, ['60 seconds', id])).rowCount).toBe(0)
    expect(await store.sweep.unsettledRuns({ limit: 10 })).toEqual([{ id, rootId: null, instanceId: null }])
    const run = await store.read.run(id!)
    expect(run).toMatchObject({
      status: 'succeeded',
      leasedBy: 'go-1',
      queue: 'default',
      role: 'work',
      item: -1,
      sessionId: null,
    })
    const types = (await store.read.runHistory(id!)).map((event) => event.type)
    expect(types).toEqual(['created', 'leased'])
  })

  it('fail twice and for good; cancel answers by row count', async () => {
    const { store, foreign } = subject
    const id = await produce('mail.send')
    await claim()
    await foreign.query(FAIL, ['pending', 1, new Date(Date.now() + 60_000), 'no', id])
    expect(await claim()).toBeUndefined()
    expect(await store.sweep.unsettledRuns({ limit: 10 })).toEqual([])
    await foreign.query(FAIL, ['failed', 3, new Date(), 'no', id])
    expect((await store.sweep.unsettledRuns({ limit: 10 })).map((run) => run.id)).toEqual([id])
    expect((await foreign.query(CANCEL, [id])).rowCount).toBe(0)
    expect((await foreign.query(CANCEL, [await produce('mail.send')])).rowCount).toBe(1)
  })

  it('reclaim an expired lease, which our sweeper sees as well', async () => {
    const { store, foreign } = subject
    const id = await produce('mail.send')
    await claim()
    await foreign.query(`UPDATE workflow_run SET lease_until = now() - interval '1 s'`)
    expect((await store.sweep.expiredLeases({ limit: 10 })).map((run) => run.id)).toEqual([id])
    expect((await claim()).id).toBe(id)
  })

  it('read by their own statements, and their migration changes nothing', async () => {
    const { foreign } = subject
    const id = await produce('mail.send')
    const before = await foreign.query(
      `SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'workflow' ORDER BY 1`,
    )
    await foreign.query(UPSTREAM_INDEXES)
    const after = await foreign.query(
      `SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'workflow' ORDER BY 1`,
    )
    expect(after.rows).toEqual(before.rows)
    const depth = await foreign.query(
      `SELECT count(*)::int AS n FROM workflow_run WHERE type LIKE 'mail.%' AND status = 'pending' AND deleted_at IS NULL`,
    )
    expect(depth.rows).toEqual([{ n: 1 }])
    await foreign.query(EVENT, [id, 'heartbeat', '{"extended_by_seconds":30}'])
    await expect(foreign.query(EVENT, [id, 'exploded', null])).rejects.toThrow(/check/)
    const told = await foreign.query(
      'SELECT id, workflow_id, event_type, data, created_at FROM workflow_event WHERE workflow_id = $1 ORDER BY created_at',
      [id],
    )
    expect(told.rows.map((row) => row.event_type)).toEqual(['heartbeat'])
  })

  it('work under a plain role with the documented grants', async () => {
    const { foreign } = subject
    const role = `upstream_${newId().replaceAll('-', '')}`
    await foreign.query(`CREATE ROLE ${role};
      GRANT USAGE ON SCHEMA workflow TO ${role};
      GRANT SELECT, INSERT, UPDATE ON workflow_run, workflow_schedule TO ${role};
      GRANT SELECT, INSERT ON workflow_event TO ${role};
      GRANT USAGE ON SEQUENCE workflow_event_id_seq TO ${role}`)
    try {
      await foreign.query(`SET ROLE ${role}`)
      const id = await produce('mail.send', 'k')
      await foreign.query(EVENT, [id, 'created', null])
      expect((await claim()).id).toBe(id)
    } finally {
      await foreign.query(`RESET ROLE; DROP OWNED BY ${role}; DROP ROLE ${role}`)
    }
  })
})
