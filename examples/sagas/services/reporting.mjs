// @ts-check
// Inputs of reports, and their results.
//
//   node examples/sagas/services/reporting.mjs
import { withWarnings } from 'petrel/nats'
import { row, serve } from './service.mjs'

await serve({
  name: 'reporting',
  tables: `
    CREATE TABLE IF NOT EXISTS bundle (
      bundle_id INTEGER PRIMARY KEY AUTOINCREMENT, report TEXT NOT NULL, as_of TEXT, step_id TEXT NOT NULL
    );
    CREATE TABLE IF NOT EXISTS result (
      result_id INTEGER PRIMARY KEY AUTOINCREMENT, batch_id INTEGER, outputs TEXT NOT NULL, step_id TEXT NOT NULL
    );
    CREATE TABLE IF NOT EXISTS report (name TEXT NOT NULL, result_id INTEGER, step_id TEXT NOT NULL)`,
  handlers: {
    'reporting.v1.inputs.gather': ({ body, tx, stepId }) => {
      if (typeof body.report !== 'string') throw new Error('which report?')
      const insert = 'INSERT INTO bundle (report, as_of, step_id) VALUES (?, ?, ?) RETURNING bundle_id'
      const bundle = row(tx, insert, body.report, body.as_of ?? null, stepId)
      if (body.as_of) return bundle
      // Done, but readers of the report should be warned.
      return withWarnings(bundle, [{ level: 'warn', message: 'no date was given: the latest prices are used' }])
    },
    'reporting.v1.inputs.discard': ({ body, tx }) => {
      tx.prepare('DELETE FROM bundle WHERE bundle_id = ?').run(body.bundle_id)
    },
    'reporting.v1.results.process': ({ body, tx, stepId }) => {
      if (!Array.isArray(body.outputs)) throw new Error(`batch ${body.batch_id} has no outputs`)
      const insert = 'INSERT INTO result (batch_id, outputs, step_id) VALUES (?, ?, ?) RETURNING result_id'
      return row(tx, insert, body.batch_id, JSON.stringify(body.outputs), stepId)
    },
    'reporting.v1.results.discard': ({ body, tx }) => {
      tx.prepare('DELETE FROM result WHERE result_id = ?').run(body.result_id)
    },
    'reporting.v1.reports.finalise': ({ body, tx, stepId }) => {
      const insert = 'INSERT INTO report (name, result_id, step_id) VALUES (?, ?, ?)'
      tx.prepare(insert).run(body.report, body.result_id, stepId)
      return { report: body.report, result_id: body.result_id }
    },
  },
})
