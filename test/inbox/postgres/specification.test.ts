/** Every SQL statement in §6 and §7 of the inbox specification, verbatim, sent by a role with no other rights. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { postgresUrl } from '../../services.ts'
import { type InboxStage, inboxStage } from './stage.ts'

const CREATE = `insert into workflow.workflow_run (
  type,
  payload,
  idempotency_key
) values (
  'content.thumbnail.v1',
  '{"content_id":"c_123", "width": 300, "height": 300}',
  'content:c_123:thumbnail:300x300'
)
on conflict (idempotency_key) do nothing
returning id;`

const CANCEL = `update workflow.workflow_run
set status = 'cancelled', updated_at = now()
where id = :run_id
  and status in ('pending', 'leased');`

const FIND = `select id, type, payload, attempt, max_attempts
from workflow.workflow_run
where status = 'pending'
  and (type like 'billing.%' or type like 'payment.%')
  and run_at <= now()
  and deleted_at is null
order by priority asc, created_at asc
for update skip locked
limit 1;`

const LEASE = `update workflow.workflow_run
set status = 'leased',
    leased_by = :worker_id,
    lease_until = now() + interval '30 seconds',
    updated_at = now()
where id = :run_id;`

const HEARTBEAT = `update workflow.workflow_run
set lease_until = now() + interval '30 seconds',
    updated_at = now()
where id = :run_id and status = 'leased';`

const CHECK = `select status from workflow.workflow_run where id = :run_id;
-- if status = 'cancelled', stop execution gracefully`

const LOG = `insert into workflow.workflow_event (workflow_id, event_type, data)
values (:run_id, 'heartbeat', '{"extended_by_seconds": 30}');`

describe.skipIf(postgresUrl() === null)('the statements of the inbox specification', () => {
  let stage: InboxStage
  beforeEach(async () => {
    stage = await inboxStage()
  })
  afterEach(() => stage.close())

  const send = (statement: string, names: { run_id?: string; worker_id?: string } = {}) =>
    stage.sql(statement.replaceAll(/:(run_id|worker_id)/g, (_, name: keyof typeof names) => `'${names[name]}'`))
  const pay = async (type = 'billing.invoice.v1'): Promise<string> =>
    (await stage.sql(`INSERT INTO workflow_run (type, payload) VALUES ($1, '{}') RETURNING id`, [type])).rows[0]!['id']

  it('§6: a workflow run is created once, with only type, payload and key', async () => {
    const [made] = (await send(CREATE)).rows
    expect((await send(CREATE)).rows).toEqual([])
    expect(await stage.run(made!['id'])).toMatchObject({
      status: 'pending',
      priority: 100,
      attempt: 0,
      max_attempts: 3,
      payload: { content_id: 'c_123', width: 300, height: 300 },
    })
    expect(await stage.recorded(made!['id'])).toEqual(['created'])
  })

  it('§6: a producer cancels pending and leased runs, and no others', async () => {
    const id = await pay()
    expect((await send(CANCEL, { run_id: id })).rowCount).toBe(1)
    expect((await send(CANCEL, { run_id: id })).rowCount).toBe(0)
    const leased = await pay()
    await send(LEASE, { run_id: leased, worker_id: 'w' })
    expect((await send(CANCEL, { run_id: leased })).rowCount).toBe(1)
    expect((await send(CHECK, { run_id: leased })).rows).toEqual([{ status: 'cancelled' }])
  })

  it('§7.2: a worker finds the first of its prefixes, locks and leases it', async () => {
    await pay('content.ocr.v1')
    const [first, second] = [await pay('payment.refund.v2'), await pay()]
    const [one, other] = [await stage.connect(), await stage.connect()]
    const found = []
    for (const session of [one, other]) {
      await session.query('BEGIN')
      found.push((await session.query(FIND)).rows[0].id)
    }
    expect(found).toEqual([first, second])
    const lease = LEASE.replace(':worker_id', `'billing-worker-1'`).replace(':run_id', `'${first}'`)
    expect((await one.query(lease)).rowCount).toBe(1)
    await one.query('COMMIT')
    await other.query('ROLLBACK')
    const run = await stage.run(first)
    expect(run).toMatchObject({ status: 'leased', leased_by: 'billing-worker-1', attempt: 0 })
    expect(Math.abs(run['lease_until'].getTime() - Date.now() - 30_000)).toBeLessThan(5_000)
  })

  it('§7.2: a worker that found the run without keeping its lock gets it only if no other was faster', async () => {
    const id = await pay()
    expect((await send(FIND)).rows[0]!['id']).toBe(id)
    expect((await send(FIND)).rows[0]!['id']).toBe(id)
    expect((await send(LEASE, { run_id: id, worker_id: 'quick' })).rowCount).toBe(1)
    expect((await send(LEASE, { run_id: id, worker_id: 'late' })).rowCount).toBe(0)
    expect(await stage.run(id)).toMatchObject({ leased_by: 'quick' })
    expect(await stage.recorded(id)).toEqual(['created', 'leased', 'started'])
  })

  it('§7.3: a heartbeat extends the lease and is recorded once, even if the worker logs it as well', async () => {
    const id = await pay()
    expect((await send(HEARTBEAT, { run_id: id })).rowCount).toBe(0)
    await send(LEASE, { run_id: id, worker_id: 'w' })
    expect((await send(HEARTBEAT, { run_id: id })).rowCount).toBe(1)
    expect((await send(LOG, { run_id: id })).rowCount).toBe(0)
    expect((await send(HEARTBEAT, { run_id: id })).rowCount).toBe(1)
    expect((await send(LOG, { run_id: id })).rowCount).toBe(0)
    expect((await send(CHECK, { run_id: id })).rows).toEqual([{ status: 'leased' }])
    expect(await stage.recorded(id)).toEqual(['created', 'leased', 'started', 'heartbeat', 'heartbeat'])
  })

  it('§7.3: a heartbeat that is only logged is kept', async () => {
    const id = await pay()
    await send(LEASE, { run_id: id, worker_id: 'w' })
    expect((await send(LOG, { run_id: id })).rowCount).toBe(1)
    expect((await send(LOG, { run_id: id })).rowCount).toBe(1)
    const last = (await stage.sql('SELECT * FROM workflow_event ORDER BY id DESC LIMIT 1')).rows[0]
    expect(last).toMatchObject({
      event_type: 'heartbeat',
      data: { extended_by_seconds: 30 },
      actor: 'w',
      engine: false,
    })
    expect((await stage.history(id)).map((event) => event.type)).toEqual([
      'created',
      'leased',
      'started',
      'heartbeat',
      'heartbeat',
    ])
  })
})
