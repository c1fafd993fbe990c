/** Operations that a role with the rights of `petrel grants` cannot perform. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { grantsFor } from '../../../src/store/postgres/grants.ts'
import { postgresUrl } from '../../services.ts'
import { type InboxStage, inboxStage } from './stage.ts'

const DENIED = { code: '42501' }

describe.skipIf(postgresUrl() === null)('rights of an inbox client', () => {
  let stage: InboxStage
  let id: string
  beforeAll(async () => {
    stage = await inboxStage()
    const made = await stage.sql(`INSERT INTO workflow_run (type, payload) VALUES ('mail.send.v1', '{}') RETURNING id`)
    id = made.rows[0]!['id']
  })
  afterAll(() => stage.close())

  it('none of the engine’s columns can be written', async () => {
    const columns = await stage.admin(
      `SELECT column_name, has_column_privilege($1, 'workflow.workflow_run', column_name, 'INSERT') AS into,
         has_column_privilege($1, 'workflow.workflow_run', column_name, 'UPDATE') AS change
       FROM information_schema.columns WHERE table_schema = 'workflow' AND table_name = 'workflow_run' ORDER BY 1`,
      [stage.role],
    )
    const which = (right: 'into' | 'change') =>
      columns.rows.filter((row) => row[right]).map((row) => row['column_name'])
    const both = ['attempt', 'max_attempts', 'payload', 'priority', 'queue', 'run_at', 'status', 'type']
    expect(which('into')).toEqual([...both, 'fair_key', 'id', 'idempotency_key'].sort())
    expect(which('change')).toEqual(
      [...both, 'deleted_at', 'last_error', 'lease_until', 'leased_by', 'result', 'updated_at'].sort(),
    )
  })

  it.each([
    ['epoch', 'epoch = 7'],
    ['engine_turn', `status = 'succeeded', engine_turn = NOT engine_turn`],
    ['instance_id', 'instance_id = gen_random_uuid()'],
    ['settled_at', 'settled_at = now()'],
    ['session_id', `session_id = 'mine'`],
    ['tenant', `tenant = 'acme'`],
  ])('a forged %s is denied', async (_, change) => {
    await expect(stage.sql(`UPDATE workflow_run SET ${change} WHERE id = $1`, [id])).rejects.toMatchObject(DENIED)
  })

  it.each([
    ['run of an instance', `workflow_run (type, payload, instance_id) VALUES ('a.v1', '{}', gen_random_uuid())`],
    ['row of the engine', `workflow_run (type, payload, engine_turn) VALUES ('a.v1', '{}', true)`],
    [
      'event of the engine',
      `workflow_event (workflow_id, event_type, engine) VALUES (gen_random_uuid(), 'succeeded', true)`,
    ],
    [
      'event of another day',
      `workflow_event (workflow_id, event_type, created_at) VALUES (gen_random_uuid(), 'app.x', now())`,
    ],
    ['registry row', `workflow_registry (workflow_name, runtime) VALUES ('a.v1', 'go')`],
  ])('a forged %s is denied', async (_, into) => {
    await expect(stage.sql(`INSERT INTO ${into}`)).rejects.toMatchObject(DENIED)
  })

  it.each([
    'DELETE FROM workflow_run',
    'DELETE FROM workflow_event',
    'TRUNCATE workflow_run',
    'SELECT * FROM workflow_key',
    'SELECT * FROM workflow_instance',
    'SELECT * FROM workflow_setting',
    'ALTER TABLE workflow_run DISABLE TRIGGER ALL',
    'SET session_replication_role = replica',
    `SELECT setval('workflow_event_id_seq', 1)`,
    `SELECT workflow.inbox_record_event(NULL, 'succeeded', NULL, NULL, now())`,
    'CREATE TABLE workflow.mine (n integer)',
  ])('%s is denied', async (statement) => {
    await expect(stage.sql(statement)).rejects.toMatchObject(DENIED)
  })

  it('the trigger functions cannot be attached to other tables', async () => {
    await stage.sql('CREATE TEMP TABLE mine (LIKE workflow_run INCLUDING DEFAULTS)')
    await expect(
      stage.sql('CREATE TRIGGER t AFTER INSERT ON mine FOR EACH ROW EXECUTE FUNCTION workflow.inbox_run_inserted()'),
    ).rejects.toMatchObject(DENIED)
  })

  it("functions of the session cannot replace Petrel's", async () => {
    const session = await stage.connect()
    await session.query(`
      CREATE FUNCTION pg_temp.now() RETURNS timestamptz LANGUAGE sql AS $$ SELECT 'epoch'::timestamptz $$;
      CREATE FUNCTION pg_temp.pg_notify(text, text) RETURNS void LANGUAGE plpgsql AS $$ BEGIN RAISE 'mine'; END $$;
      SET search_path TO pg_temp, workflow`)
    const made = await session.query(`INSERT INTO workflow_run (type, payload) VALUES ('a.v1', '{}') RETURNING id`)
    const recorded = await stage.sql('SELECT created_at FROM workflow_event WHERE workflow_id = $1', [made.rows[0].id])
    expect(Date.now() - recorded.rows[0]!['created_at'].getTime()).toBeLessThan(60_000)
  })

  it('they can be granted again, which revokes any additional ones', async () => {
    await stage.admin(`GRANT ALL ON workflow_run, workflow_key TO "${stage.role}"; ${grantsFor(stage.role)}`)
    await expect(stage.sql('SELECT * FROM workflow_key')).rejects.toMatchObject(DENIED)
    await expect(stage.sql('UPDATE workflow_run SET epoch = 7')).rejects.toMatchObject(DENIED)
    expect((await stage.sql('SELECT count(*) FROM workflow_history')).rowCount).toBe(1)
    expect((await stage.sql('SELECT count(*) FROM workflow_step')).rowCount).toBe(1)
  })

  it('a hostile name of a role is quoted', async () => {
    const role = `x"; DROP TABLE workflow.workflow_run; --\n${stage.role}`
    const quoted = `"${role.replaceAll('"', '""')}"`
    await stage.admin(`CREATE ROLE ${quoted}`)
    await stage.admin(grantsFor(role))
    const right = await stage.admin(`SELECT has_table_privilege($1, 'workflow.workflow_run', 'SELECT') AS given`, [
      role,
    ])
    expect(right.rows).toEqual([{ given: true }])
    await stage.admin(`DROP OWNED BY ${quoted}; DROP ROLE ${quoted}`)
    expect((await stage.sql('SELECT id FROM workflow_run WHERE id = $1', [id])).rowCount).toBe(1)
  })

  it.each(['', 'public', 'none', 'pg_monitor', 'a\0b', 'x'.repeat(64), 'ü'.repeat(32)])(
    '%j is refused as a role',
    (role) => {
      expect(() => grantsFor(role)).toThrow(RangeError)
    },
  )
})
