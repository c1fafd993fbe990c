/** Read models. No locks; each is one statement or a few. */

import type { InboxPage, InboxQuery, TypeDepth } from '../../../model/inbox.ts'
import type { ResultAt, ResultText } from '../../../model/queries/firings.ts'
import type {
  EventPage,
  EventQuery,
  ExecutionQueries,
  GateQuery,
  InstanceQuery,
  Progress,
  RunQuery,
} from '../../../model/queries/queries.ts'
import type {
  GateRow,
  InstanceRow,
  LimitRow,
  NetRow,
  QueueCounts,
  RunError,
  RunRow,
  ScheduleRow,
  SlotRow,
  StoredEvent,
  TotalRow,
  WorkerRow,
} from '../../../model/rows.ts'
import type { SearchQueries } from '../../../model/search/queries.ts'
import { TEMPLATE_BYTES } from '../../../model/shown.ts'
import type { InstanceState } from '../../../net/marking.ts'
import * as column from '../columns.ts'
import { ask, askOne } from '../connection/ask.ts'
import { uuidArray } from '../connection/batch.ts'
import type { Lanes, ReadLanes } from '../connection/lanes.ts'
import { type Fields, statement } from '../connection/statement.ts'
import { isUuid } from '../connection/uuid.ts'
import { LEASED } from '../leased.ts'
import { GATES as GATE_BY_ID } from '../load/plain.ts'
import { shownRuns } from '../shown.ts'
import { type Conditions, instanceConditions, runConditions } from './conditions.ts'
import { EventRows, eventPageText } from './event.ts'
import { Feed } from './feed.ts'
import { listGates, openGates, openGatesShown } from './gates.ts'
import { errorsOf, histories, historyPage, leasesLost } from './history.ts'
import { listInbox, typeDepths } from './inbox.ts'
import { MarkingReads } from './marking.ts'
import { PostgresPlaces } from './places.ts'
import { runsText } from './runs.ts'
import { searchOn } from './search.ts'
import { queueCounts, TOTALS, totalFrom } from './stats.ts'
import { PostgresSteps } from './steps.ts'
import { PostgresTrees } from './trees.ts'
import { PostgresWork } from './work.ts'

const RUNS = `SELECT ${column.selectList(column.RUN, 'r')} FROM workflow.workflow_run r`
const INSTANCES = `SELECT ${column.selectList(column.INSTANCE, 'i')} FROM workflow.workflow_instance i`
const QUEUED_BEFORE = statement(
  `SELECT count(*) FROM (SELECT FROM workflow.workflow_instance i
     WHERE i.slot_key = $1 AND i.ended_at IS NULL AND i.state = 'queued'
       AND (i.queued_at, i.id) < (to_timestamp($2::float8 / 1000), $3::uuid) LIMIT $4::int) before`,
)

const RUNS_BY_ID = statement(`${RUNS} WHERE r.id = ANY ($1::uuid[]) ORDER BY array_position($1::uuid[], r.id)`)
const HELD_BY = statement(`${RUNS} WHERE r.session_id = $1::text AND ${LEASED}`)
const INSTANCE_BY_ID = statement(`${INSTANCES} WHERE i.id = $1::uuid`)
const CHILDREN = statement(`${INSTANCES} WHERE i.parent_id = $1::uuid ORDER BY i.id LIMIT $2::int8`)
const NET_BY_HASH = statement(
  `SELECT ${column.selectList(column.NET, 'n')} FROM workflow.workflow_net n WHERE n.hash = $1`,
)

