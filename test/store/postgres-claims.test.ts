import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { typeMatcher } from '../../src/kernel/type-filters.ts'
import type { Candidates } from '../../src/model/transaction.ts'
import { FOR_WORK } from '../../src/store/postgres/connection/settings.ts'
import type { Call } from '../../src/store/postgres/connection/statement.ts'
import { candidatesCall, urgencyCall } from '../../src/store/postgres/load/claimable.ts'
import { postgresUrl } from '../services.ts'
import { type Explained, Planner } from './plans.ts'
import { type PostgresSubject, postgresSubject } from './postgres-subject.ts'
import { aRun } from './rows.ts'
import { load, put } from './subject.ts'

/** The cost must be the number of distinct pending (queue, type, priority), not the number of rows. */
describe.skipIf(postgresUrl() === null).each([
  { known: 'never analyzed', analyze: false },
  { known: 'analyzed while it was small', analyze: true },
])('postgres: the cost of a claim on a table $known', ({ analyze }) => {
  let subject: PostgresSubject
  /** Plans as a settle's connection has them: made while the tables are empty, and kept. */
  let planner: Planner
  const explain = (call: Call): Promise<Explained> => planner.explain(call)
  beforeAll(async () => {
    subject = await postgresSubject({ ownStatistics: true })
    planner = await Planner.on(subject, FOR_WORK)
    for (const call of calls()) await explain(call[1])
  })
  afterAll(() => subject.close())

  const FILTERS: Readonly<Record<string, Candidates>> = {
    'exact types of a queue': {
      queues: ['default'],
      types: ['mail.send', 'mail.sort'],
      tenant: null,
      runtime: null,
      limit: 10,
      skipQueues: [],
      skipLimitKeys: [],
    },
    'a prefix of a queue': {
      queues: ['default'],
      types: ['mail.%'],
      tenant: null,
      runtime: null,
      limit: 10,
      skipQueues: [],
      skipLimitKeys: [],
    },
    'a prefix of any queue': {
      queues: null,
      types: ['mail.%'],
      tenant: null,
      runtime: null,
      limit: 10,
      skipQueues: [],
      skipLimitKeys: [],
    },
  }

  /** The claim of prefixes that LIKE would read otherwise, or that end within a script. */
  const UNUSUAL = ['mail\\_%', '100\\%.%', 'back\\\\%', '\u{1F426}.%', 'å%', '%']

  function calls(): (readonly [string, Call])[] {
    return Object.entries(FILTERS).flatMap(([name, filter]) => [
      [`claim of ${name}`, candidatesCall(filter, () => {})] as const,
      [`urgency of ${name}`, urgencyCall(filter, () => {})] as const,
    ])
  }

  it('does not grow with 200,000 future rows and 200,000 of other types', async () => {
    const { store, foreign } = subject
    const now = await store.now()
    const due = Array.from({ length: 200 }, (_, n) =>
      aRun({ type: n % 2 === 0 ? 'mail.send' : 'mail.sort', runAt: now - 10_000 + n }),
    )
    await put(store, { runs: { insert: due } })
    const measure = async () => {
      const costs: Record<string, { pages: number; touched: number }> = {}
      for (const [name, call] of calls()) {
        await explain(call)
        const { pages, touched, plan } = await explain(call)
        costs[name] = { pages, touched }
        const scans = plan.filter((node) => node['Relation Name'] === 'workflow_run')
        expect(
          scans.every((node) => /^Index/.test(node['Node Type'])),
          name,
        ).toBe(true)
        expect(
          scans.some((node) => node['Index Name'] === 'workflow_run_line'),
          name,
        ).toBe(true)
      }
      return costs
    }
    const before = await measure()
    if (analyze) await foreign.query('ANALYZE workflow_run')
    await foreign.query(`INSERT INTO workflow_run (type, payload, run_at, priority, engine_turn)
      SELECT 'mail.send', '{}', now() + interval '1 day' + n * interval '1 ms', 100, true FROM generate_series(1, 200000) n`)
    await foreign.query(`INSERT INTO workflow_run (type, payload, run_at, engine_turn)
      SELECT 'other.type' || n % 3, '{}', now() - interval '1 day', true FROM generate_series(1, 200000) n`)
    const after = await measure()
    for (const [name, cost] of Object.entries(before)) {
      // a deeper index costs one page more per probe
      expect(after[name]!.pages, name).toBeLessThan(cost.pages * 2 + 50)
      expect(after[name]!.touched, name).toBeLessThan(cost.touched * 1.5 + 20)
    }
    const loaded = await load(store, { candidates: FILTERS['a prefix of any queue']! })
    expect(loaded.candidates.map((run) => run.id)).toEqual(due.slice(0, 10).map((run) => run.id))
  }, 120_000)

  it('prefixes with special characters and of other scripts are ranges of the same index', async () => {
    const { store } = subject
    const types = [
      'mail_x',
      'mail-x',
      '100%.a',
      '100x.a',
      'back\\a',
      'backa',
      '\u{1F426}.a',
      '\u{1F427}.a',
      'å.a',
      'a\u030a.a',
    ]
    const now = await store.now()
    await put(store, { runs: { insert: types.map((type) => aRun({ type, priority: 1, runAt: now - 1_000 })) } })
    for (const text of UNUSUAL) {
      const filter: Candidates = { ...FILTERS['a prefix of a queue']!, types: [text] }
      const call = candidatesCall(filter, () => {})
      await explain(call)
      const { plan, touched } = await explain(call)
      const scans = plan.filter((node) => node['Relation Name'] === 'workflow_run')
      expect(
        scans.every((node) => /^Index/.test(node['Node Type'])),
        text,
      ).toBe(true)
      expect(
        scans.some((node) => node['Index Name'] === 'workflow_run_line'),
        text,
      ).toBe(true)
      expect(touched, text).toBeLessThan(1_000)
      const loaded = await load(store, { candidates: filter })
      const found = loaded.candidates.map((run) => run.type).filter((type) => types.includes(type))
      expect(found.sort(), text).toEqual(types.filter(typeMatcher([text])).sort())
      // LIKE agrees, if an underscore is escaped.
      const liked = await subject.foreign.query('SELECT t FROM unnest($1::text[]) t WHERE t LIKE $2', [types, text])
      expect(liked.rows.map((row) => row.t).sort(), text).toEqual(found)
    }
  })

  it('two claimers share the work instead of waiting for each other', async () => {
    const { store, foreign } = subject
    await foreign.query('BEGIN')
    const held =
      await foreign.query(`SELECT id FROM workflow_run WHERE type IN ('mail.send', 'mail.sort') AND status = 'pending'
      AND run_at <= now() ORDER BY priority, run_at, id LIMIT 15 FOR UPDATE`)
    const loaded = await load(store, { candidates: FILTERS['a prefix of a queue']! })
    await foreign.query('ROLLBACK')
    expect(loaded.candidates).toHaveLength(10)
    const taken = new Set(held.rows.map((row) => row.id))
    expect(loaded.candidates.some((run) => taken.has(run.id))).toBe(false)
  })
})
