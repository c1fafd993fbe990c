/** Runs without a workflow, foreign workers, and the tables they use. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { INBOX_RETRY } from '../../../src/engine/fold/run/retry-policy.ts'
import type { RunRow } from '../../../src/model/rows.ts'
import { backoffMs } from '../../../src/net/retry/retry.ts'
import { postgresUrl } from '../../services.ts'
import { type PostgresSubject, postgresSubject } from '../../store/postgres-subject.ts'
import { aRun, T0 } from '../../store/rows.ts'
import { put, setClock } from '../../store/subject.ts'
import { type Drive, net, node, ONCE, PLACES } from '../drive.ts'
import { open, runRow } from './stage.ts'

describe.each(PLACES)('inbox on $name', (place) => {
  let d: Drive
  beforeEach(async () => {
    d = await open(place)
  })
  afterEach(async () => {
    expect(await d.doctor()).toEqual([])
    await d.close()
  })

  it('a run without a policy is retried after 1 and 4 minutes, plus up to a tenth, then fails for good', async () => {
    const delays = [0, 0.5, 0.999].map((r) => [1, 2].map((n) => backoffMs(INBOX_RETRY, n, () => r) / 60_000))
    for (const [first = 0, second = 0] of delays) {
      expect([first >= 1, first < 1.1, second >= 4, second < 4.4]).toEqual([true, true, true, true])
    }
    const [made] = await d.engine.enqueue([{ type: 'x', payload: null }])
    const id = (made as { id: string }).id
    for (const [attempt, minutes] of [
      [1, 1.1],
      [2, 4.4],
    ] as const) {
      await d.fail(await d.claimOne())
      expect(await runRow(d, id)).toMatchObject({ status: 'pending', attempt })
      await d.pass(minutes * 60_000 * 0.9)
      expect(await d.claim()).toEqual([])
      await d.pass(minutes * 60_000 * 0.1)
    }
    await d.fail(await d.claimOne())
    expect(await runRow(d, id)).toMatchObject({ status: 'failed', attempt: 3, maxAttempts: 3, lastError: 'it broke' })
    expect(await d.claim()).toEqual([])
    const recorded = await d.store.read.runHistory(id)
    expect(recorded.map((e) => e.type).filter((t) => t === 'retried' || t === 'failed')).toEqual([
      'retried',
      'retried',
      'failed',
    ])
    expect(JSON.parse(recorded.at(-1)?.data as string)).toMatchObject({ attempt: 3, error: { message: 'it broke' } })
  })

  it('work is accepted and waits while no worker is running', async () => {
    await d.session.close()
    const [made] = await d.engine.enqueue([{ type: 'x', payload: { n: 1 } }])
    await d.pass(30 * 24 * 3_600_000)
    expect(await runRow(d, (made as { id: string }).id)).toMatchObject({ status: 'pending', attempt: 0 })
    d.session = await d.newSession({ name: 'at last' })
    expect(JSON.parse((await d.claimOne()).payload)).toEqual({ n: 1 })
  })

  it('a foreign lease that expired is claimable at once, for one attempt; the third loss is final', async () => {
    const now = await d.store.now()
    const lease = { status: 'leased', leasedBy: 'go-1', createdAt: now, runAt: now } as const
    const lost = aRun({ ...lease, leaseUntil: now + 30_000 })
    const poison = aRun({ ...lease, leaseUntil: now + 30_000, attempt: 2 })
    await put(d.store, { runs: { insert: [lost, poison] } })
    await d.pass(29_000)
    expect((await runRow(d, lost.id)).status).toBe('leased')
    await d.pass(2_000)
    expect(await runRow(d, lost.id)).toMatchObject({ status: 'pending', attempt: 1, leasedBy: null, leaseUntil: null })
    expect(await runRow(d, poison.id)).toMatchObject({ status: 'failed', attempt: 3 })
    expect((await d.claim()).map((x) => [x.runId, x.attempt])).toEqual([[lost.id, 2]])
  })

  it('an outcome that a foreign worker wrote into the row advances the workflow', async () => {
    const id = await d.start({ net: net([node('a', ['b']), node('b', ['c'], { retry: ONCE }), node('c')]) })
    const finish = async (node: string, given: Partial<RunRow>): Promise<void> => {
      const view = await d.engine.view(id)
      const found = view?.runs.find((r) => r.node === node) as RunRow
      await put(d.store, { runs: { update: [{ ...found, ...given }] } })
      await d.engine.sweep()
    }
    await finish('a', { status: 'succeeded', result: '{"from":"go"}' })
    expect((await d.results(id)).a).toEqual({ from: 'go' })
    await finish('b', { status: 'failed', attempt: 1, lastError: 'go said no' })
    expect(await d.state(id)).toBe('failed')
    expect((await d.engine.view(id))?.error).toMatchObject({ node: 'b', message: 'go said no' })
  })

  it('a key is answered with its run even if retention has removed it', async () => {
    const order = { type: 'x', payload: null, idempotencyKey: 'order-1' }
    const [made] = await d.engine.enqueue([order])
    await d.succeed(await d.claimOne())
    await d.store.sweep.prune({ endedBefore: (await d.store.now()) + 1, eventsBefore: 0, limit: 1000 })
    expect(await runRow(d, (made as { id: string }).id)).toBeNull()
    expect(await d.engine.enqueue([order])).toEqual([{ id: (made as { id: string }).id, created: false, run: null }])
    expect(await d.claim()).toEqual([])
  })

  it('a cancelled run stays cancelled, whatever its worker reports later', async () => {
    const [made] = await d.engine.enqueue([{ type: 'x', payload: null, maxAttempts: 5 }])
    const id = (made as { id: string }).id
    const delivery = await d.claimOne()
    await d.engine.cancelRun({ id, actor: 'ann' })
    expect([(await d.fail(delivery)).status, (await d.succeed(delivery)).status]).toEqual(['stale', 'stale'])
    await d.pass(3_600_000)
    expect(await runRow(d, id)).toMatchObject({ status: 'cancelled', result: null, leasedBy: null })
    expect((await d.store.read.runHistory(id)).map((e) => e.type)).toEqual(['created', 'leased', 'cancelled'])
  })
})

describe.skipIf(postgresUrl() === null)('the tables of the inbox', () => {
  let subject: PostgresSubject
  beforeAll(async () => {
    subject = await postgresSubject()
  })
  afterAll(() => subject.close())

  const sql = async (text: string): Promise<Record<string, unknown>[]> => (await subject.foreign.query(text)).rows
  /** `type`, `type!` where NULL is refused, and the default after a colon. */
  const columns = async (table: string): Promise<Record<string, string>> => {
    const rows = await sql(`SELECT column_name, data_type, is_nullable, column_default FROM information_schema.columns
      WHERE table_schema = 'workflow' AND table_name = '${table}'`)
    return Object.fromEntries(
      rows.map((r) => {
        const given =
          r['column_default'] === null ? '' : `: ${String(r['column_default']).replace(/::\w+( \w+)*/g, '')}`
        return [r['column_name'], `${r['data_type']}${r['is_nullable'] === 'NO' ? '!' : ''}${given}`]
      }),
    )
  }
  const time = 'timestamp with time zone'

  it('workflow_run has the columns, types and defaults that clients expect', async () => {
    expect(await columns('workflow_run')).toMatchObject({
      id: 'uuid!: gen_random_uuid()',
      type: 'text!',
      payload: 'jsonb!',
      status: "text!: 'pending'",
      priority: 'integer!: 100',
      run_at: `${time}!: now()`,
      idempotency_key: 'text',
      attempt: 'integer!: 0',
      max_attempts: 'integer!: 3',
      leased_by: 'text',
      lease_until: time,
      last_error: 'text',
      result: 'jsonb',
      created_at: `${time}!: now()`,
      updated_at: `${time}!: now()`,
      deleted_at: time,
    })
  })

  it('every column added to workflow_run may be omitted in an INSERT', async () => {
    const needed = Object.entries(await columns('workflow_run')).filter(([, c]) => c.endsWith('!'))
    expect(needed.map(([name]) => name).sort()).toEqual(['payload', 'type'])
  })

  it('workflow_event assigns numbers and times to its rows', async () => {
    expect(await columns('workflow_event')).toMatchObject({
      id: expect.stringMatching(/^bigint!: nextval/),
      workflow_id: 'uuid',
      event_type: 'text!',
      data: 'jsonb',
      created_at: `${time}!: now()`,
    })
  })

  it('workflow_registry has one runtime per name, enabled by default', async () => {
    expect(await columns('workflow_registry')).toMatchObject({
      workflow_name: 'text!',
      intent_type: "text!: 'workflow'",
      runtime: 'text!',
      is_enabled: 'boolean!: true',
      description: 'text',
      created_at: `${time}!: now()`,
      updated_at: `${time}!: now()`,
    })
    const register = (runtime: string) =>
      sql(`INSERT INTO workflow_registry (workflow_name, runtime) VALUES ('media.cut.v1', '${runtime}')`)
    await register('go')
    await expect(register('python')).rejects.toThrow(/unique/)
  })

  it('updated_at follows every change', async () => {
    const run = aRun({ createdAt: T0 })
    await put(subject.store, { runs: { insert: [run] } })
    const at = async () =>
      (await sql(`SELECT updated_at FROM workflow_run WHERE id = '${run.id}'`))[0]?.['updated_at'] as Date
    const before = await at()
    await setClock(subject.store, 60_000)
    await put(subject.store, { runs: { update: [{ ...run, status: 'cancelled', settledAt: T0, finishedAt: T0 }] } })
    expect((await at()).getTime()).toBeGreaterThan(before.getTime())
  })
})
