// @ts-check
// A slow grid. It stores which step waits for a batch, with the step id; the answer is sent when the batch is done, even if
// this process was restarted meanwhile.
//
//   BATCH_MS   how long a batch takes, default 2000
//
//   node examples/sagas/services/compute.mjs
import { accepted } from 'petrel/nats'
import { row, serve } from './service.mjs'

const batchMs = Number(process.env['BATCH_MS'] ?? 2000)

const { consumer, database } = await serve({
  name: 'compute',
  tables: `
    CREATE TABLE IF NOT EXISTS batch (
      batch_id INTEGER PRIMARY KEY AUTOINCREMENT, package_id INTEGER, done_at INTEGER NOT NULL, step_id TEXT NOT NULL
    );
    CREATE TABLE IF NOT EXISTS waiting (batch_id INTEGER, step_id TEXT PRIMARY KEY, instance_id TEXT NOT NULL)`,
  handlers: {
    'compute.v1.batches.submit': ({ body, tx, stepId }) => {
      const insert = 'INSERT INTO batch (package_id, done_at, step_id) VALUES (?, ?, ?) RETURNING batch_id'
      return row(tx, insert, body.package_id, Date.now() + batchMs, stepId)
    },
    'compute.v1.batches.abandon': ({ body, tx }) => {
      tx.prepare('DELETE FROM batch WHERE batch_id = ?').run(body.batch_id)
    },
    'compute.v1.batches.await': ({ body, tx, stepId, instanceId }) => {
      const known = row(tx, 'SELECT 1 AS it FROM batch WHERE batch_id = ?', body.batch_id)
      if (known === undefined) throw new Error(`there is no batch ${body.batch_id}`)
      const insert = 'INSERT INTO waiting (batch_id, step_id, instance_id) VALUES (?, ?, ?)'
      tx.prepare(insert).run(body.batch_id, stepId, instanceId)
      return accepted()
    },
  },
})

const DONE = `SELECT w.* FROM waiting w LEFT JOIN batch b USING (batch_id) WHERE coalesce(b.done_at, 0) <= ?`

setInterval(async () => {
  for (const { batch_id, step_id, instance_id } of /** @type {any[]} */ (database.prepare(DONE).all(Date.now()))) {
    const outputs = [`npv-${batch_id}.csv`, `xva-${batch_id}.csv`]
    await consumer.complete({ stepId: step_id, instanceId: instance_id, result: { outputs } })
    // Only now: after a crash before this point, the next process sends the reply again.
    database.prepare('DELETE FROM waiting WHERE step_id = ?').run(step_id)
  }
}, 100).unref()
