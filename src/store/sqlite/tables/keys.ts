/** API keys. Few rows, each read by its id. */

import type { Keys } from '../../../model/registry.ts'
import type { KeyRow } from '../../../model/rows.ts'
import { readClock } from '../clock.ts'
import type { Connection } from '../connection.ts'
import type { Cells } from '../driver.ts'

const COLUMNS = 'id, hash, subject, scopes, roles, tenant, created_at, expires_at, revoked_at'
const ADD = `INSERT INTO workflow_key (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, NULL) ON CONFLICT (id) DO NOTHING`
const FIND = `SELECT ${COLUMNS} FROM workflow_key WHERE id = ?`
const LIST = `SELECT ${COLUMNS} FROM workflow_key ORDER BY created_at, id`
/** The first revocation stays: the time at which a key became invalid is a fact. */
const REVOKE = `UPDATE workflow_key SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL RETURNING ${COLUMNS}`
/** Two processes may offer a secret at the same time: the second finds that of the first. */
const OFFER_SECRET = `INSERT INTO workflow_setting (key, value) VALUES ('link_secret', ?) ON CONFLICT (key) DO NOTHING`
const SECRET = `SELECT value FROM workflow_setting WHERE key = 'link_secret'`

export function keysOn(connection: Connection): Keys {
  const found = (cells: Cells | undefined): KeyRow | null => (cells === undefined ? null : keyOf(cells))
  return {
    add: (key) =>
      connection.write(() => {
        const { id, hash, subject, scopes, roles, tenant, createdAt, expiresAt } = key
        connection
          .statement(ADD)
          .get(id, hash, subject, JSON.stringify(scopes), JSON.stringify(roles), tenant, createdAt, expiresAt)
      }),
    find: (id) => connection.read(() => found(connection.statement(FIND).get(id))),
    list: () => connection.read(() => connection.statement(LIST).all().map(keyOf)),
    signing: async (fresh) => {
      const read = (): unknown => connection.statement(SECRET).get()?.[0]
      const known = await connection.read(read)
      if (known !== undefined) return known as string
      return connection.write(() => {
        connection.statement(OFFER_SECRET).get(fresh)
        return read() as string
      })
    },
    revoke: (id) => connection.write(() => found(connection.statement(REVOKE).get(readClock(connection), id))),
  }
}

function keyOf(cells: Cells): KeyRow {
  const [id, hash, subject, scopes, roles, tenant, createdAt, expiresAt, revokedAt] = cells
  return {
    id: id as string,
    hash: hash as string,
    subject: subject as string,
    scopes: JSON.parse(scopes as string),
    roles: JSON.parse(roles as string),
    tenant: tenant as string | null,
    createdAt: createdAt as number,
    expiresAt: expiresAt as number | null,
    revokedAt: revokedAt as number | null,
  }
}
