/** API keys. Few rows, each read by its id. */

import type { Keys } from '../../../model/registry.ts'
import type { KeyRow } from '../../../model/rows.ts'
import { ask, askOne } from '../connection/ask.ts'
import type { Lanes } from '../connection/lanes.ts'
import { type Fields, statement } from '../connection/statement.ts'
import { parseTime } from '../connection/time.ts'

const COLUMNS = 'id, hash, subject, scopes, roles, tenant, created_at, expires_at, revoked_at'

const ADD = statement(
  `INSERT INTO workflow.workflow_key (${COLUMNS})
   VALUES ($1, $2, $3, $4::json, $5::json, $6, to_timestamp($7::float8 / 1000), to_timestamp($8::float8 / 1000), NULL)
   ON CONFLICT (id) DO NOTHING`,
)
const FIND = statement(`SELECT ${COLUMNS} FROM workflow.workflow_key WHERE id = $1`)
const LIST = statement(`SELECT ${COLUMNS} FROM workflow.workflow_key ORDER BY created_at, id`)
/** The first revocation stays: the time at which a key became invalid is a fact. */
const REVOKE = statement(
  `UPDATE workflow.workflow_key SET revoked_at = workflow.clock() WHERE id = $1 AND revoked_at IS NULL RETURNING ${COLUMNS}`,
)
/** Two processes may offer a secret at the same time: the second waits for the first, and finds its secret. */
const OFFER_SECRET = statement(
  `INSERT INTO workflow.workflow_setting (key, value) VALUES ('link_secret', $1) ON CONFLICT (key) DO NOTHING`,
)
const SECRET = statement(`SELECT s.value FROM workflow.workflow_setting s WHERE s.key = 'link_secret'`)

export function keysOn(lanes: Lanes): Keys {
  return {
    add: async (key) => {
      const values = [
        key.id,
        key.hash,
        key.subject,
        JSON.stringify(key.scopes),
        JSON.stringify(key.roles),
        key.tenant,
        String(key.createdAt),
        key.expiresAt === null ? null : String(key.expiresAt),
      ]
      await ask(lanes, { statement: ADD, values, row: () => null })
    },
    find: (id) => askOne(lanes, { statement: FIND, values: [id], row: keyFrom }),
    list: () => ask(lanes, { statement: LIST, row: keyFrom }),
    signing: async (fresh) => {
      const read = (): Promise<string | null> =>
        askOne(lanes, { statement: SECRET, values: [], row: ([value]) => value as string })
      const known = await read()
      if (known !== null) return known
      await ask(lanes, { statement: OFFER_SECRET, values: [fresh], row: () => null })
      return (await read()) as string
    },
    revoke: (id) => askOne(lanes, { statement: REVOKE, values: [id], row: keyFrom }),
  }
}

function keyFrom(fields: Fields): KeyRow {
  const [id, hash, subject, scopes, roles, tenant, createdAt, expiresAt, revokedAt] = fields as readonly string[]
  return {
    id: id as string,
    hash: hash as string,
    subject: subject as string,
    scopes: JSON.parse(scopes as string),
    roles: JSON.parse(roles as string),
    tenant: tenant ?? null,
    createdAt: parseTime(createdAt as string),
    expiresAt: timeOf(expiresAt),
    revokedAt: timeOf(revokedAt),
  }
}

function timeOf(text: string | null | undefined): number | null {
  return text === null || text === undefined ? null : parseTime(text)
}
