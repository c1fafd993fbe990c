/** Webhooks and their outbox. */
import {
  type Columns,
  columnList,
  DELIVERY,
  DELIVERY_HEAD,
  WEBHOOK,
  type WebhookRow,
  type Webhooks,
} from '../../../model/webhooks.ts'
import { readClock } from '../clock.ts'
import type { Connection } from '../connection.ts'
import type { Cells, Value } from '../driver.ts'

const HOOK = `SELECT ${columnList(WEBHOOK)} FROM workflow_webhook`
const SENT = `SELECT ${columnList(DELIVERY)} FROM workflow_webhook_delivery`
const ADD = `INSERT INTO workflow_webhook (${columnList(WEBHOOK)}) VALUES (${WEBHOOK.map(() => '?').join(', ')})`
const REMOVE_DELIVERIES = 'DELETE FROM workflow_webhook_delivery WHERE webhook_id = ?'
const REMOVE = 'DELETE FROM workflow_webhook WHERE id = ? RETURNING id'
const FREE = `active = 1 AND (lease_until IS NULL OR lease_until <= ?2 OR lease_by = ?1)`
const STALE = `SELECT 1 FROM workflow_webhook WHERE ${FREE} AND (lease_by IS NOT ?1 OR lease_until <= ?2 + ?3) LIMIT 1`
const HOLD = `UPDATE workflow_webhook SET lease_by = ?1, lease_until = ?2 + ?3 * 2 WHERE ${FREE}`
const HELD = `${HOOK} WHERE active = 1 AND lease_by = ?1 AND lease_until > ?2 ORDER BY id`
const RELEASE = 'UPDATE workflow_webhook SET lease_by = NULL, lease_until = NULL WHERE lease_by = ?'
const ADVANCE = 'UPDATE workflow_webhook SET cursor = ?1 WHERE id = ?2 AND cursor = ?3 AND lease_by = ?4 RETURNING id'
const DELIVER = `INSERT INTO workflow_webhook_delivery
    (id, webhook_id, feed_id, part, event_id, event_type, body, state, next_at, created_at)
  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 'pending', ?8, ?8) ON CONFLICT (id) DO NOTHING`
const PENDING = `webhook_id = ?1 AND state = 'pending'`
const DUE = `${SENT} WHERE ${PENDING} AND next_at <= ?2 ORDER BY feed_id, part LIMIT ?3`
const FIRST = `${SENT} WHERE ${PENDING} ORDER BY feed_id, part LIMIT 1`
const COUNT = `SELECT count(*) FROM (SELECT 1 FROM workflow_webhook_delivery WHERE ${PENDING} LIMIT ?2)`
const ATTEMPTED = `UPDATE workflow_webhook_delivery SET state = ?1, attempts = attempts + 1, next_at = ?2 + ?3,
    last_status = ?4, last_error = ?5, last_ms = ?6, ended_at = CASE ?1 WHEN 'pending' THEN NULL ELSE ?2 END
  WHERE id = ?7 AND state = 'pending'`
const COUNTED = `UPDATE workflow_webhook SET last_at = max(coalesce(last_at, 0), ?1), last_status = ?2,
    failures = CASE ?3 WHEN 'delivered' THEN 0 ELSE failures + 1 END WHERE id = ?4`
const LOG = `SELECT ${columnList(DELIVERY_HEAD)} FROM workflow_webhook_delivery
  WHERE webhook_id = ?1 AND (?2 IS NULL OR state = ?2) ORDER BY feed_id DESC, part DESC LIMIT ?3 OFFSET ?4`
const AGAIN = `UPDATE workflow_webhook_delivery SET state = 'pending', attempts = 0, next_at = ?1, ended_at = NULL
  WHERE id = ?2 RETURNING ${columnList(DELIVERY)}`
const PRUNE = `DELETE FROM workflow_webhook_delivery WHERE id IN (
  SELECT id FROM workflow_webhook_delivery
  WHERE ended_at IS NOT NULL AND ended_at < CASE state WHEN 'dead' THEN ?2 ELSE ?1 END LIMIT ?3) RETURNING id`

