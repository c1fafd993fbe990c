// @ts-check
// Accounts, and the parties they may act for.
//
//   node examples/sagas/services/iam.mjs
import { row, serve } from './service.mjs'

await serve({
  name: 'iam',
  tables: `
    CREATE TABLE IF NOT EXISTS account (
      account_id INTEGER PRIMARY KEY AUTOINCREMENT, email TEXT NOT NULL, step_id TEXT NOT NULL
    );
    CREATE TABLE IF NOT EXISTS account_party (account_id INTEGER, party_id INTEGER, step_id TEXT NOT NULL)`,
  handlers: {
    'iam.v1.accounts.save': ({ body, tx, stepId }) => {
      if (!String(body.email).includes('@')) throw new Error(`'${body.email}' is no email address`)
      return row(tx, 'INSERT INTO account (email, step_id) VALUES (?, ?) RETURNING account_id', body.email, stepId)
    },
    'iam.v1.accounts.delete': ({ body, tx }) => {
      tx.prepare('DELETE FROM account WHERE account_id = ?').run(body.account_id)
    },
    'iam.v1.account-parties.save': ({ body, tx, stepId }) => {
      const known = row(tx, 'SELECT 1 AS it FROM account WHERE account_id = ?', body.account_id)
      if (known === undefined) throw new Error(`there is no account ${body.account_id}`)
      const insert = 'INSERT INTO account_party (account_id, party_id, step_id) VALUES (?, ?, ?)'
      tx.prepare(insert).run(body.account_id, body.party_id, stepId)
      return { linked: true }
    },
    'iam.v1.account-parties.delete': ({ body, tx }) => {
      tx.prepare('DELETE FROM account_party WHERE account_id = ? AND party_id = ?').run(body.account_id, body.party_id)
    },
  },
})
