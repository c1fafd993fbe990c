/** The narrow rows: what to select and how to read it. */
import { MAX_SHOWN_CHARACTERS } from '../../../kernel/limits.ts'
import { EVENT, GATE, LIMIT, NET, QUEUE, SCHEDULE, SLOT, UNIQUE, WORKER } from '../../../model/rows.ts'
import { ALWAYS_BYTES, EVENT_BYTES, PAGE_BYTES } from '../../../model/shown.ts'
import { bigint, table } from '../../../model/table.ts'
import { shownJson } from '../shown.ts'
import { namesOf, rowReader, selectOf } from './reader.ts'

export const SLOT_CELLS = selectOf(SLOT)
export const slotOf = rowReader(SLOT)
export const GATE_CELLS = selectOf(GATE)
export const gateOf = rowReader(GATE)
export const NET_CELLS = selectOf(NET)
export const netOf = rowReader(NET)
export const QUEUE_CELLS = selectOf(QUEUE)
export const queueOf = rowReader(QUEUE)
export const LIMIT_CELLS = selectOf(LIMIT)
export const limitOf = rowReader(LIMIT)
export const UNIQUE_CELLS = selectOf(UNIQUE)
export const uniqueOf = rowReader(UNIQUE)
export const WORKER_CELLS = selectOf(WORKER)
export const workerOf = rowReader(WORKER)
export const SCHEDULE_CELLS = selectOf(SCHEDULE)
export const scheduleOf = rowReader(SCHEDULE)

const LONG_OF_GATES = ['options', 'args', 'answer', 'votes']

/** Gates in this order; their long values until the sum exceeds PAGE_BYTES. Only sizes are read of the others. */
export function shownGates({ where, order, page }: { where: string; order: string; page: string }): string {
  const size = LONG_OF_GATES.map((name) => `coalesce(octet_length(${name}), 0)`).join(' + ')
  const columns = namesOf(GATE).map((name) => {
    if (name === 'reason') return `substr(reason, 1, ${MAX_SHOWN_CHARACTERS})`
    if (!LONG_OF_GATES.includes(name)) return name
    return shownJson(name, `(shown_size <= ${PAGE_BYTES} OR octet_length(${name}) <= ${ALWAYS_BYTES})`)
  })
  return `SELECT ${columns.join(', ')} FROM (
    SELECT id AS shown_id, sum(size) OVER (ORDER BY ${order} ROWS UNBOUNDED PRECEDING) AS shown_size
    FROM (SELECT id, ${size} AS size FROM workflow_gate ${where} ORDER BY ${order} ${page}))
    JOIN workflow_gate ON id = shown_id ORDER BY ${order}`
}

/** Data beyond its bound is a marker (model/shown.ts). */
export const EVENT_CELLS = `id, ${namesOf(EVENT)
  .map((name) => (name === 'data' ? shownJson('data', `octet_length(data) <= ${EVENT_BYTES}`) : name))
  .join(', ')}`

const STORED_EVENT = table('workflow_event', { id: bigint(), ...EVENT.fields })
export const eventOf = rowReader(STORED_EVENT)
