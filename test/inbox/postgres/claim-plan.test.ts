/** The claim statement of the inbox does not read pending runs of other types. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { postgresUrl } from '../../services.ts'
import { type InboxStage, inboxStage } from './stage.ts'

type Plan = { readonly [key: string]: unknown; readonly Plans?: readonly Plan[] }

const every = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(every)]

const CLAIM = `SELECT id, type, payload, attempt, max_attempts FROM workflow_run
  WHERE status = 'pending' AND (type LIKE 'billing.%' OR type LIKE 'payment.%') AND run_at <= now() AND deleted_at IS NULL
  ORDER BY priority ASC, created_at ASC FOR UPDATE SKIP LOCKED LIMIT 1`

describe.skipIf(postgresUrl() === null)('the claim of the inbox', () => {
  let stage: InboxStage
  beforeAll(async () => {
    stage = await inboxStage()
    await stage.admin(`INSERT INTO workflow_run (type, payload, engine_turn)
      SELECT 'media.' || n % 50 || '.v1', '{}', true FROM generate_series(1, 20000) n`)
    await stage.admin('ANALYZE workflow_run')
  })
  afterAll(() => stage.close())

  const examined = async (): Promise<number> => {
    const { rows } = await stage.sql(`EXPLAIN (ANALYZE, FORMAT JSON) ${CLAIM}`)
    const nodes = every(rows[0]!['QUERY PLAN'][0].Plan as Plan)
    expect(nodes.map((node) => node['Index Name'])).toContain('idx_workflow_run_type_prefix')
    const count = (key: string): number => nodes.reduce((sum, node) => sum + Number(node[key] ?? 0), 0)
    return count('Rows Removed by Filter') + count('Actual Rows')
  }

  it('finds no row, or the few that match, without reading 20,000 others', async () => {
    // A bitmap of rows that have been vacuumed meanwhile may still count one.
    expect(await examined()).toBeLessThan(5)
    await stage.sql(
      `INSERT INTO workflow_run (type, payload) SELECT 'billing.invoice.v1', '{}' FROM generate_series(1, 5)`,
    )
    expect(await examined()).toBeLessThan(40)
  })
})
