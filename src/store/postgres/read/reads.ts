/** Read models. No locks; each is one statement or a few. */
import type {
  GateRow,
  InstanceRow,
  LimitRow,
  NetRow,
  QueueRow,
  RunRow,
  ScheduleRow,
  SlotRow,
  StoredEvent,
  WorkerRow,
} from '../../rows.ts'
import type { InstanceQuery, Reads, RunQuery } from '../../store.ts'
import { ask, askOne } from '../ask.ts'
import { textArray, uuidArray } from '../batch.ts'
import * as column from '../columns.ts'
import type { Lanes } from '../lanes.ts'
import { GATES as GATE_BY_ID, RESULTS } from '../load/plain.ts'
import { type Fields, statement } from '../statement.ts'
import { doctor } from './doctor.ts'
import { EVENT_COLUMNS, eventFrom } from './event.ts'
import { Feed } from './feed.ts'

const RUNS = `SELECT ${column.selectList(column.RUN, 'r')} FROM workflow.workflow_run r`
const INSTANCES = `SELECT ${column.selectList(column.INSTANCE, 'i')} FROM workflow.workflow_instance i`
const GATES = `SELECT ${column.selectList(column.GATE, 'g')} FROM workflow.workflow_gate g WHERE g.state = 'open'`

const RUNS_BY_ID = statement(`${RUNS} WHERE r.id = ANY ($1::uuid[]) ORDER BY array_position($1::uuid[], r.id)`)
const HELD_BY = statement(`${RUNS} WHERE r.session_id = $1::text AND r.status = 'leased'`)
const INSTANCE_BY_ID = statement(`${INSTANCES} WHERE i.id = $1::uuid`)
const CHILDREN = statement(`${INSTANCES} WHERE i.parent_id = $1::uuid ORDER BY i.id`)
const NET_BY_HASH = statement(
  `SELECT ${column.selectList(column.NET, 'n')} FROM workflow.workflow_net n WHERE n.hash = $1`,
)

/** Ids are UUIDv7, hence also the order of creation. */
const INSTANCE_RUNS = statement(
  `${RUNS} WHERE r.instance_id = $1::uuid AND ($2::uuid IS NULL OR r.id > $2::uuid) ORDER BY r.id LIMIT $3::int`,
)
const COUNT_INSTANCES = statement('SELECT i.state, count(*) FROM workflow.workflow_instance i GROUP BY i.state')
const COUNT_RUNS = statement(
  `SELECT r.status, count(*) FROM workflow.workflow_run r
   WHERE r.deleted_at IS NULL AND ($1::text IS NULL OR r.queue = $1::text) GROUP BY r.status`,
)
const SLOTS = statement(
  `SELECT s.instance_id, s.key, s.value FROM workflow.workflow_slot s
   WHERE s.instance_id = $1::uuid AND s.key >= $2::text AND s.key < $2::text || chr(1114111) ORDER BY s.key`,
)
const INSTANCE_EVENTS = statement(
  `SELECT ${EVENT_COLUMNS} FROM workflow.workflow_event e WHERE e.instance_id = $1::uuid AND e.seq > $2::int ORDER BY e.seq LIMIT $3::int`,
)
const RUN_HISTORY = statement(
  `SELECT coalesce(h.event_id, 0), h.workflow_id, h.instance_id, h.seq, h.event_type, h.node, h.actor, h.tenant, h.data, h.created_at
   FROM workflow.workflow_history h WHERE h.workflow_id = $1::uuid
   ORDER BY date_trunc('milliseconds', h.created_at), coalesce(h.event_id, h.part * 9007199254740991), h.part`,
)
const OPEN_GATES = statement(`${GATES} ORDER BY g.id LIMIT $1::int`)
const OPEN_GATES_OF = statement(`${GATES} AND g.instance_id = $2::uuid ORDER BY g.id LIMIT $1::int`)
const QUEUES = statement(
  `SELECT n.name, coalesce(q.paused, false), coalesce(c.pending, 0), coalesce(c.leased, 0)
   FROM (SELECT name FROM workflow.workflow_queue
         UNION SELECT queue FROM workflow.workflow_run WHERE status IN ('pending', 'leased')) n
   LEFT JOIN workflow.workflow_queue q ON q.name = n.name
   LEFT JOIN (SELECT r.queue, count(*) FILTER (WHERE r.status = 'pending') AS pending, count(*) FILTER (WHERE r.status = 'leased') AS leased
              FROM workflow.workflow_run r WHERE r.status IN ('pending', 'leased') AND r.deleted_at IS NULL GROUP BY r.queue) c
     ON c.queue = n.name
   ORDER BY n.name`,
)
const LIMITS = statement(`SELECT ${column.selectList(column.LIMIT, 'l')} FROM workflow.workflow_limit l ORDER BY l.key`)
const WORKERS = statement(
  `SELECT ${column.selectList(column.WORKER, 'w')} FROM workflow.workflow_worker w ORDER BY w.id`,
)
const SCHEDULES = statement(
  `SELECT ${column.selectList(column.SCHEDULE, 'c')} FROM workflow.workflow_cron c ORDER BY c.name`,
)
const CHECKPOINT = statement(
  'SELECT c.state, c.sequence FROM workflow.workflow_checkpoint c WHERE c.run_id = $1::uuid AND c.state IS NOT NULL',
)