export function webhooksOn(connection: Connection): Webhooks {
  const write = <T>(work: () => T): Promise<T> => connection.write(work, () => undefined)
  const one = <Row>(columns: Columns<Row>, sql: string, ...values: Value[]): Row | null => {
    const cells = connection.statement(sql).get(...values)
    return cells === undefined ? null : rowOf(columns, cells)
  }
  const many = <Row>(columns: Columns<Row>, sql: string, ...values: Value[]): Row[] =>
    connection
      .statement(sql)
      .all(...values)
      .map((cells) => rowOf(columns, cells))

  return {
    add: (row) => write(() => void connection.statement(ADD).get(...WEBHOOK.map((column) => cellOf(row, column)))),
    find: (id) => connection.read(() => one(WEBHOOK, `${HOOK} WHERE id = ?`, id)),
    list: ({ tenant }) =>
      connection.read(() => many(WEBHOOK, `${HOOK} WHERE ?1 IS NULL OR tenant = ?1 ORDER BY id`, tenant)),
    update: ({ id, set }) =>
      write(() => {
        const given = WEBHOOK.filter(([property]) => property in set)
        const changes = [...given.map(([, name]) => `${name} = ?`), 'updated_at = ?'].join(', ')
        const values = given.map((column) => cellOf(set as Partial<WebhookRow>, column))
        const sql = `UPDATE workflow_webhook SET ${changes} WHERE id = ? RETURNING ${columnList(WEBHOOK)}`
        return one(WEBHOOK, sql, ...values, readClock(connection), id)
      }),
    remove: (id) =>
      write(() => {
        connection.statement(REMOVE_DELIVERIES).get(id)
        return connection.statement(REMOVE).get(id) !== undefined
      }),
    hold: (params) => hold(connection, params),
    release: (holder) => write(() => void connection.statement(RELEASE).get(holder)),
    advance: ({ id, holder, from, to, deliveries }) =>
      write(() => {
        if (connection.statement(ADVANCE).get(to, id, from, holder) === undefined) return false
        const now = readClock(connection)
        for (const d of deliveries) {
          connection.statement(DELIVER).get(d.id, id, d.feedId, d.part, d.eventId, d.eventType, d.body, now)
        }
        return true
      }),
    due: ({ webhookId, ordered, limit }) =>
      connection.read(() => {
        const now = readClock(connection)
        if (!ordered) return many(DELIVERY, DUE, webhookId, now, limit)
        return many(DELIVERY, FIRST, webhookId).filter((row) => row.nextAt <= now)
      }),
    countPending: ({ webhookId, atMost }) =>
      connection.read(() => connection.statement(COUNT).get(webhookId, atMost)?.[0] as number),
    attempted: ({ webhookId, attempt: { id, state, delayMs, status, error, ms } }) =>
      write(() => {
        const now = readClock(connection)
        connection.statement(ATTEMPTED).get(state, now, delayMs, status, error, ms, id)
        connection.statement(COUNTED).get(now, status, state, webhookId)
      }),
    delivery: (id) => connection.read(() => one(DELIVERY, `${SENT} WHERE id = ?`, id)),
    log: ({ webhookId, state, limit, offset }) =>
      connection.read(() => many(DELIVERY_HEAD, LOG, webhookId, state, limit, offset)),
    again: (id) => write(() => one(DELIVERY, AGAIN, readClock(connection), id)),
    prune: ({ deliveredBefore, deadBefore, limit }) =>
      write(() => connection.statement(PRUNE).all(deliveredBefore, deadBefore, limit).length),
  }
}

/** Writes only when a lease has to be taken or renewed: a look needs no commit. */
async function hold(
  connection: Connection,
  { holder, leaseMs }: { readonly holder: string; readonly leaseMs: number },
): Promise<readonly WebhookRow[]> {
  const half = Math.floor(leaseMs / 2)
  const stale = await connection.read(
    () => connection.statement(STALE).get(holder, readClock(connection), half) !== undefined,
  )
  if (stale) {
    await connection.write(
      () => void connection.statement(HOLD).get(holder, readClock(connection), half),
      () => undefined,
    )
  }
  return connection.read(() =>
    connection
      .statement(HELD)
      .all(holder, readClock(connection))
      .map((cells) => rowOf(WEBHOOK, cells)),
  )
}

function cellOf<Row>(row: Partial<Row>, [property, , kind]: Columns<Row>[number]): Value {
  const value = row[property] as unknown
  if (value === null || value === undefined) return null
  if (kind === 'json') return JSON.stringify(value)
  return kind === 'flag' ? Number(value) : (value as Value)
}

function rowOf<Row>(columns: Columns<Row>, cells: Cells): Row {
  return Object.fromEntries(
    columns.map(([property, , kind], at) => {
      const cell = cells[at] as Value
      if (cell === null) return [property, null]
      return [property, kind === 'json' ? JSON.parse(cell as string) : kind === 'flag' ? cell === 1 : cell]
    }),
  ) as Row
}
