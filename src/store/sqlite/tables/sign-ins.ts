/** Sign-ins of browsers, each read by the hash of its token. */
import { MOST_SIGN_INS, type SignInRow, type SignIns } from '../../../model/access/sign-ins.ts'
import { readClock } from '../clock.ts'
import type { Connection } from '../connection.ts'
import type { Cells } from '../driver.ts'

const COLUMNS = 'hash, method, subject, tenant, roles, scopes, key_id, created_at, expires_at'
const ADD = `INSERT INTO workflow_sign_in (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (hash) DO NOTHING`
const MAKE_ROOM = `DELETE FROM workflow_sign_in WHERE expires_at <= ?1 OR hash IN (
  SELECT hash FROM workflow_sign_in WHERE key_id IS ?2 ORDER BY created_at DESC, hash LIMIT -1 OFFSET ${MOST_SIGN_INS})`
const FIND = `SELECT ${COLUMNS.split(', ')
  .map((name) => `s.${name}`)
  .join(', ')}
  FROM workflow_sign_in s LEFT JOIN workflow_key k ON k.id = s.key_id
  WHERE s.hash = ?1 AND s.expires_at > ?2
    AND (s.key_id IS NULL OR (k.id IS NOT NULL AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > ?2)))`
const EXTEND = 'UPDATE workflow_sign_in SET expires_at = max(expires_at, ?) WHERE hash = ?'
const REMOVE = 'DELETE FROM workflow_sign_in WHERE hash = ?'

export function signInsOn(connection: Connection): SignIns {
  return {
    add: (row) =>
      connection.write(() => {
        const { hash, method, subject, tenant, keyId, createdAt, expiresAt } = row
        const lists = [JSON.stringify(row.roles), JSON.stringify(row.scopes)]
        connection.statement(ADD).run(hash, method, subject, tenant, ...lists, keyId, createdAt, expiresAt)
        connection.statement(MAKE_ROOM).run(readClock(connection), keyId)
      }),
    find: (hash) =>
      connection.read(() => {
        const now = readClock(connection)
        const cells = connection.statement(FIND).get(hash, now)
        return cells === undefined ? null : { row: rowOf(cells), now }
      }),
    extend: ({ hash, until }) => connection.write(() => void connection.statement(EXTEND).run(until, hash)),
    remove: (hash) => connection.write(() => void connection.statement(REMOVE).run(hash)),
  }
}

function rowOf([hash, method, subject, tenant, roles, scopes, keyId, createdAt, expiresAt]: Cells): SignInRow {
  return {
    hash: hash as string,
    method: method as SignInRow['method'],
    subject: subject as string | null,
    tenant: tenant as string | null,
    roles: JSON.parse(roles as string),
    scopes: JSON.parse(scopes as string),
    keyId: keyId as string | null,
    createdAt: createdAt as number,
    expiresAt: expiresAt as number,
  }
}
