/** Guarantees of an SQLite file, whichever client writes: ended rows, edits, deletion, the audit trail. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Drive } from '../engine/drive.ts'
import { chain, job, workflow } from '../engine/specifications/stage.ts'
import { aRun } from '../store/rows.ts'
import { put } from '../store/subject.ts'
import { ToolStage } from './sqlite-stage.ts'
import { hasSqlite3, type ToolWorker } from './sqlite-tool.ts'

const NOW = '(SELECT now FROM workflow_clock)'

describe.skipIf(!hasSqlite3())('the tables of an SQLite file enforce the rules on plain SQL', () => {
  let t: ToolStage
  let d: Drive
  let sh: ToolWorker
  beforeEach(async () => {
    t = await ToolStage.open()
    d = t.s.d
    sh = t.worker()
  })
  afterEach(async () => {
    await d.engine.sweep()
    expect(await d.doctor()).toEqual([])
    await t.close()
  })
  const change = (id: string, set: string): Promise<number> =>
    t.tool.change(`UPDATE workflow_run SET ${set} WHERE id = '${id}'`)
  const event = (id: string, type: string, data = 'NULL'): Promise<number> =>
    t.tool.change(`INSERT INTO workflow_event (workflow_id, event_type, data) VALUES ('${id}', '${type}', ${data})`)

  it('an ended row cannot be changed, settled or not; only deleted_at may be set and cleared', async () => {
    const ends = {
      succeeded: (id: string) => sh.succeed(id, '1'),
      failed: (id: string) => sh.fail({ id, attempt: 0 }, true),
      cancelled: (id: string) => sh.cancel(id),
    }
    const attacks = [
      `status = 'pending'`,
      `status = 'pending', attempt = 1, run_at = 0, last_error = 'again'`,
      `status = 'leased', leased_by = 'x', lease_until = ${NOW} + 30000`,
      `status = 'succeeded', result = '2'`,
      `status = 'failed', attempt = attempt + 1`,
      `status = 'cancelled'`,
      `lease_until = ${NOW} + 30000`,
      `result = '3'`,
      `priority = 1`,
      `payload = '[]'`,
      `deleted_at = ${NOW}, status = 'pending'`,
      `deleted_at = ${NOW}, result = '4'`,
      'updated_at = 0',
    ]
    for (const [status, end] of Object.entries(ends)) {
      const id = await t.insert()
      await sh.claimed()
      expect(await end(id)).toBe(1)
      for (const settled of [false, true]) {
        if (settled) await d.engine.sweep()
        const before = await t.run(id)
        expect(before.status).toBe(status)
        for (const attack of attacks) expect(await change(id, attack), `${status}: ${attack}`).toBe(0)
        expect(await t.run(id)).toEqual(before)
        const deleted = await change(id, `deleted_at = ${NOW}, updated_at = ${NOW}`)
        expect([deleted, (await t.run(id)).deletedAt]).toEqual([1, expect.any(Number)])
        expect([await change(id, 'deleted_at = NULL'), (await t.run(id)).deletedAt]).toEqual([1, null])
      }
      expect(await t.words(id)).toEqual(['created', 'leased', 'started', status])
    }
  })

  it('redrive is the only way back, by the engine alone', async () => {
    const id = await t.insert({ max_attempts: 1 })
    await sh.fail(await sh.claimed())
    await d.engine.sweep()
    await d.engine.redrive({ runId: id, actor: 'ann' })
    expect(await sh.claimed()).toEqual({ id, attempt: 0 })
    await sh.succeed(id)
    expect(await t.words(id)).toEqual([
      'created',
      'leased',
      'started',
      'failed',
      'redriven',
      'leased',
      'started',
      'succeeded',
    ])
  })

  it('a pending inbox run can be edited; type and payload of a step or a job cannot', async () => {
    const id = await t.insert()
    const due = (await d.store.now()) + 60_000
    const edit = `priority = 1, run_at = ${due}, payload = '{"width":9}', type = 'content.ocr.v2', max_attempts = 9, queue = 'q'`
    expect(await change(id, edit)).toBe(1)
    expect(await t.run(id)).toMatchObject({
      priority: 1,
      runAt: due,
      payload: '{"width":9}',
      type: 'content.ocr.v2',
      maxAttempts: 9,
      queue: 'q',
    })
    // A claim before its time changes nothing.
    expect(await change(id, `status = 'leased', leased_by = 'x', lease_until = ${NOW} + 30000`)).toBe(0)
    const flow = await workflow(d, chain(job('a', { n: 1 })))
    const [made] = await d.engine.enqueue([{ type: 'email.send', payload: null }])
    for (const run of [(await t.s.runAt(flow, '0')).id, made?.id as string]) {
      expect(await change(run, 'priority = 3')).toBe(1)
      for (const set of [`type = 'b.v1'`, `payload = '{}'`]) {
        await expect(change(run, set)).rejects.toThrow(
          /^workflow_run\.type, payload: can be changed only of an inbox run/,
        )
      }
    }
    await d.claim()
    expect(await d.doctor()).toEqual([])
  })

  it('a deleted run is never handed out until it is restored; a deleted step counts as cancelled', async () => {
    const id = await t.insert()
    expect(await change(id, `deleted_at = ${NOW}`)).toBe(1)
    expect([await d.claim(), await sh.claim()]).toEqual([[], null])
    expect(await change(id, `status = 'leased', leased_by = 'x', lease_until = ${NOW} + 30000`)).toBe(0)
    expect(await t.run(id)).toMatchObject({ status: 'pending' })
    expect(await change(id, 'deleted_at = NULL')).toBe(1)
    expect(await sh.claimed()).toEqual({ id, attempt: 0 })
    const flow = await workflow(d, chain(job('a.v1'), job('b.v1')))
    const step = await t.s.runAt(flow, '0')
    expect(await change(step.id, `deleted_at = ${NOW}`)).toBe(1)
    await d.engine.sweep()
    expect(await t.run(step.id)).toMatchObject({ status: 'cancelled', deletedAt: expect.any(Number) })
    expect(await d.state(flow)).not.toBe('running')
    await sh.succeed(id)
  })

  it('a failure of a run that is to end is final; when returned, it is cancelled', async () => {
    const now = await d.store.now()
    const lease = { status: 'leased', leasedBy: 'sh-1', createdAt: now, runAt: now } as const
    const [a, b] = [0, 1].map(() => aRun({ ...lease, leaseUntil: now + 30_000, cancelRequestedAt: now }))
    await put(d.store, { runs: { insert: [a as ReturnType<typeof aRun>, b as ReturnType<typeof aRun>] } })
    expect(await sh.fail({ id: a?.id as string, attempt: 0 })).toBe(1)
    expect(await sh.giveBack(b?.id as string)).toBe(1)
    expect(await t.run(a?.id as string)).toMatchObject({ status: 'failed', attempt: 1, lastError: 'no route' })
    expect(await t.run(b?.id as string)).toMatchObject({ status: 'cancelled', attempt: 0, unknown: false })
  })

  it('one statement over many rows treats each row separately', async () => {
    const [waiting, held, ours, done] = await Promise.all([1, 2, 3, 4].map((n) => t.s.d.engine.enqueue(order(n)))).then(
      (made) => made.map(([run]) => run?.id as string),
    )
    const claim = `status = 'leased', leased_by = 'x', lease_until = ${NOW} + 30000`
    await change(held as string, claim)
    await change(done as string, `status = 'succeeded', result = '1'`)
    await d.session.claim(1)
    const cancelled = await t.tool.change(`UPDATE workflow_run SET status = 'cancelled'`)
    expect(cancelled).toBe(3)
    await d.engine.sweep()
    const rows = await Promise.all([waiting, held, ours, done].map((id) => t.run(id as string)))
    expect(rows.map((run) => run.status)).toEqual(['cancelled', 'cancelled', 'cancelled', 'succeeded'])
  })
  const order = (n: number) => [{ type: `n${n}.v1`, payload: null, inbox: true, priority: n === 3 ? 1 : 100 }]

  it('work that has not ended cannot be removed; ended work can, and its key stays used', async () => {
    const id = await t.insert({ idempotency_key: 'k' })
    const remove = `DELETE FROM workflow_run WHERE id = '${id}'`
    await expect(t.tool.ask(remove)).rejects.toThrow(
      /^workflow_run\.status: a run that has not ended cannot be removed/,
    )
    await sh.claimed()
    await expect(t.tool.ask('DELETE FROM workflow_run')).rejects.toThrow(/has not ended/)
    await sh.succeed(id)
    await d.engine.sweep()
    expect(await t.tool.change(remove)).toBe(1)
    const again = `INSERT INTO workflow_run (type, payload, idempotency_key) VALUES ('a.v1', '{}', 'k')`
    expect(await t.tool.change(again)).toBe(0)
  })

  it('an event without a time gets the store’s; a given time is kept', async () => {
    const id = await t.insert()
    await d.store.moveClock(3_600_000)
    await event(id, 'app.note')
    await t.tool.change(
      `INSERT INTO workflow_event (workflow_id, event_type, created_at) VALUES ('${id}', 'app.old', 7)`,
    )
    const ahead = `(created_at - unixepoch() * 1000) / 3600000`
    const rows = await t.tool.ask(
      `SELECT event_type, ${ahead} AS hours, created_at = 7 AS given FROM workflow_event WHERE event_type LIKE 'app.%' ORDER BY id`,
    )
    expect(rows).toMatchObject([{ event_type: 'app.note', hours: 1, given: 0 }, { given: 1 }])
  })

  it('events: a client’s copies are dropped, its own types are kept, past events cannot be changed', async () => {
    const id = await t.insert()
    await event(id, 'created')
    await sh.claimed()
    for (const word of ['leased', 'started']) expect(await event(id, word, `'{"worker_id":"sh-1"}'`)).toBe(0)
    await sh.heartbeat(id)
    expect(await event(id, 'heartbeat', `'{"extended_by_seconds":30}'`)).toBe(0)
    expect(await event(id, 'app.note', `'{"leased_at":"2026-01-01T00:00:00Z","started_at":"soon"}'`)).toBe(1)
    expect(await event(id, 'app.text', `'"just text"'`)).toBe(1)
    await sh.succeed(id)
    for (const word of ['succeeded', 'failed', 'retried', 'cancelled', 'heartbeat'])
      expect(await event(id, word)).toBe(0)
    await d.engine.sweep()
    expect(await t.recorded(id)).toEqual([
      'created',
      'leased {"worker_id":"sh-1","attempt":0}',
      'started {"worker_id":"sh-1"}',
      'heartbeat {"extended_by_seconds":30}',
      'app.note {"leased_at":"2026-01-01T00:00:00Z","started_at":"soon"}',
      'app.text "just text"',
      'succeeded',
    ])
    await expect(t.tool.ask(`UPDATE workflow_event SET actor = 'me'`)).rejects.toThrow(/cannot be changed/)
  })

  it('a heartbeat that moved no lease is kept', async () => {
    const id = await t.insert()
    await sh.claimed()
    expect(await event(id, 'heartbeat')).toBe(1)
    expect(await t.words(id)).toEqual(['created', 'leased', 'started', 'heartbeat'])
    await sh.succeed(id)
  })

  it('jobs of other notations keep names without a version, and are not inbox runs', async () => {
    const [made] = await d.engine.enqueue([{ type: 'email.send', payload: { to: 'ann' } }])
    expect(await t.run(made?.id as string)).toMatchObject({ type: 'email.send', inbox: false })
    await sh.claimed('email.%')
    expect(await sh.succeed(made?.id as string)).toBe(1)
    await d.engine.sweep()
    expect(await t.words(made?.id as string)).toEqual(['created', 'leased', 'started', 'succeeded'])
  })
})
