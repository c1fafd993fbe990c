import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FOR_READS, IN_ORDER } from '../../src/store/postgres/connection/settings.ts'
import { type Statement, statement } from '../../src/store/postgres/connection/statement.ts'
import * as due from '../../src/store/postgres/sweep/due.ts'
import { ROOM_HELD } from '../../src/store/postgres/sweep/recount.ts'
import { postgresUrl } from '../services.ts'
import { Planner } from './plans.ts'
import { type PostgresSubject, postgresSubject } from './postgres-subject.ts'

const DUE = 5
const MANY = 50_000

/** The sweeper's queries of every second must not read rows that are not due, nor ended ones. */
describe.skipIf(postgresUrl() === null).each([
  { known: 'never analyzed', analyze: null },
  { known: 'analyzed when every run had ended', analyze: 'before' },
  { known: 'analyzed', analyze: 'after' },
] as const)('postgres: the cost of a sweep on tables $known', ({ analyze }) => {
  let subject: PostgresSubject
  let planner: Planner

  beforeAll(async () => {
    subject = await postgresSubject({ ownStatistics: true })
    const { foreign } = subject
    const run = (count: number, columns: string, values: string): Promise<unknown> =>
      foreign.query(`INSERT INTO workflow_run (type, payload, engine_turn, ${columns})
        SELECT 'a', '{}', true, ${values} FROM generate_series(1, ${count}) n`)
    const [past, future] = ["now() - interval '1 min'", "now() + interval '1 day'"]
    await run(
      MANY,
      'status, timeout_at, expires_at, settled_at, instance_id, node',
      `'succeeded', ${past}, ${past}, now(), gen_random_uuid(), 'a'`,
    )
    if (analyze === 'before') await foreign.query('ANALYZE workflow_run; ANALYZE workflow_instance')
    await run(MANY, 'expires_at', future)
    await run(500, 'status, session_id, leased_at, expires_at', `'leased', gen_random_uuid(), now(), ${past}`)
    await run(DUE, 'status, leased_by, lease_until', `'leased', 'go-1', ${past}`)
    await run(DUE, 'status, session_id, timeout_at', `'leased', gen_random_uuid(), ${past}`)
    await run(DUE, 'expires_at', past)
    const instance = (count: number, columns: string, values: string): Promise<unknown> =>
      foreign.query(`INSERT INTO workflow_instance (id, root_id, depth, net_hash, name, dialect, state, phase, created_at, ${columns})
        SELECT x.id, x.id, 1, 'h', 'n', 'net', 'running', 'forward', now(), ${values}
        FROM (SELECT gen_random_uuid() AS id FROM generate_series(1, ${count})) x`)
    await instance(MANY, 'deadline_at', future)
    await instance(MANY, 'deadline_at, ended_at', `${past}, now()`)
    await instance(DUE, 'deadline_at', past)
    await instance(DUE, 'more', 'true')
    if (analyze === 'after') await foreign.query('ANALYZE workflow_run; ANALYZE workflow_instance')
    planner = await Planner.on(subject, FOR_READS)
  }, 60_000)
  afterAll(() => subject.close())

  const cost = async (asked: Statement, values: readonly (string | null)[], as = planner) => {
    const { plan, touched } = await as.explain({ statement: asked, values })
    const indexes = plan.flatMap((node) => node['Index Name'] ?? [])
    return { touched, indexes }
  }

  it.each([
    ['leases that ran out', due.EXPIRED_LEASES, 'workflow_run_due', 5 * DUE],
    ['runs past their timeout or expiry', due.OVERDUE_RUNS, 'workflow_run_due', 5 * DUE],
    ['instances past their deadline', due.OVERDUE_INSTANCES, 'workflow_instance_due', 3 * DUE],
    ['cascades cut off', due.UNFINISHED_CASCADES, 'workflow_instance_due', 3 * DUE],
    ['runs begun outside', due.BEGUN_OUTSIDE, 'workflow_run_leased', 5 * DUE],
    ['runs of lost sessions', due.LOST_RUNS, 'workflow_run_leased', 600],
  ])('%s', async (_, asked, index, most) => {
    const { touched, indexes } = await cost(asked, ['100'])
    expect(indexes).toContain(index)
    expect(touched).toBeLessThanOrEqual(most)
  })

  it.each([
    ['', null],
    [' after this moment', String(Date.now())],
  ])('the next due time%s', async (_, after) => {
    const inOrder = await Planner.on(subject, { ...FOR_READS, ...IN_ORDER })
    const { touched, indexes } = await cost(due.NEXT_DUE, [after], inOrder)
    expect(indexes).toEqual(expect.arrayContaining(['workflow_run_due', 'workflow_instance_due']))
    expect(touched).toBeLessThanOrEqual(20)
  })

  it('the holders of places under a limit', async () => {
    const { touched, indexes } = await cost(statement(`SELECT count(*) FROM ${ROOM_HELD} held`), [])
    expect(indexes).toContain('workflow_run_leased')
    expect(touched).toBeLessThanOrEqual(600)
  })
})
