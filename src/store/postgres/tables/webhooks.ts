/** Webhooks and their outbox. */
import {
  type Columns,
  columnList,
  DELIVERY,
  DELIVERY_HEAD,
  type DeliveryHead,
  type DeliveryRow,
  WEBHOOK,
  type WebhookRow,
  type Webhooks,
} from '../../../model/webhooks.ts'
import { ask, askOne } from '../connection/ask.ts'
import type { Lanes } from '../connection/lanes.ts'
import { type Fields, statement } from '../connection/statement.ts'
import { parseTime } from '../connection/time.ts'

const HOOK = `SELECT ${columnList(WEBHOOK)} FROM workflow.workflow_webhook`
const SENT = `SELECT ${columnList(DELIVERY)} FROM workflow.workflow_webhook_delivery`
const ADD = statement(
  `INSERT INTO workflow.workflow_webhook (${columnList(WEBHOOK)})
   VALUES (${WEBHOOK.map(([, , kind], at) => parameter(kind, at + 1)).join(', ')}) ON CONFLICT (id) DO NOTHING`,
)
const FIND = statement(`${HOOK} WHERE id = $1`)
const LIST = statement(`${HOOK} WHERE $1::text IS NULL OR tenant = $1::text ORDER BY id`)
const REMOVE = statement(
  `WITH deliveries AS (DELETE FROM workflow.workflow_webhook_delivery WHERE webhook_id = $1)
   DELETE FROM workflow.workflow_webhook WHERE id = $1 RETURNING id`,
)
/** $1 holder, $2 half of the lease in ms. Rows that another process is about to take are skipped. */
const HOLD = statement(
  `WITH clock AS (SELECT workflow.clock() AS at),
   free AS MATERIALIZED (
     SELECT w.id FROM workflow.workflow_webhook w, clock c
     WHERE w.active AND (w.lease_until IS NULL OR w.lease_until <= c.at OR w.lease_by = $1)
       AND (w.lease_by IS DISTINCT FROM $1 OR w.lease_until <= c.at + make_interval(secs => $2::float8 / 1000))
     FOR UPDATE OF w SKIP LOCKED
   )
   UPDATE workflow.workflow_webhook w SET
     lease_by = $1, lease_until = (SELECT at FROM clock) + make_interval(secs => $2::float8 * 2 / 1000)
   FROM free WHERE w.id = free.id`,
)
const HELD = statement(`${HOOK} WHERE active AND lease_by = $1 AND lease_until > workflow.clock() ORDER BY id`)
const RELEASE = statement(
  'UPDATE workflow.workflow_webhook SET lease_by = NULL, lease_until = NULL WHERE lease_by = $1',
)
const ADVANCE = statement(
  `WITH moved AS (
     UPDATE workflow.workflow_webhook SET cursor = $4::bigint
     WHERE id = $1 AND cursor = $3::bigint AND lease_by = $2 RETURNING id
   ), added AS (
     INSERT INTO workflow.workflow_webhook_delivery
       (id, webhook_id, feed_id, part, event_id, event_type, body, state, next_at, created_at)
     SELECT x.id, moved.id, x.feed_id, x.part, x.event_id, x.event_type, x.body, 'pending', c.at, c.at
     FROM moved, (SELECT workflow.clock() AS at) c,
       json_to_recordset($5::json) x(id text, feed_id bigint, part int, event_id text, event_type text, body text)
     ON CONFLICT (id) DO NOTHING
   )
   SELECT id FROM moved`,
)
const DUE = statement(
  `${SENT} WHERE webhook_id = $1 AND state = 'pending' AND next_at <= workflow.clock() ORDER BY feed_id, part LIMIT $2::int`,
)
const FIRST = statement(
  `SELECT * FROM (${SENT} WHERE webhook_id = $1 AND state = 'pending' ORDER BY feed_id, part LIMIT 1) d
   WHERE d.next_at <= workflow.clock()`,
)
const COUNT = statement(
  `SELECT count(*) FROM (
     SELECT 1 FROM workflow.workflow_webhook_delivery WHERE webhook_id = $1 AND state = 'pending' LIMIT $2::int) d`,
)
const ATTEMPTED = statement(
  `WITH clock AS (SELECT workflow.clock() AS at),
   recorded AS (
     UPDATE workflow.workflow_webhook SET last_at = greatest(last_at, (SELECT at FROM clock)), last_status = $5::int,
       failures = CASE $3::text WHEN 'delivered' THEN 0 ELSE failures + 1 END
     WHERE id = $1
   )
   UPDATE workflow.workflow_webhook_delivery SET state = $3::text, attempts = attempts + 1,
     next_at = (SELECT at FROM clock) + make_interval(secs => $4::float8 / 1000),
     last_status = $5::int, last_error = $6, last_ms = $7::int,
     ended_at = CASE $3::text WHEN 'pending' THEN NULL ELSE (SELECT at FROM clock) END
   WHERE id = $2 AND state = 'pending'`,
)
const DELIVERY_BY_ID = statement(`${SENT} WHERE id = $1`)
const LOG = statement(
  `SELECT ${columnList(DELIVERY_HEAD)} FROM workflow.workflow_webhook_delivery WHERE webhook_id = $1 AND ($2::text IS NULL OR state = $2::text)
   ORDER BY feed_id DESC, part DESC LIMIT $3::int OFFSET $4::int`,
)
const AGAIN = statement(
  `UPDATE workflow.workflow_webhook_delivery SET state = 'pending', attempts = 0, next_at = workflow.clock(), ended_at = NULL
   WHERE id = $1 RETURNING ${columnList(DELIVERY)}`,
)
const PRUNE = statement(
  `DELETE FROM workflow.workflow_webhook_delivery WHERE id IN (
     SELECT id FROM workflow.workflow_webhook_delivery
     WHERE ended_at IS NOT NULL
       AND ended_at < to_timestamp(CASE state WHEN 'dead' THEN $2::float8 ELSE $1::float8 END / 1000)
     LIMIT $3::int FOR UPDATE SKIP LOCKED) RETURNING id`,
)