const netFrom = column.decoder(column.NET)
const slotFrom = column.decoder(column.SLOT)
const countFrom = (fields: Fields): [string, number] => [fields[0] as string, Number(fields[1])]

export class PostgresReads implements Reads {
  readonly #lanes: Lanes
  readonly #feed: Feed

  constructor(lanes: Lanes) {
    this.#lanes = lanes
    this.#feed = new Feed(lanes)
  }

  async run(id: string): Promise<RunRow | null> {
    return askOne(this.#lanes, { statement: RUNS_BY_ID, values: [uuidArray([id])], row: column.runFrom })
  }

  async runs(params: { readonly ids: readonly string[] }): Promise<readonly RunRow[]> {
    if (params.ids.length === 0) return []
    return ask(this.#lanes, { statement: RUNS_BY_ID, values: [uuidArray(params.ids)], row: column.runFrom })
  }

  async instance(id: string): Promise<InstanceRow | null> {
    return askOne(this.#lanes, { statement: INSTANCE_BY_ID, values: [id], row: column.instanceFrom })
  }

  async net(hash: string): Promise<NetRow | null> {
    return askOne(this.#lanes, { statement: NET_BY_HASH, values: [hash], row: netFrom })
  }

  /** One statement per set of filters in use: a plan for `state = …` must not be one for `any state`. */
  async listInstances(params: InstanceQuery): Promise<readonly InstanceRow[]> {
    const where = new Conditions()
    if (params.states !== null) where.add((n) => `i.state = ANY (${n}::text[])`, textArray(params.states))
    if (params.name !== null) where.add((n) => `i.name = ${n}`, params.name)
    if (params.dialect !== null) where.add((n) => `i.dialect = ${n}`, params.dialect)
    if (params.tenant !== null) where.add((n) => `i.tenant = ${n}`, params.tenant)
    if (params.before !== null) where.add((n) => `i.id < ${n}::uuid`, params.before)
    if (params.rootsOnly) where.conditions.push('i.parent_id IS NULL')
    const text = `${INSTANCES} ${where.text()} ORDER BY i.id DESC LIMIT ${where.value(String(params.limit))}::int`
    return ask(this.#lanes, { statement: statement(text), values: where.values, row: column.instanceFrom })
  }

  async listRuns(params: RunQuery): Promise<readonly RunRow[]> {
    const where = new Conditions()
    where.conditions.push('r.deleted_at IS NULL')
    if (params.status !== null) where.add((n) => `r.status = ANY (${n}::text[])`, textArray(params.status))
    if (params.queue !== null) where.add((n) => `r.queue = ${n}`, params.queue)
    if (params.type !== null) where.add((n) => `r.type = ${n}`, params.type)
    if (params.tenant !== null) where.add((n) => `r.tenant = ${n}`, params.tenant)
    if (params.before !== null) where.add((n) => `r.id < ${n}::uuid`, params.before)
    if (params.deadLetter !== null) where.conditions.push(params.deadLetter ? 'r.dead_letter' : 'NOT r.dead_letter')
    const text = `${RUNS} ${where.text()} ORDER BY r.id DESC LIMIT ${where.value(String(params.limit))}::int`
    return ask(this.#lanes, { statement: statement(text), values: where.values, row: column.runFrom })
  }

  async countInstances(): Promise<ReadonlyMap<string, number>> {
    return new Map(await ask(this.#lanes, { statement: COUNT_INSTANCES, row: countFrom }))
  }

  async countRuns(params: { readonly queue: string | null }): Promise<ReadonlyMap<string, number>> {
    return new Map(await ask(this.#lanes, { statement: COUNT_RUNS, values: [params.queue], row: countFrom }))
  }

  async instanceRuns(params: {
    readonly instanceId: string
    readonly limit: number
    readonly after: string | null
  }): Promise<readonly RunRow[]> {
    const values = [params.instanceId, params.after, String(params.limit)]
    return ask(this.#lanes, { statement: INSTANCE_RUNS, values, row: column.runFrom })
  }

  async children(instanceId: string): Promise<readonly InstanceRow[]> {
    return ask(this.#lanes, { statement: CHILDREN, values: [instanceId], row: column.instanceFrom })
  }

  async slots(params: { readonly instanceId: string; readonly prefix: string }): Promise<readonly SlotRow[]> {
    return ask(this.#lanes, { statement: SLOTS, values: [params.instanceId, params.prefix], row: slotFrom })
  }

  async results(params: {
    readonly instanceId: string
    readonly nodes: readonly string[]
  }): Promise<ReadonlyMap<string, string | null>> {
    const { instanceId, nodes } = params
    if (nodes.length === 0) return new Map()
    const row = (fields: Fields): [string, string | null] => [
      `${instanceId}/${nodes[Number(fields[0]) - 1]}`,
      fields[1] as string | null,
    ]
    const values = [uuidArray(nodes.map(() => instanceId)), textArray(nodes)]
    return new Map(await ask(this.#lanes, { statement: RESULTS, values, row }))
  }

  async instanceEvents(params: {
    readonly instanceId: string
    readonly afterSeq: number
    readonly limit: number
  }): Promise<readonly StoredEvent[]> {
    const values = [params.instanceId, String(params.afterSeq), String(params.limit)]
    return ask(this.#lanes, { statement: INSTANCE_EVENTS, values, row: eventFrom })
  }

  async runHistory(runId: string): Promise<readonly StoredEvent[]> {
    return ask(this.#lanes, { statement: RUN_HISTORY, values: [runId], row: eventFrom })
  }

  feed(params: { readonly afterId: number; readonly limit: number }): Promise<readonly StoredEvent[]> {
    return this.#feed.read(params)
  }

  async heldBy(sessionId: string): Promise<readonly RunRow[]> {
    return ask(this.#lanes, { statement: HELD_BY, values: [sessionId], row: column.runFrom })
  }

  async gate(id: string): Promise<GateRow | null> {
    return askOne(this.#lanes, { statement: GATE_BY_ID, values: [uuidArray([id])], row: column.gateFrom })
  }

  async openGates(params: { readonly instanceId: string | null; readonly limit: number }): Promise<readonly GateRow[]> {
    const { instanceId, limit } = params
    return instanceId === null
      ? ask(this.#lanes, { statement: OPEN_GATES, values: [String(limit)], row: column.gateFrom })
      : ask(this.#lanes, { statement: OPEN_GATES_OF, values: [String(limit), instanceId], row: column.gateFrom })
  }

  async queues(): Promise<readonly (QueueRow & { readonly pending: number; readonly leased: number })[]> {
    const row = (fields: Fields) => ({
      name: fields[0] as string,
      paused: fields[1] === 't',
      pending: Number(fields[2]),
      leased: Number(fields[3]),
    })
    return ask(this.#lanes, { statement: QUEUES, row })
  }

  async limits(): Promise<readonly LimitRow[]> {
    return ask(this.#lanes, { statement: LIMITS, row: column.limitFrom })
  }

  async workers(): Promise<readonly WorkerRow[]> {
    return ask(this.#lanes, { statement: WORKERS, row: column.workerFrom })
  }

  async schedules(): Promise<readonly ScheduleRow[]> {
    return ask(this.#lanes, { statement: SCHEDULES, row: column.scheduleFrom })
  }

  async checkpoint(runId: string): Promise<{ readonly state: string; readonly sequence: number } | null> {
    const row = (fields: Fields) => ({ state: fields[0] as string, sequence: Number(fields[1]) })
    return askOne(this.#lanes, { statement: CHECKPOINT, values: [runId], row })
  }

  doctor(): Promise<readonly { readonly check: string; readonly subject: string; readonly finding: string }[]> {
    return doctor(this.#lanes)
  }
}

/** A WHERE clause with its values. */
class Conditions {
  readonly conditions: string[] = []
  readonly values: string[] = []

  add(condition: (parameter: string) => string, value: string): void {
    this.conditions.push(condition(this.value(value)))
  }

  value(value: string): string {
    this.values.push(value)
    return `$${this.values.length}`
  }

  text(): string {
    return this.conditions.length === 0 ? '' : `WHERE ${this.conditions.join(' AND ')}`
  }
}
