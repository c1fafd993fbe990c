/** Sign-ins of browsers, each read by the hash of its token. */
import { MOST_SIGN_INS, type SignInRow, type SignIns } from '../../../model/access/sign-ins.ts'
import { ask, askOne } from '../connection/ask.ts'
import type { Lanes } from '../connection/lanes.ts'
import { type Fields, statement } from '../connection/statement.ts'
import { parseTime } from '../connection/time.ts'

const COLUMNS = 'hash, method, subject, tenant, roles, scopes, key_id, created_at, expires_at'

const ADD = statement(
  `INSERT INTO workflow.workflow_sign_in (${COLUMNS})
   VALUES ($1, $2, $3, $4, $5::json, $6::json, $7, to_timestamp($8::float8 / 1000), to_timestamp($9::float8 / 1000))
   ON CONFLICT (hash) DO NOTHING`,
)
/** Skips what another process removes at the same time. */
const MAKE_ROOM = statement(
  `DELETE FROM workflow.workflow_sign_in d WHERE d.hash IN (
     SELECT s.hash FROM workflow.workflow_sign_in s
     WHERE s.expires_at <= workflow.clock() OR s.hash IN (
       SELECT k.hash FROM workflow.workflow_sign_in k WHERE k.key_id IS NOT DISTINCT FROM $1::text
       ORDER BY k.created_at DESC, k.hash OFFSET ${MOST_SIGN_INS})
     FOR UPDATE SKIP LOCKED)`,
)
const FIND = statement(
  `SELECT ${COLUMNS.split(', ')
    .map((name) => `s.${name}`)
    .join(', ')}, workflow.clock()
   FROM workflow.workflow_sign_in s LEFT JOIN workflow.workflow_key k ON k.id = s.key_id
   WHERE s.hash = $1 AND s.expires_at > workflow.clock()
     AND (s.key_id IS NULL
       OR (k.id IS NOT NULL AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > workflow.clock())))`,
)
const EXTEND = statement(
  `UPDATE workflow.workflow_sign_in SET expires_at = greatest(expires_at, to_timestamp($2::float8 / 1000)) WHERE hash = $1`,
)
const REMOVE = statement('DELETE FROM workflow.workflow_sign_in WHERE hash = $1')

export function signInsOn(lanes: Lanes): SignIns {
  return {
    add: async (row) => {
      const { hash, method, subject, tenant, keyId } = row
      const lists = [JSON.stringify(row.roles), JSON.stringify(row.scopes)]
      const times = [String(row.createdAt), String(row.expiresAt)]
      await ask(lanes, {
        statement: ADD,
        values: [hash, method, subject, tenant, ...lists, keyId, ...times],
        row: () => null,
      })
      await ask(lanes, { statement: MAKE_ROOM, values: [keyId], row: () => null })
    },
    find: (hash) =>
      askOne(lanes, {
        statement: FIND,
        values: [hash],
        row: (fields) => ({ row: rowFrom(fields), now: parseTime(fields[9] as string) }),
      }),
    extend: async ({ hash, until }) => {
      await ask(lanes, { statement: EXTEND, values: [hash, String(until)], row: () => null })
    },
    remove: async (hash) => {
      await ask(lanes, { statement: REMOVE, values: [hash], row: () => null })
    },
  }
}

function rowFrom([hash, method, subject, tenant, roles, scopes, keyId, createdAt, expiresAt]: Fields): SignInRow {
  return {
    hash: hash as string,
    method: method as SignInRow['method'],
    subject: subject ?? null,
    tenant: tenant ?? null,
    roles: JSON.parse(roles as string),
    scopes: JSON.parse(scopes as string),
    keyId: keyId ?? null,
    createdAt: parseTime(createdAt as string),
    expiresAt: parseTime(expiresAt as string),
  }
}