export function webhooksOn(lanes: Lanes): Webhooks {
  const hookFrom = (fields: Fields): WebhookRow => rowFrom(WEBHOOK, fields)
  const headFrom = (fields: Fields): DeliveryHead => rowFrom(DELIVERY_HEAD, fields)
  const deliveryFrom = (fields: Fields): DeliveryRow => rowFrom(DELIVERY, fields)
  return {
    add: async (row) => {
      await ask(lanes, { statement: ADD, values: WEBHOOK.map((column) => textOf(row, column)), row: () => null })
    },
    find: (id) => askOne(lanes, { statement: FIND, values: [id], row: hookFrom }),
    list: ({ tenant }) => ask(lanes, { statement: LIST, values: [tenant], row: hookFrom }),
    update: ({ id, set }) => {
      const given = WEBHOOK.filter(([property]) => property in set)
      const changes = given.map(([, name, kind], at) => `${name} = ${parameter(kind, at + 2)}`)
      const text = `UPDATE workflow.workflow_webhook SET ${[...changes, 'updated_at = workflow.clock()'].join(', ')}
        WHERE id = $1 RETURNING ${columnList(WEBHOOK)}`
      const values = [id, ...given.map((column) => textOf(set as Partial<WebhookRow>, column))]
      return askOne(lanes, { statement: statement(text), values, row: hookFrom })
    },
    remove: async (id) => (await askOne(lanes, { statement: REMOVE, values: [id], row: () => true })) ?? false,
    hold: async ({ holder, leaseMs }) => {
      await ask(lanes, { statement: HOLD, values: [holder, String(leaseMs / 2)], row: () => null })
      return ask(lanes, { statement: HELD, values: [holder], row: hookFrom })
    },
    release: async (holder) => {
      await ask(lanes, { statement: RELEASE, values: [holder], row: () => null })
    },
    advance: async ({ id, holder, from, to, deliveries }) => {
      const rows = deliveries.map((d) => ({
        id: d.id,
        feed_id: d.feedId,
        part: d.part,
        event_id: d.eventId,
        event_type: d.eventType,
        body: d.body,
      }))
      const values = [id, holder, String(from), String(to), JSON.stringify(rows)]
      return (await askOne(lanes, { statement: ADVANCE, values, row: () => true })) ?? false
    },
    due: ({ webhookId, ordered, limit }) =>
      ordered
        ? ask(lanes, { statement: FIRST, values: [webhookId], row: deliveryFrom })
        : ask(lanes, { statement: DUE, values: [webhookId, String(limit)], row: deliveryFrom }),
    countPending: async ({ webhookId, atMost }) =>
      (await askOne(lanes, { statement: COUNT, values: [webhookId, String(atMost)], row: ([n]) => Number(n) })) ?? 0,
    attempted: async ({ webhookId, attempt: { id, state, delayMs, status, error, ms } }) => {
      const values = [
        webhookId,
        id,
        state,
        String(delayMs),
        status === null ? null : String(status),
        error,
        String(Math.round(ms)),
      ]
      await ask(lanes, { statement: ATTEMPTED, values, row: () => null })
    },
    delivery: (id) => askOne(lanes, { statement: DELIVERY_BY_ID, values: [id], row: deliveryFrom }),
    log: ({ webhookId, state, limit, offset }) =>
      ask(lanes, { statement: LOG, values: [webhookId, state, String(limit), String(offset)], row: headFrom }),
    again: (id) => askOne(lanes, { statement: AGAIN, values: [id], row: deliveryFrom }),
    prune: async ({ deliveredBefore, deadBefore, limit }) => {
      const values = [String(deliveredBefore), String(deadBefore), String(limit)]
      return (await ask(lanes, { statement: PRUNE, values, row: () => null })).length
    },
  }
}

type Kind = Columns<WebhookRow>[number][2]

function parameter(kind: Kind, at: number): string {
  if (kind === 'time') return `to_timestamp($${at}::float8 / 1000)`
  const types = { text: 'text', number: 'bigint', flag: 'boolean', json: 'json', raw: 'json' }
  return `$${at}::${types[kind]}`
}

function textOf<Row>(row: Partial<Row>, [property, , kind]: Columns<Row>[number]): string | null {
  const value = row[property] as unknown
  if (value === null || value === undefined) return null
  return kind === 'json' ? JSON.stringify(value) : String(value)
}

function rowFrom<Row>(columns: Columns<Row>, fields: Fields): Row {
  return Object.fromEntries(
    columns.map(([property, , kind], at) => {
      const field = fields[at] as string | null
      return [property, field === null ? null : read(kind, field)]
    }),
  ) as Row
}

function read(kind: Kind, field: string): unknown {
  if (kind === 'time') return parseTime(field)
  if (kind === 'number') return Number(field)
  if (kind === 'flag') return field === 't'
  return kind === 'json' ? JSON.parse(field) : field
}
