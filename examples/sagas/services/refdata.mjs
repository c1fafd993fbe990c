// @ts-check
// Parties. The transaction with the effect of a step also stores its key: a command that is delivered twice changes
// nothing.
//
//   node examples/sagas/services/refdata.mjs
import { row, serve } from './service.mjs'

await serve({
  name: 'refdata',
  tables: `CREATE TABLE IF NOT EXISTS party (
    party_id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, country TEXT NOT NULL, tenant TEXT, step_id TEXT NOT NULL
  )`,
  handlers: {
    'refdata.v1.parties.save': ({ body, tx, tenant, stepId }) => {
      if (typeof body.name !== 'string' || body.name === '') throw new Error('a party needs a name')
      const insert = 'INSERT INTO party (name, country, tenant, step_id) VALUES (?, ?, ?, ?) RETURNING party_id'
      return row(tx, insert, body.name, body.country, tenant, stepId)
    },
    // A party that does not exist needs no undo.
    'refdata.v1.parties.delete': ({ body, tx }) => {
      tx.prepare('DELETE FROM party WHERE party_id = ?').run(body.party_id)
    },
  },
})