/** Ids are UUIDv7, hence also the order of creation. */
const INSTANCE_RUNS = statement(
  `${RUNS} WHERE r.instance_id = $1::uuid AND ($2::uuid IS NULL OR r.id > $2::uuid) ORDER BY r.id LIMIT $3::int`,
)
const SHOWN_INSTANCE_RUNS = statement(
  shownRuns(
    `SELECT * FROM workflow.workflow_run r WHERE r.instance_id = $1::uuid AND ($2::uuid IS NULL OR r.id > $2::uuid)
     ORDER BY r.id LIMIT $3::int`,
    'r.id',
    '$4',
  ),
)
const COUNT_INSTANCES = statement('SELECT i.state, count(*) FROM workflow.workflow_instance i GROUP BY i.state')
const COUNT_RUNS = statement(
  `SELECT r.status, count(*) FROM workflow.workflow_run r
   WHERE r.deleted_at IS NULL AND ($1::text IS NULL OR r.queue = $1::text) GROUP BY r.status`,
)
const INSTANCE_EVENTS = statement(
  eventPageText(
    'SELECT * FROM workflow.workflow_event e WHERE e.instance_id = $1::uuid AND e.seq > $2::int ORDER BY e.seq LIMIT $3::int',
    'e.seq',
  ),
)
const PROGRESS = statement(
  'SELECT i.id, i.event_seq, i.state FROM workflow.workflow_instance i WHERE i.id = ANY ($1::uuid[])',
)
const QUEUES_PAUSED = statement('SELECT q.name, q.paused FROM workflow.workflow_queue q')
const LIMITS = statement(`SELECT ${column.selectList(column.LIMIT, 'l')} FROM workflow.workflow_limit l ORDER BY l.key`)
const WORKERS = statement(
  `SELECT ${column.selectList(column.WORKER, 'w')} FROM workflow.workflow_worker w ORDER BY w.id`,
)
const CRON = `SELECT ${column.selectList(column.SCHEDULE, 'c')} FROM workflow.workflow_cron c`
const SCHEDULES = statement(
  `${CRON.replace(
    'c.template',
    `CASE WHEN octet_length(c.template::text) <= ${TEMPLATE_BYTES} THEN c.template::text
     ELSE '{"$omitted":{"bytes":' || octet_length(c.template::text) || '}}' END`,
  )} ORDER BY c.name`,
)
const SCHEDULE = statement(`${CRON} WHERE c.name = $1`)
const CHECKPOINT = statement(
  'SELECT c.state, c.sequence FROM workflow.workflow_checkpoint c WHERE c.run_id = $1::uuid AND c.state IS NOT NULL',
)

const netFrom = column.decoder(column.NET)
const countFrom = (fields: Fields): [string, number] => [fields[0] as string, Number(fields[1])]

export class PostgresReads implements Omit<ExecutionQueries, 'doctor'> {
  readonly trees: PostgresTrees
  readonly steps: PostgresSteps
  readonly search: SearchQueries
  readonly places: PostgresPlaces
  readonly work: PostgresWork
  readonly #lanes: Lanes
  readonly #views: Lanes
  readonly #lists: Lanes
  readonly #feed: Feed
  readonly #marking: MarkingReads

  constructor({ reads, views, lists }: ReadLanes) {
    this.#lanes = reads
    this.#views = views
    this.#lists = lists
    this.#feed = new Feed({ reads, lists })
    this.#marking = new MarkingReads({ reads, views })
    this.trees = new PostgresTrees({ reads, views, lists })
    this.steps = new PostgresSteps(views)
    this.search = searchOn(lists)
    this.places = new PostgresPlaces(views)
    this.work = new PostgresWork(views)
  }

