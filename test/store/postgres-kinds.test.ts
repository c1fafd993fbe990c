import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FOR_READS, IN_ORDER } from '../../src/store/postgres/connection/settings.ts'
import { FRONT } from '../../src/store/postgres/read/front.ts'
import { NEXT_DUE } from '../../src/store/postgres/sweep/due.ts'
import { postgresUrl } from '../services.ts'
import { Planner } from './plans.ts'
import { type PostgresSubject, postgresSubject } from './postgres-subject.ts'

const KINDS = 2_000

/**
 * A loose index scan reads a few rows for each type and priority, whatever the planner knows: with the wrong index each
 * jump reads all pending rows.
 */
describe.skipIf(postgresUrl() === null).each([
  { known: 'never analyzed', when: 'never' },
  { known: 'analyzed while all were of one type', when: 'before' },
  { known: 'analyzed', when: 'after' },
] as const)('postgres: many pending types in a table $known', ({ when }) => {
  let subject: PostgresSubject
  let planner: Planner
  beforeAll(async () => {
    subject = await postgresSubject({ ownStatistics: true })
    const fill = (type: string): Promise<unknown> =>
      subject.foreign.query(`INSERT INTO workflow_run (type, payload, engine_turn, priority, run_at)
        SELECT ${type}, '{}', true, 100 + n % 3, now() + CASE WHEN n % 2 = 0 THEN interval '1 h' ELSE interval '-1 min' END
        FROM generate_series(1, ${KINDS}) n`)
    if (when === 'before') {
      await fill(`'kind.1'`)
      await subject.foreign.query('ANALYZE workflow_run')
      await subject.foreign.query('TRUNCATE workflow_run CASCADE')
    }
    await fill(`'kind.' || n`)
    if (when === 'after') await subject.foreign.query('ANALYZE workflow_run')
    planner = await Planner.on(subject, { ...FOR_READS, ...IN_ORDER })
  }, 60_000)
  afterAll(() => subject.close())

  it('the front of a queue', async () => {
    const { touched } = await planner.explain({ statement: FRONT, values: ['default', '20'] })
    expect(touched).toBeLessThanOrEqual(4 * KINDS)
  })

  it('the next due time', async () => {
    const { touched } = await planner.explain({ statement: NEXT_DUE, values: [null] })
    expect(touched).toBeLessThanOrEqual(6 * KINDS)
  })
})
