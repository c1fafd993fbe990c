/** Plain SQL that an SQLite file refuses: the message names the column and the rule, and nothing is written. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { ToolStage } from './sqlite-stage.ts'
import { hasSqlite3 } from './sqlite-tool.ts'

const NOW = '(SELECT now FROM workflow_clock)'
const BIG = '9223372036854775807'

describe.skipIf(!hasSqlite3())('bad input by plain SQL into an SQLite file', () => {
  let t: ToolStage
  beforeAll(async () => {
    t = await ToolStage.open()
  })
  afterAll(() => t.close())
  afterEach(async () => {
    expect(await t.s.d.doctor()).toEqual([])
  })

  const insert = (columns: Record<string, string>): Promise<unknown> => {
    const given = { type: `'a.v1'`, payload: `'{}'`, ...columns }
    return t.tool.ask(
      `INSERT INTO workflow_run (${Object.keys(given).join(', ')}) VALUES (${Object.values(given).join(', ')})`,
    )
  }

  const INSERTS: readonly (readonly [Record<string, string>, string])[] = [
    [{ status: `'done'` }, 'workflow_run.status: a new run is pending'],
    [{ status: `'leased'` }, 'workflow_run.status: a new run is pending'],
    [{ status: `'succeeded'` }, 'workflow_run.status: a new run is pending'],
    ...['email.send', 'v1', '.v1', 'a..b.v1', '.a.v1', 'a.b.V1', 'a.b.v', 'a.b.v1.', 'a b.v1', 'a.v1x', ''].map(
      (type) => [{ type: `'${type}'` }, 'workflow_run.type: must be dotted and end in a version'] as const,
    ),
    [{ type: `'a' || char(9) || '.v1'` }, 'workflow_run.type: must be dotted and end in a version'],
    [{ type: `'a.v1' || char(0) || '.v2'` }, 'workflow_run.type: must be dotted and end in a version'],
    [{ type: `'${'x'.repeat(253)}.v1'` }, 'workflow_run.type: must be dotted'],
    [{ payload: `'{'` }, 'workflow_run.payload: must be JSON'],
    [{ payload: `''` }, 'workflow_run.payload: must be JSON'],
    [{ payload: 'NULL' }, 'workflow_run.payload: must be JSON'],
    [{ payload: `x'00'` }, 'cannot store BLOB value in TEXT column workflow_run.payload'],
    [{ idempotency_key: `''` }, 'workflow_run.idempotency_key: must have 1 to 512 characters'],
    [{ idempotency_key: `'${'é'.repeat(513)}'` }, 'workflow_run.idempotency_key: must have 1 to 512 characters'],
    [{ idempotency_key: `'a' || char(0)` }, 'workflow_run.idempotency_key: must have 1 to 512 characters'],
    [{ attempt: '-1' }, 'workflow_run.attempt: counts failed executions'],
    [{ attempt: '1' }, 'workflow_run.attempt: counts failed executions'],
    [{ max_attempts: '0' }, 'workflow_run.max_attempts: must be from 1 to 1000'],
    [{ max_attempts: '-3' }, 'workflow_run.max_attempts: must be from 1 to 1000'],
    [{ max_attempts: '1001' }, 'workflow_run.max_attempts: must be from 1 to 1000'],
    [{ priority: BIG }, 'workflow_run.priority: must be a whole number of 32 bits'],
    [{ priority: `'high'` }, 'cannot store TEXT value in INTEGER column workflow_run.priority'],
    [{ run_at: `'2026-01-01 00:00:00'` }, 'cannot store TEXT value in INTEGER column workflow_run.run_at'],
    [{ run_at: BIG }, 'workflow_run.run_at, created_at: must be milliseconds since 1970'],
    [{ run_at: '-1' }, 'workflow_run.run_at, created_at: must be milliseconds since 1970'],
    [{ created_at: BIG }, 'workflow_run.run_at, created_at: must be milliseconds since 1970'],
    [{ queue: `''` }, 'workflow_run.queue: must have 1 to 255 characters'],
    [{ queue: `'${'q'.repeat(256)}'` }, 'workflow_run.queue: must have 1 to 255 characters'],
    [{ timeout_ms: '0' }, 'workflow_run.timeout_ms, expires_at: must be milliseconds'],
    [{ expires_at: BIG }, 'workflow_run.timeout_ms, expires_at: must be milliseconds'],
    [{ leased_by: `'me'` }, 'workflow_run.leased_by, lease_until, last_error, result, deleted_at: a new run has none'],
    [{ result: `'1'` }, 'workflow_run.leased_by, lease_until, last_error, result, deleted_at: a new run has none'],
    ...[
      { instance_id: `'i'` },
      { root_id: `'i'` },
      { node: `'n'` },
      { item: '0' },
      { role: `'undo'` },
      { session_id: `'s'` },
      { epoch: '4' },
      { settled_at: '1' },
      { deferred: '1' },
      { retry: `'{"maxAttempts":"x"}'` },
      { error: `'{}'` },
      { unique_key: `'u'` },
      { dead_letter: '1' },
      { lease_ms: '5' },
      { meta: `'[]'` },
    ].map((columns) => [columns, 'workflow_run.instance_id and the like: only the engine writes them'] as const),
    [{ id: `'42'` }, 'workflow_run.id: must be a UUID in lower case'],
    [{ id: `'${'A'.repeat(8)}-0000-4000-8000-000000000000'` }, 'workflow_run.id: must be a UUID in lower case'],
  ]

  it.each(INSERTS)('refuses a new run with %o', async (columns, message) => {
    await expect(insert(columns)).rejects.toThrow(message)
    expect(await t.tool.ask('SELECT id FROM workflow_run')).toEqual([])
  })

  it('accepts names at their length limits, in any characters', async () => {
    const names = [`${'é'.repeat(252)}.v1`, 'a_b%.c-d.v12', 'content.thumbnail.v1', 'ü.v0']
    for (const [i, type] of names.entries()) {
      await insert({ type: `'${type}'`, idempotency_key: `'${i}${'漢'.repeat(511)}'`, max_attempts: '1000' })
    }
    expect((await t.s.d.claim()).map((run) => run.type).sort()).toEqual([...names].sort())
    await t.tool.ask(`UPDATE workflow_run SET status = 'cancelled'`)
    await t.s.d.engine.sweep()
    await t.tool.ask('DELETE FROM workflow_run')
    await t.tool.ask('DELETE FROM workflow_kept_key')
  })

  it('several rows in one INSERT are stored together or not at all', async () => {
    await expect(
      t.tool.ask(`INSERT INTO workflow_run (type, payload) VALUES ('a.v1', '{}'), ('b', '{}'), ('c.v1', '{}')`),
    ).rejects.toThrow('workflow_run.type')
    expect(await t.tool.ask('SELECT id FROM workflow_run')).toEqual([])
  })

  it('a run cannot be replaced', async () => {
    const id = await t.insert({ idempotency_key: 'mine' })
    for (const columns of [`'${id}', 'other'`, `'${crypto.randomUUID()}', 'mine'`]) {
      const values = `(id, idempotency_key, type, payload) VALUES (${columns}, 'a.v1', '{}')`
      await expect(t.tool.ask(`INSERT OR REPLACE INTO workflow_run ${values}`)).rejects.toThrow(
        'workflow_run.idempotency_key, id: a run cannot be replaced; use ON CONFLICT DO NOTHING',
      )
    }
    expect(await t.tool.ask('SELECT id FROM workflow_run')).toEqual([{ id }])
    expect(await t.words(id)).toEqual(['created'])
    await t.tool.ask(`UPDATE workflow_run SET status = 'cancelled'`)
    await t.s.d.engine.sweep()
  })

  const lease = `status = 'leased', leased_by = 'sh', lease_until = ${NOW} + 30000`
  /** Writes to a pending run, or to one that this worker has claimed. */
  const UPDATES: readonly (readonly ['pending' | 'leased', string, string])[] = [
    ['pending', `status = 'done'`, 'workflow_run.status: must be pending, leased, succeeded, failed or cancelled'],
    ['leased', `status = ''`, 'workflow_run.status: must be pending, leased, succeeded, failed or cancelled'],
    ['pending', `status = 'leased'`, 'workflow_run.leased_by: a claim names its worker'],
    ['pending', `status = 'leased', leased_by = ''`, 'workflow_run.leased_by: a claim names its worker'],
    ['pending', `status = 'leased', leased_by = 'x'`, 'workflow_run.lease_until: a claim lasts until a later time'],
    [
      'pending',
      `status = 'leased', leased_by = 'x', lease_until = unixepoch()`,
      'workflow_run.lease_until: a claim lasts',
    ],
    ['pending', `leased_by = 'x'`, 'workflow_run.leased_by: a claim sets status to leased, leased_by and lease_until'],
    ['pending', `${lease}, attempt = 1`, 'workflow_run.attempt: counts failed executions'],
    ['leased', 'lease_until = NULL', 'workflow_run.lease_until: a heartbeat moves it to a later time'],
    ['leased', 'lease_until = unixepoch()', 'workflow_run.lease_until: a heartbeat moves it to a later time'],
    ['leased', `lease_until = ${BIG}`, 'workflow_run.run_at, lease_until, deleted_at: must be milliseconds'],
    ['leased', `status = 'pending', attempt = -1`, 'workflow_run.attempt: must not be negative'],
    ['leased', `status = 'succeeded', attempt = 1`, 'workflow_run.attempt: counts failed executions'],
    ['leased', `status = 'succeeded', result = '{'`, 'workflow_run.result: must be JSON'],
    ['leased', `status = 'pending', attempt = 1, run_at = '1 minute'`, 'cannot store TEXT value in INTEGER column'],
    ['leased', `status = 'pending', attempt = 1, run_at = ${BIG}`, 'workflow_run.run_at, lease_until, deleted_at'],
    ['pending', `result = '1'`, 'workflow_run.result, last_error: go with status succeeded or with a failure'],
    ['pending', `type = 'b'`, 'workflow_run.type: must be dotted and end in a version'],
    ['pending', `payload = '{'`, 'workflow_run.payload: must be JSON'],
    ['pending', `queue = ''`, 'workflow_run.queue: must have 1 to 255 characters'],
    ['pending', 'max_attempts = 0', 'workflow_run.max_attempts: must be from 1 to 1000'],
    ['pending', `priority = ${BIG}`, 'workflow_run.priority: must be a whole number of 32 bits'],
    ['leased', `payload = '[]'`, 'workflow_run.type, payload, queue: can be changed only while the run is pending'],
    ['leased', `queue = 'q'`, 'workflow_run.type, payload, queue: can be changed only while the run is pending'],
    ['pending', `id = '${crypto.randomUUID()}'`, 'workflow_run.id, idempotency_key, created_at, tenant, instance_id'],
    ['pending', `idempotency_key = 'k2'`, 'workflow_run.id, idempotency_key, created_at, tenant, instance_id'],
    ['pending', `instance_id = 'i'`, 'workflow_run.id, idempotency_key, created_at, tenant, instance_id'],
    ['pending', 'inbox = 0', 'workflow_run.id, idempotency_key, created_at, tenant, instance_id'],
    ...[
      'epoch = 7',
      `session_id = 's'`,
      'settled_at = 1',
      'deferred = 1',
      'cancel_requested_at = 1',
      'lease_ms = 1',
    ].map(
      (set) =>
        ['leased', set, 'workflow_run.epoch, session_id, started_at, error and the like: only the engine'] as const,
    ),
  ]

  it.each(UPDATES)('refuses of a %s run SET %s', async (status, set, message) => {
    const id = await t.insert()
    if (status === 'leased') await t.tool.ask(`UPDATE workflow_run SET ${lease} WHERE id = '${id}'`)
    const before = await t.run(id)
    await expect(t.tool.ask(`UPDATE workflow_run SET ${set} WHERE id = '${id}'`)).rejects.toThrow(message)
    expect(await t.run(id)).toEqual(before)
    await t.tool.ask(`UPDATE workflow_run SET status = 'cancelled' WHERE id = '${id}'`)
    await t.s.d.engine.sweep()
  })

  it('refuses events without a run, of unknown types, or in the engine’s name', async () => {
    const id = await t.insert()
    const cases: readonly (readonly [Record<string, string>, string])[] = [
      [{ workflow_id: `'${crypto.randomUUID()}'` }, 'workflow_event.workflow_id: there is no such run'],
      [{ workflow_id: 'NULL' }, 'workflow_event.workflow_id: there is no such run'],
      [
        { event_type: `'finished'` },
        'workflow_event.event_type: must be created, leased, started, heartbeat, succeeded',
      ],
      [{ event_type: `'redriven'` }, 'workflow_event.event_type: must be created'],
      [{ event_type: `'.note'` }, 'workflow_event.event_type: must be created'],
      [{ event_type: `'instance.completed'` }, 'workflow_event.event_type: names that begin with instance'],
      [{ data: `'{'` }, 'workflow_event.data: must be JSON'],
      [{ id: '7' }, 'workflow_event.id: is given by the table'],
      [{ instance_id: `'i'`, seq: '1' }, 'workflow_event.instance_id, seq, node, tenant: only the engine writes them'],
      [{ created_at: BIG }, 'workflow_event.created_at: must be milliseconds'],
    ]
    for (const [columns, message] of cases) {
      const given = { workflow_id: `'${id}'`, event_type: `'app.note'`, ...columns }
      const sql = `INSERT INTO workflow_event (${Object.keys(given).join(', ')}) VALUES (${Object.values(given).join(', ')})`
      await expect(t.tool.ask(sql), sql).rejects.toThrow(message)
    }
    expect(await t.words(id)).toEqual(['created'])
  })
})