  async run(id: string): Promise<RunRow | null> {
    if (!isUuid(id)) return null
    return askOne(this.#lanes, { statement: RUNS_BY_ID, values: [uuidArray([id])], row: column.runFrom })
  }

  async runs(params: { readonly ids: readonly string[] }): Promise<readonly RunRow[]> {
    const ids = params.ids.filter(isUuid)
    if (ids.length === 0) return []
    return ask(this.#lanes, { statement: RUNS_BY_ID, values: [uuidArray(ids)], row: column.runFrom })
  }

  async instance(id: string): Promise<InstanceRow | null> {
    if (!isUuid(id)) return null
    return askOne(this.#lanes, { statement: INSTANCE_BY_ID, values: [id], row: column.instanceFrom })
  }

  async net(hash: string): Promise<NetRow | null> {
    return askOne(this.#lanes, { statement: NET_BY_HASH, values: [hash], row: netFrom })
  }

  /** One statement per set of filters in use: a plan for `state = …` does not suit `any state`. */
  async listInstances(params: InstanceQuery): Promise<readonly InstanceRow[]> {
    const where = instanceConditions(params)
    const text = `${INSTANCES} ${where.text()} ORDER BY i.id DESC ${where.page(params)}`
    return ask(this.#lists, { statement: statement(text), values: where.values, row: column.instanceFrom })
  }

  async listRuns(params: RunQuery): Promise<readonly RunRow[]> {
    const where = runConditions(params)
    const text = runsText(where, params)
    return ask(this.#lists, { statement: statement(text), values: where.values, row: column.runFrom })
  }

  listInbox(query: InboxQuery): Promise<InboxPage> {
    return listInbox(this.#lists, query)
  }

  typeDepths(): Promise<readonly TypeDepth[]> {
    return typeDepths(this.#lists)
  }

  countListedInstances(query: InstanceQuery, atMost: number): Promise<number> {
    return this.#count('FROM workflow.workflow_instance i', instanceConditions(query), atMost)
  }

  countListedRuns(query: RunQuery, atMost: number): Promise<number> {
    return this.#count('FROM workflow.workflow_run r', runConditions(query), atMost)
  }

  async #count(from: string, where: Conditions, atMost: number): Promise<number> {
    const text = `SELECT count(*) FROM (SELECT ${from} ${where.text()} LIMIT ${where.value(String(atMost))}::int) x`
    const row = (fields: Fields): number => Number(fields[0])
    return (await askOne(this.#lists, { statement: statement(text), values: where.values, row })) ?? 0
  }

  queueCounts(params: { readonly queue: string | null }): Promise<readonly QueueCounts[]> {
    return queueCounts(this.#lists, params.queue)
  }

  totals(params: { readonly queue: string | null; readonly since: number }): Promise<readonly TotalRow[]> {
    const values = [params.queue, String(params.since)]
    return ask(this.#lists, { statement: TOTALS, values, row: totalFrom })
  }

  async countInstances(): Promise<ReadonlyMap<string, number>> {
    return new Map(await ask(this.#lists, { statement: COUNT_INSTANCES, row: countFrom }))
  }

  async countRuns(params: { readonly queue: string | null }): Promise<ReadonlyMap<string, number>> {
    return new Map(await ask(this.#lists, { statement: COUNT_RUNS, values: [params.queue], row: countFrom }))
  }

  async instanceRuns(params: {
    readonly instanceId: string
    readonly limit: number
    readonly after: string | null
    readonly maxBytes?: number
  }): Promise<readonly RunRow[]> {
    const values = [params.instanceId, params.after, String(params.limit)]
    if (params.maxBytes !== undefined) {
      values.push(String(params.maxBytes))
      return ask(this.#views, { statement: SHOWN_INSTANCE_RUNS, values, row: column.runFrom })
    }
    return ask(this.#views, { statement: INSTANCE_RUNS, values, row: column.runFrom })
  }

  async queuedBefore(params: Parameters<ExecutionQueries['queuedBefore']>[0]): Promise<number> {
    const values = [params.quotaKey, String(params.queuedAt), params.id, String(params.atMost)]
    return (await askOne(this.#views, { statement: QUEUED_BEFORE, values, row: (fields) => Number(fields[0]) })) ?? 0
  }

  async children(instanceId: string, limit?: number): Promise<readonly InstanceRow[]> {
    const values = [instanceId, limit === undefined ? null : String(limit)]
    return ask(this.#views, { statement: CHILDREN, values, row: column.instanceFrom })
  }

  slots(params: Parameters<ExecutionQueries['slots']>[0]): Promise<readonly SlotRow[]> {
    return this.#marking.slots(params)
  }

  slot(params: { readonly instanceId: string; readonly key: string }): Promise<string | null> {
    return this.#marking.slot(params)
  }

  results(params: Parameters<ExecutionQueries['results']>[0]): Promise<ReadonlyMap<string, string | null>> {
    return this.#marking.results(params)
  }

  resultAt(wanted: ResultAt): Promise<ResultText> {
    return this.#marking.resultAt(wanted)
  }

  async instanceEvents(params: {
    readonly instanceId: string
    readonly afterSeq: number
    readonly limit: number
  }): Promise<readonly StoredEvent[]> {
    const values = [params.instanceId, String(params.afterSeq), String(params.limit)]
    const found = new EventRows()
    await ask(this.#views, { statement: INSTANCE_EVENTS, values, row: found.row })
    return found.events
  }

  async progress({ instanceIds }: { readonly instanceIds: readonly string[] }): Promise<ReadonlyMap<string, Progress>> {
    const row = (fields: Fields): [string, Progress] => [
      fields[0] as string,
      { eventSeq: Number(fields[1]), state: fields[2] as InstanceState },
    ]
    return new Map(await ask(this.#views, { statement: PROGRESS, values: [uuidArray(instanceIds)], row }))
  }

  async runHistory(runId: string): Promise<readonly StoredEvent[]> {
    return (await histories(this.#views, [runId])).get(runId) ?? []
  }

  runHistoryPage(params: {
    readonly runId: string
    readonly after: number
    readonly limit: number
  }): Promise<readonly StoredEvent[]> {
    return historyPage(this.#views, params)
  }

  histories(params: { readonly runIds: readonly string[] }): Promise<ReadonlyMap<string, readonly StoredEvent[]>> {
    return histories(this.#views, params.runIds)
  }

  errorsOf(params: {
    readonly runIds: readonly string[]
    readonly limit: number
  }): Promise<ReadonlyMap<string, readonly RunError[]>> {
    return errorsOf(this.#views, params)
  }

  leasesLost({ runIds }: { readonly runIds: readonly string[] }): Promise<ReadonlySet<string>> {
    return leasesLost(this.#views, runIds)
  }

  events(query: EventQuery): Promise<EventPage> {
    return this.#feed.page(query)
  }

  feedEnd(): Promise<number> {
    return this.#feed.end()
  }

  feedStart(): Promise<number> {
    return this.#feed.start()
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

  openGates(params: Parameters<ExecutionQueries['openGates']>[0]): Promise<readonly GateRow[]> {
    return openGates(this.#views, params)
  }

  shownGates(params: Parameters<ExecutionQueries['shownGates']>[0]): Promise<readonly GateRow[]> {
    return openGatesShown(this.#views, params)
  }

  listGates(query: GateQuery): Promise<readonly GateRow[]> {
    return listGates(this.#lists, query)
  }

  async queuesPaused(): Promise<ReadonlyMap<string, boolean>> {
    const row = (fields: Fields): [string, boolean] => [fields[0] as string, fields[1] === 't']
    return new Map(await ask(this.#lanes, { statement: QUEUES_PAUSED, row }))
  }

  async limits(): Promise<readonly LimitRow[]> {
    return ask(this.#lists, { statement: LIMITS, row: column.limitFrom })
  }

  async workers(): Promise<readonly WorkerRow[]> {
    return ask(this.#lists, { statement: WORKERS, row: column.workerFrom })
  }

  async schedules(): Promise<readonly ScheduleRow[]> {
    return ask(this.#lanes, { statement: SCHEDULES, row: column.scheduleFrom })
  }

  async schedule(name: string): Promise<ScheduleRow | null> {
    return askOne(this.#lanes, { statement: SCHEDULE, values: [name], row: column.scheduleFrom })
  }

  async checkpoint(runId: string): Promise<{ readonly state: string; readonly sequence: number } | null> {
    const row = (fields: Fields) => ({ state: fields[0] as string, sequence: Number(fields[1]) })
    return askOne(this.#lanes, { statement: CHECKPOINT, values: [runId], row })
  }
}
