/** Schedules in the table that foreign clients use: whichever client wrote the row, each due time creates one run. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Logger } from '../../src/kernel/logger.ts'
import type { RunRow } from '../../src/model/rows.ts'
import type { InboxScheduleRow } from '../../src/model/schedules/schedules.ts'
import type { Drive } from '../engine/drive.ts'
import { type Foreign, SHARED } from './foreign.ts'
import { eventually, NEVER_MS, Stage } from './stage.ts'

const HOUR = 3_600_000
const at = (text: string): number => Date.parse(text)

describe.each(SHARED)('inbox schedules on $name', (place) => {
  let s: Stage
  let d: Drive
  let sql: Foreign['sql']
  const warnings: string[] = []
  const logger: Logger = { debug() {}, info() {}, warn: (_, message) => warnings.push(message), error() {} }
  beforeEach(async () => {
    warnings.length = 0
    s = await Stage.open(place, { logger })
    d = s.d
    const foreign = await s.foreign()
    sql = (text) => foreign.sql(text)
    await clock('2026-06-01T00:00:30Z')
  })
  afterEach(() => s.close())

  const clock = async (text: string): Promise<void> => {
    await d.store.moveClock(at(text) - Date.now())
    await d.engine.sweep()
  }
  const runs = async (type = 'report.daily.v1'): Promise<readonly RunRow[]> => {
    const page = await d.store.read.listInbox({
      type: { exact: type },
      status: null,
      idempotencyKey: null,
      queue: null,
      deleted: null,
      tenant: null,
      limit: 1000,
      before: null,
    })
    return page.runs
  }
  const add = (rest: object = {}): Promise<InboxScheduleRow> =>
    d.engine.inboxSchedules.add({ type: 'report.daily.v1', schedule: '0 * * * *', ...rest })
  const row = async (id: string): Promise<InboxScheduleRow> =>
    (await d.engine.inboxSchedules.get(id)) as InboxScheduleRow
  /** A time as this store writes it in SQL. */
  const time = (text: string): string => (place.name === 'sqlite' ? String(at(text)) : `'${text}'`)
  /** Written as a foreign client would, bypassing the checks of the table. */
  const insert = async (columns: Record<string, string>): Promise<string> => {
    const given = { type: `'report.daily.v1'`, schedule: `'0 * * * *'`, ...columns }
    const names = Object.keys(given).join(', ')
    const { rows } = await sql(
      `INSERT INTO workflow_schedule (${names}) VALUES (${Object.values(given).join(', ')}) RETURNING id`,
    )
    return rows[0]?.['id'] as string
  }

  it('creates a run in the inbox when it is due', async () => {
    const made = await add({ payload: { kind: 'daily' }, priority: 7, maxAttempts: 5 })
    expect(made).toMatchObject({
      enabled: true,
      timezone: 'UTC',
      nextRunAt: at('2026-06-01T01:00:00Z'),
      lastRunAt: null,
    })
    await clock('2026-06-01T00:59:50Z')
    expect(await runs()).toEqual([])
    await clock('2026-06-01T01:00:01Z')
    const [run, ...more] = await runs()
    expect(more).toEqual([])
    expect(run).toMatchObject({
      idempotencyKey: `schedule:${made.id}:${at('2026-06-01T01:00:00Z') / 1000}`,
      priority: 7,
      maxAttempts: 5,
      queue: 'default',
      inbox: true,
      status: 'pending',
    })
    expect(JSON.parse(run?.payload as string)).toEqual({ kind: 'daily' })
    expect(await s.history(run?.id as string)).toEqual(['created'])
    const moved = await row(made.id)
    expect(moved.nextRunAt).toBe(at('2026-06-01T02:00:00Z'))
    expect(moved.lastRunAt).toBeGreaterThanOrEqual(at('2026-06-01T01:00:01Z'))
    expect((await d.claimOne()).type).toBe('report.daily.v1')
  })

  it('one run makes up for the time in which no process checked', async () => {
    const { id } = await add()
    await clock('2026-06-01T10:20:00Z')
    expect(await runs()).toHaveLength(1)
    expect((await row(id)).nextRunAt).toBe(at('2026-06-01T11:00:00Z'))
    await clock('2026-06-01T10:40:00Z')
    expect(await runs()).toHaveLength(1)
  })

  it('follows its time zone through daylight saving', async () => {
    await clock('2026-03-28T12:00:00Z')
    const berlin = { timezone: 'Europe/Berlin' }
    const morning = await add({ ...berlin, schedule: '30 9 * * *' })
    const skipped = await add({ ...berlin, schedule: '30 2 * * *' })
    expect(morning.nextRunAt).toBe(at('2026-03-29T07:30:00Z'))
    // The clocks go from two to three on the 29th: half past two does not exist on that day.
    expect(skipped.nextRunAt).toBe(at('2026-03-30T00:30:00Z'))
    await clock('2026-03-29T07:30:01Z')
    expect((await row(morning.id)).nextRunAt).toBe(at('2026-03-30T07:30:00Z'))
    await clock('2026-10-24T12:00:00Z')
    const { id } = await add({ ...berlin, schedule: '30 2 * * *', type: 'night.v1' })
    // Half past two comes twice on the 25th.
    await clock('2026-10-25T00:30:01Z')
    await clock('2026-10-25T01:30:01Z')
    expect(await runs('night.v1')).toHaveLength(1)
    expect((await row(id)).nextRunAt).toBe(at('2026-10-26T01:30:00Z'))
  })

  it('a process that dies between the run and the next time leaves one run, whichever process comes next', async () => {
    // By plain SQL: no other engine here is notified, so only the dying one checks.
    const id = await insert({ next_run_at: time('2026-06-01T01:00:00Z') })
    const dying = await s.second({
      sweep: false,
      probe: (point) => {
        if (point === 'schedule-fired') throw new Error('killed')
      },
    })
    await d.store.moveClock(at('2026-06-01T01:00:01Z') - Date.now())
    await dying.sweep()
    expect(dying.faults.standing().get('sweep_schedule')).toBe(1)
    expect([await runs(), (await row(id)).nextRunAt]).toMatchObject([[{ inbox: true }], at('2026-06-01T01:00:00Z')])
    await d.engine.sweep()
    expect(await runs()).toHaveLength(1)
    expect((await row(id)).nextRunAt).toBe(at('2026-06-01T02:00:00Z'))
  })

  it('the run is created once even if retention has removed the first run of its key', async () => {
    const { id } = await add()
    await clock('2026-06-01T01:00:01Z')
    await d.succeed(await d.claimOne())
    await d.store.sweep.prune({ endedBefore: at('2026-06-02T00:00:00Z'), eventsBefore: 0, limit: 1000 })
    await sql(`UPDATE workflow_schedule SET next_run_at = ${time('2026-06-01T01:00:00Z')} WHERE id = '${id}'`)
    await d.engine.sweep()
    expect(await runs()).toEqual([])
    expect((await row(id)).nextRunAt).toBe(at('2026-06-01T02:00:00Z'))
  })

  it('several engines and a foreign ticker on the same rows create one run for each due time', async () => {
    const ids = await Promise.all([0, 1, 2].map(() => add()))
    const others = await Promise.all([s.second({ sweep: false }), s.second({ sweep: false })])
    const hours = 8
    for (let hour = 1; hour <= hours; hour++) {
      const due = `2026-06-01T0${hour}:00:00Z`
      await d.store.moveClock(at(due) + 1000 - Date.now())
      await Promise.all([d.engine.sweep(), ticker(due), ...others.map((engine) => engine.sweep())])
      await d.engine.sweep()
    }
    const keys = (await runs()).map((run) => run.idempotencyKey).sort()
    expect(keys).toHaveLength(ids.length * hours)
    expect(new Set(keys).size).toBe(keys.length)
    for (const { id } of ids) expect((await row(id)).nextRunAt).toBe(at('2026-06-01T09:00:00Z'))
  })

  /**
   * One tick of a client that fires schedules itself: lock the due ones, insert runs, set the next time, in its own
   * transaction.
   */
  async function ticker(due: string): Promise<void> {
    const lock = place.name === 'sqlite' ? '' : 'FOR UPDATE SKIP LOCKED'
    const foreign = await s.foreign()
    await foreign.sql(place.name === 'sqlite' ? 'BEGIN IMMEDIATE' : 'BEGIN')
    const { rows } = await foreign.sql(
      `SELECT id FROM workflow_schedule WHERE next_run_at <= NOW AND enabled AND deleted_at IS NULL LIMIT 10 ${lock}`,
    )
    for (const { id } of rows) {
      await foreign.sql(
        `INSERT INTO workflow_run (type, payload, idempotency_key)
         VALUES ('report.daily.v1', '{}', 'schedule:${id}:${at(due) / 1000}') ON CONFLICT (idempotency_key) DO NOTHING`,
      )
      const next = time(new Date(at(due) + HOUR).toISOString())
      await foreign.sql(`UPDATE workflow_schedule SET next_run_at = ${next}, last_run_at = NOW WHERE id = '${id}'`)
    }
    await foreign.sql('COMMIT')
  }

  it('paused or removed, it does not fire; resumed, it continues from now', async () => {
    const { inboxSchedules } = d.engine
    const [paused, removed, byHand, gone] = await Promise.all([add(), add(), add(), add()])
    expect(await inboxSchedules.pause(paused.id)).toMatchObject({ enabled: false, disabledReason: null })
    expect([await inboxSchedules.remove(removed.id), await inboxSchedules.remove(removed.id)]).toEqual([true, false])
    await sql(`UPDATE workflow_schedule SET enabled = false WHERE id = '${byHand.id}'`)
    await sql(`UPDATE workflow_schedule SET deleted_at = NOW WHERE id = '${gone.id}'`)
    await clock('2026-06-01T05:30:00Z')
    expect(await runs()).toEqual([])
    expect((await inboxSchedules.list()).map((x) => x.id).sort()).toEqual([paused.id, byHand.id].sort())
    expect(await inboxSchedules.get(removed.id)).toBeNull()
    expect(await inboxSchedules.resume(paused.id)).toMatchObject({
      enabled: true,
      nextRunAt: at('2026-06-01T06:00:00Z'),
    })
    await d.engine.sweep()
    expect(await runs()).toEqual([])
    await clock('2026-06-01T06:00:01Z')
    expect(await runs()).toHaveLength(1)
    for (const act of [inboxSchedules.pause, inboxSchedules.resume]) {
      for (const id of [removed.id, 'nonsense']) {
        await expect(act.call(inboxSchedules, id)).rejects.toMatchObject({ code: 'not_found' })
      }
    }
  })

  it('a row by plain SQL fires as well, with its payload unchanged', async () => {
    const payload = '{"order": 12345678901234567890, "nested": {"a": [1, 2]}}'
    await insert({ payload: `'${payload}'`, next_run_at: time('2026-06-01T00:30:00Z') })
    await clock('2026-06-01T00:30:01Z')
    const [run] = await runs()
    expect(run).toMatchObject({ inbox: true, priority: 100, maxAttempts: 3 })
    expect(run?.payload).toContain('12345678901234567890')
    expect((await d.engine.inboxSchedules.list())[0]?.nextRunAt).toBe(at('2026-06-01T01:00:00Z'))
  })

  it('a row by plain SQL that is due soon fires then, however rarely the engine polls', async () => {
    await d.store.moveClock(0)
    await s.second({ pollMs: NEVER_MS })
    const soon = place.name === 'sqlite' ? 'NOW + 300' : `NOW + interval '300 milliseconds'`
    await insert({ next_run_at: soon })
    await eventually(async () => (await runs()).length === 1, 'its run is there')
  })

  it('an invalid cron expression is disabled with the reason, and the other schedules fire', async () => {
    const broken = await insert({ schedule: `'99 9 * * *'`, next_run_at: time('2026-06-01T00:30:00Z') })
    await add({ schedule: '30 * * * *' })
    await clock('2026-06-01T00:30:01Z')
    expect(await runs()).toHaveLength(1)
    const disabled = await row(broken)
    expect(disabled).toMatchObject({ enabled: false, lastRunAt: null })
    expect(disabled.disabledReason).toMatch(/^schedule: '99 9 \* \* \*' is not a cron expression: ./)
    expect(warnings).toEqual([`schedule ${broken} of report.daily.v1 is disabled: ${disabled.disabledReason}`])
    expect(await d.doctor()).toEqual([
      {
        check: 'schedule_disabled',
        subject: broken,
        finding: `of report.daily.v1 was disabled by the engine: ${disabled.disabledReason}; correct it and resume it`,
      },
    ])
    const recorded = (await d.store.read.feed({ afterId: 0, limit: 100 })).filter((e) => e.type === 'schedule.disabled')
    expect(recorded.map((e) => JSON.parse(e.data as string))).toEqual([
      { schedule: broken, type: 'report.daily.v1', reason: disabled.disabledReason },
    ])
    await expect(d.engine.inboxSchedules.resume(broken)).rejects.toMatchObject({ code: 'invalid_request' })
    await sql(`UPDATE workflow_schedule SET schedule = '9 9 * * *' WHERE id = '${broken}'`)
    expect(await d.engine.inboxSchedules.resume(broken)).toMatchObject({
      enabled: true,
      disabledReason: null,
      nextRunAt: at('2026-06-01T09:09:00Z'),
    })
    expect(await d.doctor()).toEqual([])
  })

  it('an unknown time zone, or a type without version, disables a row that its table accepted', async () => {
    const past = time('2026-06-01T00:30:00Z')
    // Rows written before the table had its checks may violate them.
    await sql(
      place.name === 'sqlite'
        ? 'DROP TRIGGER workflow_schedule_insert_check'
        : 'ALTER TABLE workflow_schedule DISABLE TRIGGER USER',
    )
    const zone = await insert({ timezone: `'Mars/Olympus'`, next_run_at: past })
    const type = await insert({ type: `'report'`, next_run_at: past })
    await clock('2026-06-01T00:30:01Z')
    expect((await row(zone)).disabledReason).toBe('timezone: must be the name of a time zone, not "Mars/Olympus"')
    expect((await row(type)).disabledReason).toBe('type: must be dotted and end in a version such as .v1, not "report"')
    expect([await runs(), await runs('report')]).toEqual([[], []])
  })

  it('a schedule without a later time fires for the last time', async () => {
    const id = await insert({ schedule: `'0 0 30 2 *'`, next_run_at: time('2026-06-01T00:30:00Z') })
    await clock('2026-06-01T00:30:01Z')
    expect(await runs()).toHaveLength(1)
    expect(await row(id)).toMatchObject({ enabled: false, disabledReason: 'schedule: names no later time' })
  })

  it('refuses a schedule that would never fire, naming the field and the reason', async () => {
    const cases: readonly (readonly [object, string])[] = [
      [{ type: 'report.daily' }, 'type'],
      [{ type: `${'a'.repeat(255)}.v1` }, 'type'],
      [{ schedule: 'every day' }, 'schedule'],
      [{ schedule: '0 0 9 * * 1' }, 'schedule'],
      [{ schedule: '@daily' }, 'schedule'],
      [{ schedule: '61 * * * *' }, 'schedule'],
      [{ schedule: '0 0 30 2 *' }, 'schedule'],
      [{ schedule: '' }, 'schedule'],
      [{ timezone: 'Europe/Atlantis' }, 'timezone'],
      [{ timezone: '' }, 'timezone'],
      [{ priority: 1.5 }, 'priority'],
      [{ priority: 2 ** 31 }, 'priority'],
      [{ maxAttempts: 0 }, 'maxAttempts'],
      [{ maxAttempts: 1001 }, 'maxAttempts'],
    ]
    for (const [given, path] of cases) {
      await expect(add(given), JSON.stringify(given)).rejects.toMatchObject({
        code: 'invalid_request',
        message: expect.stringMatching(new RegExp(`^${path}: `)),
        details: { path },
      })
    }
    await expect(add({ payload: 'x'.repeat(2 ** 21) })).rejects.toMatchObject({ code: 'payload_too_large' })
    expect(await d.engine.inboxSchedules.list()).toEqual([])
  })

  it('the table itself refuses rows that could never fire, naming the column', async () => {
    const due = time('2026-06-01T00:30:00Z')
    const cases: readonly (readonly [Record<string, string>, RegExp])[] = [
      [{ type: `'report.daily'` }, /workflow_schedule\.type: must be dotted and end in a version/],
      [{ schedule: `'0 9 * *'` }, /workflow_schedule\.schedule: must have the five fields of cron/],
      [{ schedule: `'@daily'` }, /workflow_schedule\.schedule: must have the five fields of cron/],
      [{ timezone: `''` }, /workflow_schedule\.timezone: must be the name of a time zone/],
      [{ max_attempts: '0' }, /workflow_schedule\.max_attempts: must be from 1 to 1000/],
    ]
    for (const [given, message] of cases) {
      await expect(insert({ next_run_at: due, ...given }), JSON.stringify(given)).rejects.toThrow(message)
    }
    const id = await insert({ next_run_at: due })
    await expect(sql(`UPDATE workflow_schedule SET schedule = 'soon' WHERE id = '${id}'`)).rejects.toThrow(
      /five fields/,
    )
  })
})
