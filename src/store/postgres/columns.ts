/** How rows.ts lies in the tables: one line per column, in the order of a SELECT. */

import type { CommandRow } from '../../model/commands.ts'
import type { DefinitionRow } from '../../model/definitions.ts'
import type {
  EventRow,
  GateRow,
  InstanceRow,
  ItemChunk,
  LimitRow,
  NetRow,
  QueueRow,
  RunRow,
  ScheduleRow,
  SlotRow,
  UniqueRow,
  WorkerRow,
} from '../../model/rows.ts'
import type { SagaRow, SagaStepRow } from '../../model/sagas.ts'
import { type Cell, eventCells, instanceCells, runCells } from '../cells.ts'
import type { Fields } from './connection/statement.ts'
import { parseTime } from './connection/time.ts'

/** time: timestamptz, milliseconds here. json, jsonb: carried as text. list: a JSON array of strings. */
export type Kind = 'uuid' | 'text' | 'int' | 'bigint' | 'bool' | 'time' | 'json' | 'jsonb' | 'list'

export interface Column<R> {
  readonly key: keyof R & string
  readonly name: string
  readonly kind: Kind
  /** The column's default in the table: an insert leaves it out when no row of the batch differs from it. */
  readonly absent: string | number | boolean | null
}

export interface Table<R> {
  readonly name: string
  readonly columns: readonly Column<R>[]
}

export interface WritableTable<R> extends Table<R> {
  /** The values of its columns, in their order. */
  readonly cells: (row: R) => readonly Value[]
}

export type Value = Cell | readonly string[] | undefined

type Spec<R> = { readonly [K in keyof R & string]: Kind | readonly [Kind, string | number | boolean] }

const SUFFIXED: Readonly<Record<string, string>> = { unknown: 'unknown_outcome', values: '"values"' }

interface More<R> {
  readonly renamed?: Readonly<Record<string, string>>
  /** For tables written by every step. Otherwise by their names. */
  readonly cells?: (row: R) => readonly Value[]
}

function table<R>(name: string, spec: Spec<R>, more: More<R> = {}): WritableTable<R> {
  const { renamed = {} } = more
  const columns = (Object.entries(spec) as [keyof R & string, Kind | readonly [Kind, string | number | boolean]][]).map(
    ([key, given]): Column<R> => {
      const snake = key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
      const column = renamed[key] ?? SUFFIXED[key] ?? snake
      return typeof given === 'string'
        ? { key, name: column, kind: given, absent: null }
        : { key, name: column, kind: given[0], absent: given[1] }
    },
  )
  return { name: `workflow.${name}`, columns, cells: more.cells ?? cellsByName(columns) }
}

function cellsByName<R>(columns: readonly Column<R>[]): (row: R) => readonly Value[] {
  return (row) => columns.map(({ key }) => row[key] as Value)
}

export const RUN = table<RunRow>(
  'workflow_run',
  {
    id: 'uuid',
    type: 'text',
    payload: 'jsonb',
    status: ['text', 'pending'],
    priority: ['int', 100],
    runAt: 'time',
    idempotencyKey: 'text',
    attempt: ['int', 0],
    maxAttempts: ['int', 3],
    leasedBy: 'text',
    leaseUntil: 'time',
    leaseMs: 'bigint',
    lastError: 'text',
    result: 'jsonb',
    createdAt: 'time',
    deletedAt: 'time',
    queue: ['text', 'default'],
    tenant: 'text',
    instanceId: 'uuid',
    rootId: 'uuid',
    node: 'text',
    fire: ['int', 0],
    item: ['int', -1],
    role: ['text', 'work'],
    scope: ['text', ''],
    epoch: ['int', 0],
    sessionId: 'text',
    deliveries: ['int', 0],
    leasedAt: 'time',
    startedAt: 'time',
    firstStartedAt: 'time',
    finishedAt: 'time',
    settledAt: 'time',
    doneSeq: 'int',
    reportId: 'text',
    deferred: ['bool', false],
    unknown: ['bool', false],
    timeoutMs: 'bigint',
    timeoutPer: ['text', 'attempt'],
    timeoutAt: 'time',
    expiresAt: 'time',
    retry: 'json',
    error: 'json',
    limitKey: 'text',
    uniqueKey: 'text',
    deadLetter: ['bool', false],
    cancelRequestedAt: 'time',
    meta: 'json',
    inbox: ['bool', false],
  },
  { cells: runCells },
)

