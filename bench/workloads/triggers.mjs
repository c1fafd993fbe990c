// @ts-check
/**
 * The cost of the inbox's triggers (Postgres; src/store/postgres/repeatable/). The same work on the same tables,
 * alternately with the triggers and without (a trigger that is only disabled still makes Postgres lock the row first):
 * the engine's batches, which must not pay per row, and rows that a client inserts, claims and completes by plain SQL,
 * which pay for the checks and events.
 */
import pg from 'pg'
import { timed } from '../figures.mjs'

const BATCH = 500
/** On, off, off, on, and so forth: a drift of the machine affects both alike. */
const TURNS = [true, false, false, true, true, false, false, true]

/** @type {import('../workload.mjs').Workload} */
export default {
  name: 'triggers',
  title: 'triggers of the inbox',
  metrics: {
    engineOn: { title: 'insert and end a run in batches', unit: 'µs/run', better: 'less' },
    engineOff: { title: '… without the triggers', unit: 'µs/run', better: 'less' },
    engineRatio: { title: '… on / off', unit: '', better: 'less' },
    engineWal: { title: '… WAL, on / off', unit: '', better: 'less' },
    foreignOn: { title: 'INSERT, claim, complete by plain SQL', unit: 'µs/run', better: 'less' },
    foreignOff: { title: '… without the triggers', unit: 'µs/run', better: 'less' },
    foreignRatio: { title: '… on / off', unit: '', better: 'less' },
    foreignWal: { title: '… WAL, on / off', unit: '', better: 'less' },
  },
  opensItself: true,
  stores: ['postgres'],
  size: { full: 20_000, quick: 4_000 },

  async run({ url, size, internal }) {
    const { newId, newRun, openStore } = await internal('insides.js')
    const store = await openStore(url)
    await store.migrate()
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    const position = async () => {
      const { rows } = await client.query(`SELECT (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::float8 AS bytes`)
      return rows[0].bytes
    }
    const { rows: triggers } = await client.query(
      `SELECT tgrelid::regclass::text AS tab, tgname AS name, pg_get_triggerdef(oid) AS made FROM pg_trigger
       WHERE NOT tgisinternal AND tgrelid IN ('workflow.workflow_run'::regclass, 'workflow.workflow_event'::regclass)`,
    )
    const work = {
      engine: () => engineRuns({ store, newRun, newId, size }),
      foreign: () => foreignRuns(client, size / 10),
    }
    /** @type {{ [name: string]: number }} */
    const figures = {}
    for (const [name, runs, round] of /** @type {const} */ ([
      ['engine', size, work.engine],
      ['foreign', size / 10, work.foreign],
    ])) {
      /** @type {{ on: number[], off: number[] }} */
      const micros = { on: [], off: [] }
      const wal = { on: 0, off: 0 }
      for (const [turn, on] of [true, ...TURNS].entries()) {
        await client.query('TRUNCATE workflow.workflow_run, workflow.workflow_event')
        for (const { tab, name: trigger, made } of triggers) {
          await client.query(`DROP TRIGGER IF EXISTS ${trigger} ON ${tab}`)
          if (on) await client.query(made)
        }
        const from = await position()
        const ms = await timed(round)
        wal[on ? 'on' : 'off'] = (await position()) - from
        // the first turn warms up
        if (turn > 0) micros[on ? 'on' : 'off'].push((ms * 1000) / runs)
      }
      // the minimum of each: other load only ever adds
      const [on, off] = [Math.min(...micros.on), Math.min(...micros.off)]
      Object.assign(figures, {
        [`${name}On`]: on,
        [`${name}Off`]: off,
        [`${name}Ratio`]: on / off,
        [`${name}Wal`]: wal.on / wal.off,
      })
    }
    await client.end()
    await store.close()
    return figures
  },
}

/** As the engine writes them: a transaction per batch, runs and events in one statement each. @param {any} params */
async function engineRuns({ store, newRun, newId, size }) {
  const now = Date.now()
  const event = (/** @type {any} */ run, /** @type {string} */ type) => ({
    ...{ runId: run.id, instanceId: null, seq: null, type, node: null, actor: null, tenant: null, data: null, at: now },
  })
  for (let first = 0; first < size; first += BATCH) {
    const runs = Array.from({ length: BATCH }, () =>
      newRun({ id: newId(), type: 'bench.noop', payload: '{}', now }, {}),
    )
    await write(store, { runs: { insert: runs }, events: runs.map((run) => event(run, 'created')) })
    const ended = runs.map((run) => ({ ...run, status: 'succeeded', epoch: 1, finishedAt: now, settledAt: now }))
    await write(store, { runs: { update: ended }, events: ended.map((run) => event(run, 'succeeded')) })
  }
}

/** @param {any} store @param {object} delta */
function write(store, delta) {
  return store.transact({ roots: [], wait: true, need: {}, decide: () => ({ delta, result: null }) })
}

/** A hundred in one transaction, so that the disk is not measured. @param {pg.Client} client @param {number} count */
async function foreignRuns(client, count) {
  for (let done = 0; done < count; ) {
    await client.query('BEGIN')
    for (let i = 0; i < 100; i++, done++) {
      const made = await client.query(INSERT)
      const values = [made.rows[0].id]
      await client.query({ ...CLAIM, values })
      await client.query({ ...COMPLETE, values })
    }
    await client.query('COMMIT')
  }
}

const INSERT = {
  name: 'insert',
  text: `INSERT INTO workflow.workflow_run (type, payload) VALUES ('bench.noop.v1', '{}') RETURNING id`,
}
const CLAIM = {
  name: 'claim',
  text: `UPDATE workflow.workflow_run SET status = 'leased', leased_by = 'bench', lease_until = now() + interval '30 seconds',
    updated_at = now() WHERE id = $1`,
}
const COMPLETE = {
  name: 'complete',
  text: `UPDATE workflow.workflow_run SET status = 'succeeded', result = '1', updated_at = now() WHERE id = $1`,
}
