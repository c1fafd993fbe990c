/** Behaviour of commands that needs several connections to one server. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { postgresUrl } from '../services.ts'
import { aCommand, aDeferred } from './commands.ts'
import { type PostgresSubject, postgresSubject } from './postgres-subject.ts'
import { anInstance } from './rows.ts'
import { put } from './subject.ts'

describe.skipIf(postgresUrl() === null)('postgres: commands', () => {
  let subject: PostgresSubject
  beforeEach(async () => {
    subject = await postgresSubject()
  })
  afterEach(() => subject.close())

  const waiting = async (count: number): Promise<readonly string[]> => {
    const instance = anInstance({ dialect: 'saga', open: count })
    const runs = Array.from({ length: count }, (_, i) => aDeferred(instance, `n${i}`))
    const createdAt = (await subject.store.now()) - 1_000
    const commands = runs.map((run) => aCommand(run, { createdAt }))
    await put(subject.store, {
      instances: { insert: [instance] },
      runs: { insert: runs },
      commands: { put: commands },
    })
    return runs.map((run) => run.id)
  }

  it('none is taken twice by processes that take without pause', async () => {
    const ids = await waiting(400)
    const stores = [subject.store, await subject.open(), await subject.open()]
    const taken: string[] = []
    await Promise.all(
      stores.map(async (store) => {
        for (let idle = 0; idle < 3; ) {
          const rows = await store.commands.take({ limit: 7, holdMs: 60_000 })
          idle = rows.length === 0 ? idle + 1 : 0
          taken.push(...rows.map((row) => row.runId))
        }
      }),
    )
    expect(taken.length).toBe(400)
    expect(taken.sort()).toEqual([...ids].sort())
  })

  it('a publisher does not wait for a settle: a command that is being stored is skipped', async () => {
    const [first, second] = await waiting(2)
    await subject.foreign.query('BEGIN')
    await subject.foreign.query('SELECT FROM workflow_command WHERE run_id = $1 FOR UPDATE', [first])
    const taken = await subject.store.commands.take({ limit: 10, holdMs: 60_000 })
    expect(taken.map((row) => row.runId)).toEqual([second])
    await subject.foreign.query('ROLLBACK')
    expect(await subject.store.commands.take({ limit: 10, holdMs: 60_000 })).toMatchObject([{ runId: first }])
  })

  it('a command stored while another process takes commands is not silenced by the old state of its run', async () => {
    const [id] = await waiting(1)
    const { foreign, store } = subject
    const asEngine = (text: string) =>
      foreign.query(`BEGIN; SET LOCAL session_replication_role = replica; ${text}; COMMIT`)
    // Answered long ago; the old command is due, and the next process to take it would silence it.
    await asEngine(`UPDATE workflow_run SET status = 'failed', deferred = false, epoch = 2 WHERE id = '${id}'`)
    await foreign.query(`CREATE OR REPLACE FUNCTION workflow.clock() RETURNS timestamptz LANGUAGE plpgsql STABLE AS $$
      BEGIN PERFORM pg_advisory_xact_lock_shared(42); RETURN now(); END $$`)
    await foreign.query('SELECT pg_advisory_lock(42)')
    // It has read the tables, and now waits for the clock.
    const taking = store.commands.take({ limit: 10, holdMs: 60_000 })
    await subject.untilWaiting('petrel command', 1)
    await asEngine(`UPDATE workflow_run SET status = 'leased', deferred = true, epoch = 4 WHERE id = '${id}';
      UPDATE workflow_command SET epoch = 4, body = '[2]', due_at = now() - interval '1 s' WHERE run_id = '${id}'`)
    await foreign.query('SELECT pg_advisory_unlock(42)')
    const taken = await taking
    const after = await store.commands.take({ limit: 10, holdMs: 60_000 })
    expect([...taken, ...after]).toMatchObject([{ runId: id, body: '[2]' }])
  })
})
