import { expect, it, vi } from 'vitest'
import { anEvent, aRun, T0 } from './rows.ts'
import { put } from './subject.ts'
import type { Current } from './suite.ts'

export function schemaTopic(current: Current): void {
  it('migrates once', async () => {
    const { store, second } = current()
    const again = await store.migrate()
    expect(again).toMatchObject({ applied: [], repeatables: [] })
    expect(again.version).toBeGreaterThan(0)
    const other = await second()
    const both = await Promise.all([store.migrate(), other.migrate()])
    expect(both.map((result) => [result.applied, result.repeatables])).toEqual([
      [[], []],
      [[], []],
    ])
  })

  it('refuses a database migrated by a newer version, and does not change it', async () => {
    const { store, sql } = current()
    await put(store, { runs: { insert: [aRun()] } })
    await sql(`INSERT INTO workflow_migration (version, name, checksum, applied_at)
      SELECT 9999, 'from_the_future', 'x', applied_at FROM workflow_migration LIMIT 1`)
    await expect(store.migrate()).rejects.toMatchObject({
      name: 'StoreUnusableError',
      code: 'schema_newer',
      message: expect.stringContaining('9999'),
    })
    expect(await sql('SELECT id FROM workflow_run')).toHaveLength(1)
    await sql('DELETE FROM workflow_migration WHERE version = 9999')
    await store.migrate()
  })

  it.each([
    {
      how: 'migrated it',
      write: `INSERT INTO workflow_migration (version, name, checksum, applied_at)
        SELECT 9999, 'from_the_future', 'x', applied_at FROM workflow_migration LIMIT 1`,
      undo: 'DELETE FROM workflow_migration WHERE version = 9999',
    },
    {
      how: 'applied its repeatable files',
      write: `UPDATE workflow_repeatable SET revision = revision + 9999 WHERE name = '30_views'`,
      undo: `UPDATE workflow_repeatable SET revision = revision - 9999 WHERE name = '30_views'`,
    },
  ])('refuses to be opened, and to write, once a newer version has $how', async ({ write, undo }) => {
    const { store, second, sql } = current()
    const run = aRun()
    await put(store, { runs: { insert: [run] } })
    const newer = {
      name: 'StoreUnusableError',
      code: 'schema_newer',
      message: expect.stringMatching(/migration 9999|revision \d{5} of/),
    }
    await sql(write)
    await sql('CREATE TABLE workflow_from_the_future (id int)')
    try {
      await expect(second()).rejects.toMatchObject(newer)
      // This process was open before.
      await vi.waitFor(() => expect(put(store, { runs: { update: [run] } })).rejects.toMatchObject(newer), 20_000)
    } finally {
      await sql('DROP TABLE workflow_from_the_future')
      await sql(undo)
    }
    // Restored from a backup, for example.
    await put(store, { runs: { update: [run] } })
  })

  it('refuses a database whose migrations had another text', async () => {
    const { store, sql } = current()
    const [first] = await sql('SELECT version, checksum FROM workflow_migration ORDER BY version LIMIT 1')
    const set = (checksum: unknown) =>
      sql(`UPDATE workflow_migration SET checksum = '${checksum}' WHERE version = ${first!['version']}`)
    await set('tampered')
    await expect(store.migrate()).rejects.toMatchObject({ name: 'StoreUnusableError', code: 'schema_changed' })
    await set(first!['checksum'])
    await store.migrate()
  })

  it('has the vocabulary of foreign clients: five statuses and eight events, and refuses others', async () => {
    const { store, sql } = current()
    const run = aRun({ createdAt: T0 })
    await put(store, { runs: { insert: [run] } })
    for (const status of ['leased', 'succeeded', 'failed', 'cancelled', 'pending']) {
      await put(store, { runs: { update: [{ ...run, status: status as 'leased' }] } })
    }
    await expect(sql(`UPDATE workflow_run SET status = 'running' WHERE id = '${run.id}'`)).rejects.toThrow()
    for (const word of ['leased', 'started', 'heartbeat', 'succeeded', 'failed', 'retried', 'cancelled']) {
      await put(store, {
        events: [anEvent({ runId: run.id, type: word })],
      })
    }
    await expect(
      sql(`INSERT INTO workflow_event (workflow_id, event_type) VALUES ('${run.id}', 'exploded')`),
    ).rejects.toThrow()
  })

  it('refuses a second plain INSERT under an idempotency key, or skips it with ON CONFLICT', async () => {
    const { sql } = current()
    const insert = `INSERT INTO workflow_run (type, payload, idempotency_key) VALUES ('a.v1', '{}', 'k1')`
    await sql(insert)
    await expect(sql(insert)).rejects.toThrow()
    await sql(`${insert} ON CONFLICT (idempotency_key) DO NOTHING`)
    expect(await sql('SELECT id FROM workflow_run')).toHaveLength(1)
  })

  it('shows runs with their instances in workflow_step', async () => {
    const { store, sql } = current()
    await put(store, { runs: { insert: [aRun()] } })
    expect(await sql('SELECT run_id, status, instance_id, node FROM workflow_step')).toMatchObject([
      { status: 'pending', instance_id: null, node: null },
    ])
  })
}