/** The columns of a run that change after its insert. */
export const RUN_CHANGES: ReadonlySet<string> = new Set<keyof RunRow>([
  'status',
  'priority',
  'runAt',
  'attempt',
  'leasedBy',
  'leaseUntil',
  'leaseMs',
  'lastError',
  'result',
  'deletedAt',
  'epoch',
  'sessionId',
  'deliveries',
  'leasedAt',
  'startedAt',
  'firstStartedAt',
  'finishedAt',
  'settledAt',
  'doneSeq',
  'reportId',
  'deferred',
  'unknown',
  'timeoutAt',
  'error',
  'uniqueKey',
  'deadLetter',
  'cancelRequestedAt',
])

export const INSTANCE = table<InstanceRow>(
  'workflow_instance',
  {
    id: 'uuid',
    rootId: 'uuid',
    parentId: 'uuid',
    parentNode: 'text',
    parentFire: ['int', 0],
    parentItem: ['int', -1],
    parentScope: ['text', ''],
    parentRole: ['text', 'work'],
    depth: ['int', 0],
    netHash: 'text',
    name: 'text',
    dialect: 'text',
    tenant: 'text',
    startKey: 'text',
    retryOf: 'uuid',
    state: 'text',
    phase: 'text',
    outcome: 'text',
    reason: 'text',
    live: ['int', 0],
    held: ['int', 0],
    open: ['int', 0],
    gates: ['int', 0],
    fires: ['int', 0],
    doneSeq: ['int', 0],
    succeeded: ['int', 0],
    failed: ['int', 0],
    unhandled: ['int', 0],
    finalsFailed: ['int', 0],
    more: ['bool', false],
    eventSeq: ['int', 0],
    createdAt: 'time',
    startedAt: 'time',
    endedAt: 'time',
    deadlineAt: 'time',
    slotKey: 'text',
    queuedAt: 'time',
  },
  { cells: instanceCells },
)

export const INSTANCE_CHANGES: ReadonlySet<string> = new Set<keyof InstanceRow>([
  'state',
  'phase',
  'outcome',
  'reason',
  'live',
  'held',
  'open',
  'gates',
  'fires',
  'doneSeq',
  'succeeded',
  'failed',
  'unhandled',
  'finalsFailed',
  'more',
  'eventSeq',
  'startedAt',
  'endedAt',
  'deadlineAt',
  'queuedAt',
])

export const SLOT = table<SlotRow>('workflow_slot', { instanceId: 'uuid', key: 'text', value: 'json' })

export const ITEM = table<ItemChunk>('workflow_item', {
  instanceId: 'uuid',
  node: 'text',
  fire: 'int',
  first: 'int',
  values: 'json',
})

export const GATE = table<GateRow>('workflow_gate', {
  id: 'uuid',
  instanceId: 'uuid',
  rootId: 'uuid',
  node: 'text',
  fire: 'int',
  scope: 'text',
  state: 'text',
  options: 'json',
  args: 'json',
  dueAt: 'time',
  onTimeout: 'text',
  answer: 'json',
  answeredBy: 'text',
  reason: 'text',
  votes: ['json', '[]'],
  escalated: ['int', 0],
  escalateAt: 'time',
  createdAt: 'time',
  answeredAt: 'time',
})

export const GATE_CHANGES: ReadonlySet<string> = new Set<keyof GateRow>([
  'state',
  'options',
  'args',
  'dueAt',
  'onTimeout',
  'answer',
  'answeredBy',
  'reason',
  'votes',
  'escalated',
  'escalateAt',
  'answeredAt',
])

export const NET = table<NetRow>('workflow_net', { hash: 'text', name: 'text', dialect: 'text', net: 'json' })

export const NAME = table<{ readonly name: string; readonly rootId: string }>('workflow_name', {
  name: 'text',
  rootId: 'uuid',
})

export const QUEUE = table<QueueRow>('workflow_queue', { name: 'text', paused: 'bool' })

export const LIMIT = table<LimitRow>('workflow_limit', {
  key: 'text',
  maxConcurrent: 'int',
  inUse: 'int',
  ratePer: 'int',
  periodMs: 'bigint',
  windowStart: 'time',
  windowUsed: 'int',
})

export const UNIQUE = table<UniqueRow>('workflow_unique', {
  key: 'text',
  runId: 'uuid',
  expiresAt: 'time',
  states: 'list',
})

export const WORKER = table<WorkerRow>('workflow_worker', {
  id: 'text',
  name: 'text',
  host: 'text',
  pid: 'int',
  runtime: 'text',
  queues: 'list',
  types: 'list',
  concurrency: 'int',
  state: 'text',
  startedAt: 'time',
  heartbeatAt: 'time',
  expiresAt: 'time',
  tenant: 'text',
  holds: ['text', 'session'],
})

export const SCHEDULE = table<ScheduleRow>('workflow_cron', {
  name: 'text',
  expression: 'text',
  timezone: 'text',
  overlap: 'text',
  enabled: 'bool',
  template: 'json',
  nextAt: 'time',
  lastAt: 'time',
  lastId: 'text',
  fireCount: 'int',
  tenant: 'text',
  createdAt: 'time',
})

