/** Each event is recorded once, for any actor. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { until } from '../../server/serving.ts'
import { postgresUrl } from '../../services.ts'
import type { InboxClient } from './clients.ts'
import { type InboxStage, inboxStage } from './stage.ts'

const EIGHT = ['created', 'leased', 'started', 'heartbeat', 'succeeded', 'failed', 'retried', 'cancelled']

describe.skipIf(postgresUrl() === null)('events that clients write', () => {
  let stage: InboxStage
  let go: InboxClient
  beforeEach(async () => {
    stage = await inboxStage()
    go = await stage.client('Go')
  })
  afterEach(() => stage.close())

  it('copies of the eight event types are dropped, whether they repeat or contradict the record', async () => {
    const pending = await go.submit('mail.send.v1', { priority: 200 })
    for (const word of EIGHT) expect(await go.event(pending, word, { mine: true })).toBe(0)
    expect(await stage.recorded(pending)).toEqual(['created'])
    const done = await go.submit('mail.send.v1')
    await go.claim('w', ['mail.%'])
    await go.complete(done, 1)
    for (const word of EIGHT) expect(await go.event(done, word, null)).toBe(0)
    expect(await stage.recorded(done)).toEqual(['created', 'leased', 'started', 'succeeded'])
  })

  it("a client's own event types are kept under its name, and cannot break the history", async () => {
    const id = await go.submit('mail.send.v1')
    const odd = [{ leased_at: 'soon', started_at: {}, error: { code: 'x' }, attempt: 'first' }, 'a text', [1], null, 7]
    for (const data of odd) expect(await go.event(id, 'app.note', data)).toBe(1)
    const notes = (await stage.history(id)).filter((event) => event.type === 'app.note')
    expect(notes.map((event) => (event.data === null ? null : JSON.parse(event.data)))).toEqual(odd)
    expect(new Set(notes.map((event) => event.actor))).toEqual(new Set([stage.role]))
    expect(await stage.store.read.errorsOf({ runIds: [id], limit: 10 })).toEqual(new Map())
    expect((await stage.sql('SELECT * FROM workflow_history')).rowCount).toBe(1 + odd.length)
  })

  it('a session may record its steps in one transaction, and their order is kept', async () => {
    await stage.sql('BEGIN')
    const made = await stage.sql(`INSERT INTO workflow_run (type, payload) VALUES ('mail.send.v1', '{}') RETURNING id`)
    const id = made.rows[0]!['id']
    const set = (change: string) => stage.sql(`UPDATE workflow_run SET ${change} WHERE id = $1`, [id])
    await set(`status = 'leased', leased_by = 'w', lease_until = now() + interval '30 seconds'`)
    await set(`lease_until = now() + interval '60 seconds'`)
    await set(`status = 'pending', attempt = attempt + 1, last_error = 'no', run_at = now()`)
    await set(`status = 'leased', leased_by = 'w', lease_until = now() + interval '30 seconds'`)
    await set(`status = 'succeeded', result = '1'`)
    await stage.sql('COMMIT')
    const lease = ['leased', 'started']
    const all = ['created', ...lease, 'heartbeat', 'retried', ...lease, 'succeeded']
    const read = await stage.sql('SELECT event_type FROM workflow_event WHERE workflow_id = $1 ORDER BY created_at', [
      id,
    ])
    expect(read.rows.map((row) => row['event_type'])).toEqual(all)
    expect((await stage.history(id)).map((event) => event.type)).toEqual(all)
  })

  it('a change that is rolled back is not recorded', async () => {
    const id = await go.submit('mail.send.v1')
    await stage.sql('BEGIN')
    await stage.sql(`UPDATE workflow_run SET status = 'cancelled' WHERE id = $1`, [id])
    await stage.sql('ROLLBACK')
    expect(await stage.recorded(id)).toEqual(['created'])
    expect(await stage.run(id)).toMatchObject({ status: 'pending' })
  })

  it('a heartbeat that is only logged waits for a concurrent return, and is not recorded after it', async () => {
    const id = await go.submit('mail.send.v1')
    await go.claim('w', ['mail.%'])
    const other = await stage.connect()
    await other.query('BEGIN')
    await other.query(`UPDATE workflow_run SET status = 'pending' WHERE id = $1`, [id])
    const logged = go.event(id, 'heartbeat', null)
    const waiting = `SELECT count(*)::int AS n FROM pg_locks WHERE NOT granted`
    await until(
      async () => (await stage.admin(waiting)).rows[0]!['n'],
      (n) => n > 0,
    )
    await other.query('COMMIT')
    expect(await logged).toBe(0)
    expect(await stage.recorded(id)).toEqual(['created', 'leased', 'started', 'returned'])
  })

  it('an event in a partition created later follows the same rules', async () => {
    const id = await go.submit('mail.send.v1')
    await stage.admin('SELECT ensure_event_partitions(9)')
    const insert = `INSERT INTO workflow_event (workflow_id, event_type, created_at) VALUES ($1, $2, now() + interval '60 days')`
    await expect(stage.admin(insert, [id, 'exploded'])).rejects.toMatchObject({ column: 'event_type' })
    expect((await stage.admin(insert, [id, 'created'])).rowCount).toBe(0)
  })

  it('events of a run with a large payload neither read nor rewrite the payload', async () => {
    const large = Array.from({ length: 20_000 }, () => Math.random().toString(36))
    const id = await go.submit('mail.send.v1', { payload: large })
    const [{ toast }] = (
      await stage.admin(
        `SELECT reltoastrelid::regclass::text AS toast FROM pg_class WHERE oid = 'workflow_run'::regclass`,
      )
    ).rows as [{ toast: string }]
    const stored = async () => (await stage.admin(`SELECT DISTINCT chunk_id FROM ${toast}`)).rows
    const before = await stored()
    const claimed = (await go.claim('w', ['mail.%']))!
    await go.heartbeat(id, 60)
    await go.fail(claimed, 'no')
    await stage.sql('UPDATE workflow_run SET run_at = now(), priority = 1 WHERE id = $1', [id])
    await go.claim('w', ['mail.%'])
    await go.complete(id, 1)
    expect(before).toHaveLength(1)
    expect(await stored()).toEqual(before)
    expect((await stage.run(id))['payload']).toEqual(large)
  })

  it("names the actor: the role for a producer's change, the worker for a worker's", async () => {
    const id = await go.submit('mail.send.v1')
    await go.claim('worker-7', ['mail.%'])
    await go.heartbeat(id, 60)
    await go.cancel(id)
    expect((await stage.history(id)).map((event) => [event.type, event.actor])).toEqual([
      ['created', stage.role],
      ['leased', 'worker-7'],
      ['started', 'worker-7'],
      ['heartbeat', 'worker-7'],
      ['cancelled', stage.role],
    ])
  })
})
