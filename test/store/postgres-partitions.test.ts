import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { postgresUrl } from '../services.ts'
import { type PostgresSubject, postgresSubject } from './postgres-subject.ts'
import { anEvent, aRun } from './rows.ts'
import { put } from './subject.ts'

const WEEK = 7 * 24 * 3_600_000

describe.skipIf(postgresUrl() === null)('postgres: event partitions', () => {
  let subject: PostgresSubject
  beforeEach(async () => {
    subject = await postgresSubject()
  })
  afterEach(() => subject.close())

  const partitions = async (): Promise<string[]> => {
    const found = await subject.foreign.query(
      `SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
       WHERE i.inhparent = 'workflow.workflow_event'::regclass ORDER BY 1`,
    )
    return found.rows.map((row) => row.relname)
  }
  const caught = async () => (await subject.foreign.query('SELECT FROM workflow_event_default')).rowCount
  const prune = (eventsBefore: number) => subject.store.sweep.prune({ endedBefore: 0, eventsBefore, limit: 100 })

  it('are created five weeks ahead, once', async () => {
    expect(await partitions()).toHaveLength(6)
    await prune(0)
    expect(await partitions()).toHaveLength(6)
  })

  it('follow the clock, and take over the rows of the default partition', async () => {
    const { store } = subject
    await store.moveClock(10 * WEEK)
    const now = await store.now()
    const run = aRun()
    await put(store, { runs: { insert: [run] }, events: [anEvent({ type: 'created', runId: run.id, at: now })] })
    expect(await caught()).toBe(1)
    await prune(0)
    expect(await caught()).toBe(0)
    expect(await partitions()).toHaveLength(11)
    expect((await store.read.runHistory(run.id)).map((event) => event.type)).toEqual(['created'])
    await put(store, { events: [anEvent({ type: 'cron.fired', at: now + WEEK })] })
    expect(await caught()).toBe(0)
  })

  it('are dropped when all their time is before the cut', async () => {
    const { store, foreign } = subject
    const now = await store.now()
    await put(store, {
      events: [
        anEvent({ type: 'cron.fired', at: now - 30 * WEEK }),
        anEvent({ type: 'cron.fired', at: now }),
        anEvent({ type: 'cron.fired', at: now + 2 * WEEK }),
      ],
    })
    await prune(now + WEEK)
    const left = await foreign.query('SELECT (extract(epoch FROM created_at) * 1000)::float8 AS at FROM workflow_event')
    expect(left.rows.map((row) => row.at)).toEqual([now + 2 * WEEK])
  })

  it('do not delay writers: a busy table is left for the next prune', async () => {
    const { store, foreign } = subject
    await store.moveClock(10 * WEEK)
    await foreign.query('BEGIN')
    await foreign.query(`INSERT INTO workflow_event (event_type, engine) VALUES ('cron.fired', true)`)
    const before = await partitions()
    expect(await prune((await store.now()) - 2 * WEEK)).toBe(0)
    expect(await partitions()).toEqual(before)
    await put(store, { events: [anEvent({ type: 'cron.fired' })] })
    await foreign.query('COMMIT')
    await prune((await store.now()) - 2 * WEEK)
    expect(await partitions()).not.toEqual(before)
  })
})