export const DEFINITION = table<Omit<DefinitionRow, 'latest'>>('workflow_definition', {
  id: 'uuid',
  tenant: 'text',
  name: 'text',
  version: 'text',
  number: 'int',
  dialect: 'text',
  netHash: 'text',
  sourceHash: 'text',
  trigger: 'json',
  createdAt: 'time',
  createdBy: 'text',
  usedAt: 'time',
  retiredAt: 'time',
  source: 'text',
  plan: 'json',
})

export const COMMAND = table<Omit<CommandRow, 'tenant' | 'node' | 'role'>>('workflow_command', {
  runId: 'uuid',
  instanceId: 'uuid',
  epoch: 'int',
  subject: 'text',
  body: 'text',
  resendMs: 'bigint',
  createdAt: 'time',
  publishedAt: 'time',
  publishes: ['int', 0],
  dueAt: 'time',
})

/** The views of sagas. */
export const SAGA = table<SagaRow>('saga', {
  id: 'uuid',
  tenantId: 'text',
  type: 'text',
  state: 'text',
  requestJson: 'jsonb',
  resultJson: 'jsonb',
  error: 'text',
  correlationId: 'text',
  createdBy: 'text',
  currentStepIndex: 'int',
  stepCount: 'int',
  completedAt: 'time',
  lastEventAt: 'time',
  createdAt: 'time',
})

export const SAGA_STEP = table<SagaStepRow>('saga_step', {
  id: 'uuid',
  workflowId: 'uuid',
  stepIndex: 'int',
  name: 'text',
  state: 'text',
  requestJson: 'jsonb',
  responseJson: 'jsonb',
  error: 'text',
  commandSubject: 'text',
  commandJson: 'text',
  commandPublishedAt: 'time',
  idempotencyKey: 'text',
  compensationSubject: 'text',
  compensationJson: 'text',
  startedAt: 'time',
  completedAt: 'time',
  createdAt: 'time',
})

export const EVENT = table<EventRow>(
  'workflow_event',
  {
    runId: 'uuid',
    instanceId: 'uuid',
    seq: 'int',
    type: 'text',
    node: 'text',
    actor: 'text',
    tenant: 'text',
    data: 'jsonb',
    at: 'time',
  },
  { renamed: { runId: 'workflow_id', type: 'event_type', at: 'created_at' }, cells: eventCells },
)

const isTrue = (text: string): boolean => text === 't'

const DECODE: Readonly<Record<Kind, ((text: string) => unknown) | null>> = {
  uuid: null,
  text: null,
  json: null,
  jsonb: null,
  int: Number,
  bigint: Number,
  bool: isTrue,
  time: parseTime,
  list: (text) => JSON.parse(text),
}

/** Some columns of a table, in its own order. */
export function narrowed<R, K extends keyof R & string>(from: Table<R>, keys: readonly K[]): Table<Pick<R, K>> {
  const columns = from.columns.filter(({ key }) => (keys as readonly string[]).includes(key))
  return { name: from.name, columns: columns as unknown as readonly Column<Pick<R, K>>[] }
}

/** `r.id, r.type, …` for a SELECT whose rows `decoder` reads. */
export function selectList<R>(from: Table<R>, alias: string): string {
  return from.columns.map((column) => `${alias}.${column.name}`).join(', ')
}

/** Reads a row from the fields at `offset` on, in the order of selectList. */
export function decoder<R>(from: Table<R>): (fields: Fields, offset?: number) => R {
  const keys = from.columns.map((column) => column.key)
  const decode = from.columns.map((column) => DECODE[column.kind])
  return (fields, offset = 0) => {
    const row: Record<string, unknown> = {}
    for (let at = 0; at < keys.length; at++) {
      const text = fields[at + offset] as string | null
      const parse = decode[at] as ((text: string) => unknown) | null
      row[keys[at] as string] = text === null || parse === null ? text : parse(text)
    }
    return row as R
  }
}

/** Without what may be long. */
export const DEFINITION_HEAD: Table<Omit<DefinitionRow, 'latest' | 'source' | 'plan'>> = {
  name: DEFINITION.name,
  columns: DEFINITION.columns.filter(({ key }) => key !== 'source' && key !== 'plan') as never,
}

export const runFrom = decoder(RUN)
export const instanceFrom = decoder(INSTANCE)
export const gateFrom = decoder(GATE)
export const limitFrom = decoder(LIMIT)
export const uniqueFrom = decoder(UNIQUE)
export const workerFrom = decoder(WORKER)
export const scheduleFrom = decoder(SCHEDULE)
