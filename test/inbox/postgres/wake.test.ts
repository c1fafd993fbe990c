/** Plain SQL wakes Petrel's processes: nothing here waits for a poll. */

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { petrelOn } from '../../../src/client/petrel.ts'
import { Engine } from '../../../src/engine/engine.ts'
import { until } from '../../server/serving.ts'
import { postgresUrl } from '../../services.ts'
import { type InboxStage, inboxStage } from './stage.ts'

const NEVER_MS = 3_600_000
const WAKE = '{"wake":{"queues":["default"]}}'
const OUTSIDE = '{"wake":{"outside":true}}'

describe.skipIf(postgresUrl() === null)('notifications of plain SQL', () => {
  let stage: InboxStage
  beforeEach(async () => {
    stage = await inboxStage()
  })
  afterEach(() => stage.close())

  const insert = (more = '') =>
    stage.sql(`INSERT INTO workflow_run (type, payload, idempotency_key) VALUES ('mail.send.v1', '{"to":"a"}', 'k') ${more}
      RETURNING id`)

  it('a raw INSERT with only type, payload and key reaches a Petrel worker at once', async () => {
    const engine = await Engine.open({ store: stage.store, pollMs: NEVER_MS })
    const petrel = petrelOn(engine)
    const seen: unknown[] = []
    petrel.handle('mail.send.v1', (payload) => {
      seen.push(payload)
      return 'sent'
    })
    await petrel.work({ pollMs: NEVER_MS })
    const id = (await insert()).rows[0]!['id']
    const run = await until(
      () => stage.run(id),
      (found) => found['status'] === 'succeeded',
    )
    expect(run).toMatchObject({ status: 'succeeded', result: 'sent', inbox: true })
    expect(seen).toEqual([{ to: 'a' }])
    expect((await stage.history(id)).map((event) => event.type)).toEqual(['created', 'leased', 'started', 'succeeded'])
    await petrel.close({ graceMs: 0 })
    await engine.close()
  })

  it('a run due later, and one that is rescheduled to an earlier time, are executed when they are due', async () => {
    const engine = await Engine.open({ store: stage.store, pollMs: NEVER_MS })
    const petrel = petrelOn(engine)
    petrel.handle('mail.send.v1', () => 'sent')
    await petrel.work({ pollMs: NEVER_MS })
    const insertAt = async (at: string): Promise<string> =>
      (
        await stage.sql(
          `INSERT INTO workflow_run (type, payload, run_at) VALUES ('mail.send.v1', '{}', ${at}) RETURNING id`,
        )
      ).rows[0]!['id']
    const soon = await insertAt(`now() + interval '300 milliseconds'`)
    const moved = await insertAt(`now() + interval '1 day'`)
    await stage.sql(`UPDATE workflow_run SET run_at = now() + interval '300 milliseconds' WHERE id = $1`, [moved])
    for (const id of [soon, moved]) {
      const run = await until(
        () => stage.run(id),
        (found) => found['status'] === 'succeeded',
      )
      expect(run['status']).toBe('succeeded')
    }
    await petrel.close({ graceMs: 0 })
    await engine.close()
  })

  it('a run that becomes due while the next due time is being computed is not forgotten', async () => {
    const { sweep } = stage.store
    const look = sweep.nextDueAt.bind(sweep)
    const slow = vi.spyOn(sweep, 'nextDueAt').mockImplementation(async () => {
      await new Promise((resolve) => setTimeout(resolve, 300))
      return look()
    })
    const engine = await Engine.open({ store: stage.store, pollMs: NEVER_MS })
    const petrel = petrelOn(engine)
    petrel.handle('mail.send.v1', () => 'sent')
    await petrel.work({ pollMs: NEVER_MS })
    const before = slow.mock.calls.length
    const { rows } = await stage.sql(
      `INSERT INTO workflow_run (type, payload, run_at) VALUES ('mail.send.v1', '{}', now() + interval '200 milliseconds')
       RETURNING id`,
    )
    const run = await until(
      () => stage.run(rows[0]!['id']),
      (found) => found['status'] === 'succeeded',
    )
    expect(run['status']).toBe('succeeded')
    expect(slow.mock.calls.length).toBeGreaterThan(before)
    await petrel.close({ graceMs: 0 })
    await engine.close()
  })

  it('an end written by plain SQL is settled at once', async () => {
    const engine = await Engine.open({ store: stage.store, pollMs: NEVER_MS })
    const id = (await insert()).rows[0]!['id']
    await stage.sql(`UPDATE workflow_run SET status = 'succeeded', result = '1' WHERE id = $1`, [id])
    const run = await until(
      () => stage.run(id),
      (found) => found['settled_at'] !== null,
    )
    expect(run['settled_at']).not.toBeNull()
    await engine.close()
  })

  it('an INSERT that ON CONFLICT skips wakes no process and is not recorded', async () => {
    const heard = await stage.listen()
    const conflict = 'ON CONFLICT (idempotency_key) DO NOTHING'
    const id = (await insert(conflict)).rows[0]!['id']
    await until(
      async () => heard.length,
      (count) => count > 0,
    )
    expect(heard).toEqual([WAKE])
    expect((await insert(conflict)).rows).toEqual([])
    await stage.sql(`NOTIFY workflow_wake, 'done'`)
    await until(
      async () => heard.length,
      (count) => count > 1,
    )
    expect(heard).toEqual([WAKE, 'done'])
    expect(await stage.recorded(id)).toEqual(['created'])
  })

  it('a statement over many rows is one notification', async () => {
    const heard = await stage.listen()
    await stage.sql(`INSERT INTO workflow_run (type, payload) SELECT 'mail.send.v1', '{}' FROM generate_series(1, 500)`)
    await stage.sql(`UPDATE workflow_run SET status = 'cancelled'`)
    await stage.sql(`NOTIFY workflow_wake, 'done'`)
    await until(
      async () => heard.at(-1),
      (last) => last === 'done',
    )
    expect(heard).toEqual([WAKE, OUTSIDE, 'done'])
  })

  it('writes of the engine send no notification through the triggers', async () => {
    const engine = await Engine.open({ store: stage.store, sweep: false })
    const heard = await stage.listen()
    await engine.enqueue([{ type: 'email.send', payload: null }])
    await stage.sql(`NOTIFY workflow_wake, 'done'`)
    await until(
      async () => heard.length,
      (count) => count > 1,
    )
    // its own notification, which names the sender
    expect(heard.filter((payload) => !payload.includes('"from"'))).toEqual(['done'])
    await engine.close()
  })

  it('an INSERT that is rolled back leaves nothing: no run, no event, no notification', async () => {
    const heard = await stage.listen()
    await stage.sql('BEGIN')
    await insert()
    await stage.sql('ROLLBACK')
    await stage.sql(`NOTIFY workflow_wake, 'done'`)
    await until(
      async () => heard.length,
      (count) => count > 0,
    )
    expect(heard).toEqual(['done'])
    const left = await stage.sql(
      'SELECT (SELECT count(*) FROM workflow_run)::int AS runs, (SELECT count(*) FROM workflow_event)::int AS events',
    )
    expect(left.rows).toEqual([{ runs: 0, events: 0 }])
  })

  it('a schedule that becomes due earlier moves the next check; one that has fired does not', async () => {
    const heard = await stage.listen()
    const made = await stage.sql(`INSERT INTO workflow_schedule (type, schedule, next_run_at)
      VALUES ('report.daily.v1', '0 9 * * *', now() + interval '1 day') RETURNING id`)
    const set = (change: string) =>
      stage.sql(`UPDATE workflow_schedule SET ${change} WHERE id = $1`, [made.rows[0]!['id']])
    await set(`next_run_at = now() + interval '2 days', last_run_at = now()`)
    await set(`next_run_at = now() + interval '1 hour'`)
    await set('enabled = false')
    await set('enabled = true')
    await stage.sql(`NOTIFY workflow_wake, 'done'`)
    await until(
      async () => heard.at(-1),
      (last) => last === 'done',
    )
    expect(heard).toEqual([OUTSIDE, OUTSIDE, OUTSIDE, 'done'])
  })
})
