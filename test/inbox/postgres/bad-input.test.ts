/** Refused writes: the message names the column and the rule, and nothing is written. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { postgresUrl } from '../../services.ts'
import { type InboxStage, inboxStage } from './stage.ts'

describe.skipIf(postgresUrl() === null)('bad input by plain SQL', () => {
  let stage: InboxStage
  let pending: string
  let leased: string
  beforeAll(async () => {
    stage = await inboxStage()
  })
  afterAll(() => stage.close())
  beforeEach(async () => {
    await stage.store.reset()
    const make = async (): Promise<string> =>
      (await stage.sql(`INSERT INTO workflow_run (type, payload) VALUES ('mail.send.v1', '{}') RETURNING id`)).rows[0]![
        'id'
      ]
    pending = await make()
    leased = await make()
    await stage.sql(
      `UPDATE workflow_run SET status = 'leased', leased_by = 'w', lease_until = now() + interval '1 minute' WHERE id = $1`,
      [leased],
    )
  })

  const everything = async () => [
    (await stage.admin('SELECT * FROM workflow_run ORDER BY id')).rows,
    (await stage.admin('SELECT * FROM workflow_event ORDER BY id')).rows,
    (await stage.admin('SELECT * FROM workflow_schedule ORDER BY id')).rows,
  ]

  /** Sends it, expects a refusal, and that nothing has changed. */
  const refused = async (statement: string, values: readonly unknown[] = [], by: InboxStage['sql'] = stage.sql) => {
    const before = await everything()
    const error = await by(statement, values).then(
      () => null,
      (thrown: Record<string, unknown>) => thrown,
    )
    expect(error).not.toBeNull()
    expect(await everything()).toEqual(before)
    return error as Record<string, unknown>
  }

  const INSERTS: readonly (readonly [string, Record<string, unknown>, string])[] = [
    ['status', { status: 'running' }, 'must be pending, leased, succeeded, failed or cancelled, not "running"'],
    ['status', { status: 'succeeded' }, 'of a new run must be pending, not succeeded'],
    ['attempt', { attempt: -1 }, 'must be 0 or more, not -1'],
    ['attempt', { attempt: 2 }, 'of a new run must be 0, not 2'],
    ['max_attempts', { max_attempts: 0 }, 'must be from 1 to 1000, not 0'],
    ['max_attempts', { max_attempts: 1001 }, 'must be from 1 to 1000, not 1001'],
    ['idempotency_key', { idempotency_key: '' }, 'has 1 to 512 characters, not 0'],
    ['idempotency_key', { idempotency_key: 'k'.repeat(100_000) }, 'has 1 to 512 characters, not 100000'],
    ['queue', { queue: '' }, 'has 1 to 255 characters, not 0'],
    ['queue', { queue: 'q'.repeat(256) }, 'has 1 to 255 characters, not 256'],
    ['type', { type: 'email.send' }, 'must be dotted and end in a version such as .v1, not "email.send"'],
    ['type', { type: '' }, 'must be dotted and end in a version such as .v1, not ""'],
    ['type', { type: 'v1' }, 'must be dotted and end in a version such as .v1, not "v1"'],
    ['type', { type: 'mail..v1' }, 'must be dotted and end in a version such as .v1, not "mail..v1"'],
    ['type', { type: 'mail send.v1' }, 'must be dotted and end in a version such as .v1, not "mail send.v1"'],
    ['type', { type: 'mail.send.v1\n' }, 'must be dotted and end in a version such as .v1, not "mail.send.v1\n"'],
    ['type', { type: 'mail.send.vx' }, 'must be dotted and end in a version such as .v1, not "mail.send.vx"'],
    ['type', { type: `${'a'.repeat(255)}.v1` }, 'has at most 255 characters, not 258'],
  ]
  it.each(INSERTS)('an INSERT with a wrong %s is refused (%#)', async (column, given, rule) => {
    const row = { type: 'mail.send.v1', payload: '{}', ...given }
    const error = await refused(
      `INSERT INTO workflow_run (${Object.keys(row).join(', ')}) VALUES (${Object.keys(row).map((_, n) => `$${n + 1}`)})`,
      Object.values(row),
    )
    expect(error).toMatchObject({
      code: '23514',
      message: `workflow_run.${column}: ${rule}`,
      schema: 'workflow',
      table: 'workflow_run',
      column,
      constraint: `workflow_run_${column}_rule`,
      hint: expect.stringMatching(/\w/),
    })
  })

  it('a message does not repeat the whole of a huge value', async () => {
    const error = await refused(`INSERT INTO workflow_run (type, payload) VALUES (repeat('a ', 120), '{}')`)
    expect(String(error['message']).length).toBeLessThan(200)
  })

  it('the longest key in the widest characters is stored', async () => {
    const key = Array.from({ length: 512 }, (_, n) => String.fromCodePoint(0x20000 + n * 37)).join('')
    const insert = `INSERT INTO workflow_run (type, payload, idempotency_key) VALUES ('mail.send.v1', '{}', $1)`
    expect((await stage.sql(insert, [key])).rowCount).toBe(1)
    expect((await stage.sql(`${insert} ON CONFLICT (idempotency_key) DO NOTHING`, [key])).rowCount).toBe(0)
    await refused(insert, [`${key}a`])
  })

  it('malformed JSON is refused by the type of the column, missing values by the table', async () => {
    const insert = 'INSERT INTO workflow_run (type, payload) VALUES ($1, $2)'
    for (const text of ['{"a":', '{a:1}', '', '"\\u0000"', '"\\ud800"']) {
      expect(String((await refused(insert, ['mail.send.v1', text]))['code'])).toMatch(/^22/)
    }
    expect(await refused(insert, ['mail.send.v1', null])).toMatchObject({ code: '23502', column: 'payload' })
    expect(await refused(insert, [null, '{}'])).toMatchObject({ code: '23502', column: 'type' })
    await refused(`UPDATE workflow_run SET status = 'succeeded', result = '{' WHERE id = $1`, [leased])
    await refused(`INSERT INTO workflow_event (workflow_id, event_type, data) VALUES ($1, 'app.note', '{')`, [pending])
  })

  const UPDATES: readonly (readonly [string, 'pending' | 'leased', string, string])[] = [
    ['status', 'pending', `status = 'done'`, 'must be pending, leased, succeeded, failed or cancelled, not "done"'],
    ['attempt', 'leased', `status = 'pending', attempt = -1`, 'must be 0 or more, not -1'],
    ['status', 'leased', 'status = NULL', 'must be pending, leased, succeeded, failed or cancelled, not NULL'],
    ['attempt', 'leased', `status = 'pending', attempt = NULL`, 'must be 0 or more, not NULL'],
    ['attempt', 'leased', 'attempt = 1', 'does not change while the run stays leased'],
    [
      'leased_by',
      'pending',
      `status = 'leased', lease_until = now()`,
      'must name the worker that takes the lease, in 1 to 255 characters',
    ],
    [
      'leased_by',
      'pending',
      `status = 'leased', leased_by = '', lease_until = now()`,
      'must name the worker that takes the lease, in 1 to 255 characters',
    ],
    ['lease_until', 'pending', `status = 'leased', leased_by = 'w'`, 'must say how long the lease lasts'],
    [
      'attempt',
      'pending',
      `status = 'leased', leased_by = 'w', lease_until = now(), attempt = 1`,
      'counts failed executions: a claim leaves it alone',
    ],
    ['lease_until', 'leased', 'lease_until = NULL', 'must say how long the lease lasts'],
    ['leased_by', 'pending', `leased_by = 'w'`, 'does not change while the run stays pending'],
    ['result', 'leased', `result = '1'`, 'does not change while the run stays leased'],
    ['last_error', 'pending', `last_error = 'x'`, 'does not change while the run stays pending'],
    ['priority', 'leased', 'priority = 1', 'changes only while the run is pending, and it is leased'],
    ['payload', 'leased', `payload = '[]'`, 'changes only while the run is pending, and it is leased'],
    ['type', 'pending', `type = 'email.send'`, 'must be dotted and end in a version such as .v1, not "email.send"'],
    ['max_attempts', 'pending', 'max_attempts = 0', 'must be more than the 0 executions that have failed'],
    ['max_attempts', 'pending', 'max_attempts = 5000', 'must be from 1 to 1000, not 5000'],
    ['queue', 'pending', `queue = ''`, 'has 1 to 255 characters, not 0'],
  ]
  it.each(UPDATES)('an UPDATE of %s on a %s run is refused: %s', async (column, state, change, rule) => {
    const id = state === 'pending' ? pending : leased
    expect(await refused(`UPDATE workflow_run SET ${change} WHERE id = $1`, [id])).toMatchObject({
      code: '23514',
      message: `workflow_run.${column}: ${rule}`,
      column,
    })
  })

  it.each(['type', 'payload', 'priority', 'run_at', 'max_attempts', 'queue'])(
    'an UPDATE of %s to NULL is refused',
    async (column) => {
      expect(await refused(`UPDATE workflow_run SET ${column} = NULL WHERE id = $1`, [pending])).toMatchObject({
        code: '23502',
        column,
      })
    },
  )

  it.each(['epoch = 9', 'session_id = $$x$$', 'settled_at = now()', 'idempotency_key = $$k$$', 'instance_id = id'])(
    'a client that may write %s is refused, since it belongs to the engine',
    async (change) => {
      const column = change.split(' ')[0]
      expect(await refused(`UPDATE workflow_run SET ${change}`, [], stage.admin)).toMatchObject({
        message: `workflow_run.${column}: is written by the engine alone`,
        column,
      })
    },
  )

  it.each(['instance_id', 'root_id'])('only the engine adds runs to an instance: %s', async (column) => {
    const insert = `INSERT INTO workflow_run (type, payload, ${column}) VALUES ('mail.send.v1', '{}', gen_random_uuid())`
    expect(await refused(insert, [], stage.admin)).toMatchObject({
      message: `workflow_run.${column}: is written by the engine alone`,
    })
  })

  it.each(['exploded', 'redriven', 'returned', 'progress', 'instance.completed', 'run.activated', 'App.Note'])(
    'the event %s is refused',
    async (word) => {
      const error = await refused('INSERT INTO workflow_event (workflow_id, event_type) VALUES ($1, $2)', [
        pending,
        word,
      ])
      expect(error).toMatchObject({
        code: '23514',
        table: 'workflow_event',
        column: 'event_type',
        message: `workflow_event.event_type: must be created, leased, started, heartbeat, succeeded, failed, retried, cancelled or a dotted word of your own, not "${word}"`,
      })
    },
  )

  it('an event of a run that does not exist is refused', async () => {
    const insert = `INSERT INTO workflow_event (workflow_id, event_type) VALUES ($1, 'created')`
    const unknown = '00000000-0000-4000-8000-000000000000'
    expect(await refused(insert, [unknown])).toMatchObject({
      code: '23503',
      message: `workflow_event.workflow_id: there is no run ${unknown}`,
      column: 'workflow_id',
    })
    expect(await refused(insert, [null])).toMatchObject({ code: '23503' })
  })

  const SCHEDULES: readonly (readonly [string, string, string])[] = [
    ['type', 'report', 'must be dotted and end in a version such as .v1, not "report"'],
    ['schedule', '* * * *', 'must have the five fields of cron, not "* * * *"'],
    ['schedule', '0 0 9 * * 1', 'must have the five fields of cron, not "0 0 9 * * 1"'],
    ['schedule', '@daily', 'must have the five fields of cron, not "@daily"'],
    ['timezone', 'Mars/Olympus', 'must be the name of a time zone, not "Mars/Olympus"'],
    ['timezone', 'FOO+3', 'must be the name of a time zone, not "FOO+3"'],
    ['max_attempts', '0', 'must be from 1 to 1000, not 0'],
  ]
  it.each(SCHEDULES)('a schedule with a wrong %s is refused: %s', async (column, value, rule) => {
    const row = { type: 'report.daily.v1', schedule: '0 9 * * 1', timezone: 'UTC', max_attempts: '3', [column]: value }
    const error = await refused(
      'INSERT INTO workflow_schedule (type, schedule, timezone, max_attempts, next_run_at) VALUES ($1, $2, $3, $4, now())',
      [row.type, row.schedule, row.timezone, row.max_attempts],
    )
    expect(error).toMatchObject({ code: '23514', message: `workflow_schedule.${column}: ${rule}`, column })
  })
})
