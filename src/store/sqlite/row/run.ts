/** RunRow ↔ workflow_run. */

import { MAX_SHOWN_CHARACTERS } from '../../../kernel/limits.ts'
import type { RunRole, RunRow, RunStatus } from '../../../model/rows.ts'
import { ALWAYS_BYTES } from '../../../model/shown.ts'
import { runCells } from '../../cells.ts'
import type { Cells, Value } from '../driver.ts'
import { shownJson } from '../shown.ts'
import { type Column, constant, fixed, mutable, type Table } from './writer.ts'

/** Every run has these. The others come as one JSON array, and only if one of them is set: each cell costs 0.2 µs. */
const USUAL = [
  'id',
  'type',
  'payload',
  'status',
  'priority',
  'run_at',
  'attempt',
  'max_attempts',
  'leased_by',
  'created_at',
  'queue',
  'instance_id',
  'root_id',
  'node',
  'fire',
  'item',
  'role',
  'scope',
  'epoch',
  'session_id',
  'leased_at',
  'started_at',
  'first_started_at',
  'report_id',
]

const RARE: readonly (readonly [string, Value])[] = [
  ['idempotency_key', null],
  ['lease_until', null],
  ['last_error', null],
  ['result', null],
  ['deleted_at', null],
  ['tenant', null],
  ['deliveries', 0],
  ['finished_at', null],
  ['settled_at', null],
  ['done_seq', null],
  ['deferred', 0],
  ['unknown_outcome', 0],
  ['timeout_ms', null],
  ['timeout_per', 'attempt'],
  ['timeout_at', null],
  ['expires_at', null],
  ['retry', null],
  ['error', null],
  ['limit_key', null],
  ['unique_key', null],
  ['dead_letter', 0],
  ['cancel_requested_at', null],
  ['meta', null],
  ['lease_ms', null],
  ['inbox', 0],
]

/** What to select, in the order `runOf` reads it. */
export const RUN_CELLS = `${USUAL.join(', ')}, ${packed(RARE)}`

const UNPACKED: Cells = RARE.map(([, initial]) => initial)

/** One cell for many columns: null while all have their initial values. */
export function packed(columns: readonly (readonly [string, Value])[]): string {
  const set = columns.map(([name, initial]) =>
    initial === null ? name : `nullif(${name}, ${typeof initial === 'string' ? `'${initial}'` : initial})`,
  )
  return `CASE WHEN coalesce(${set.join(', ')}) IS NULL THEN NULL ELSE json_array(${columns.map(([name]) => name).join(', ')}) END`
}

/** Values that may be long. */
const LONG: readonly string[] = ['payload', 'result', 'error', 'meta']

/** Runs in this order; their long values until the sum exceeds `maxBytes`. Only sizes are read of the others. */
export function shownRuns(params: {
  readonly where: string
  readonly order: string
  readonly page: string
  readonly maxBytes: number
}): string {
  const { where, order, page, maxBytes } = params
  const size = LONG.map((name) => `coalesce(octet_length(${name}), 0)`).join(' + ')
  const columns = [...USUAL, ...RARE.map(([name]) => name)].map((name) => {
    if (name === 'last_error') return `substr(last_error, 1, ${MAX_SHOWN_CHARACTERS}) AS last_error`
    if (!LONG.includes(name)) return name
    return `${shownJson(name, `(shown_size <= ${maxBytes} OR octet_length(${name}) <= ${ALWAYS_BYTES})`)} AS ${name}`
  })
  const sizes = `SELECT id, created_at, run_at, priority, ${size} AS size FROM workflow_run ${where} ORDER BY ${order} ${page}`
  return `SELECT ${RUN_CELLS} FROM (SELECT ${columns.join(', ')} FROM (
    SELECT id AS shown_id, sum(size) OVER (ORDER BY ${order} ROWS UNBOUNDED PRECEDING) AS shown_size FROM (${sizes}))
    JOIN workflow_run ON id = shown_id) ORDER BY ${order}`
}

export function runOf(cells: Cells): RunRow {
  const rare = cells[24] === null ? UNPACKED : (JSON.parse(cells[24] as string) as Cells)
  return {
    id: cells[0] as string,
    type: cells[1] as string,
    payload: cells[2] as string,
    status: cells[3] as RunStatus,
    priority: cells[4] as number,
    runAt: cells[5] as number,
    idempotencyKey: rare[0] as string | null,
    attempt: cells[6] as number,
    maxAttempts: cells[7] as number,
    leasedBy: cells[8] as string | null,
    leaseUntil: rare[1] as number | null,
    leaseMs: rare[23] as number | null,
    lastError: rare[2] as string | null,
    result: rare[3] as string | null,
    createdAt: cells[9] as number,
    deletedAt: rare[4] as number | null,
    queue: cells[10] as string,
    tenant: rare[5] as string | null,
    instanceId: cells[11] as string | null,
    rootId: cells[12] as string | null,
    node: cells[13] as string | null,
    fire: cells[14] as number,
    item: cells[15] as number,
    role: cells[16] as RunRole,
    scope: cells[17] as string,
    epoch: cells[18] as number,
    sessionId: cells[19] as string | null,
    deliveries: rare[6] as number,
    leasedAt: cells[20] as number | null,
    startedAt: cells[21] as number | null,
    firstStartedAt: cells[22] as number | null,
    finishedAt: rare[7] as number | null,
    settledAt: rare[8] as number | null,
    doneSeq: rare[9] as number | null,
    reportId: cells[23] as string | null,
    deferred: rare[10] === 1,
    unknown: rare[11] === 1,
    timeoutMs: rare[12] as number | null,
    timeoutPer: rare[13] as 'attempt' | 'node',
    timeoutAt: rare[14] as number | null,
    expiresAt: rare[15] as number | null,
    retry: rare[16] as string | null,
    error: rare[17] as string | null,
    limitKey: rare[18] as string | null,
    uniqueKey: rare[19] as string | null,
    deadLetter: rare[20] === 1,
    cancelRequestedAt: rare[21] as number | null,
    meta: rare[22] as string | null,
    inbox: rare[24] === 1,
  }
}

/** In the order of rows.ts. */
export const RUN_COLUMNS: readonly Column[] = [
  fixed('id'),
  fixed('type'),
  fixed('payload'),
  mutable('status', 'pending'),
  mutable('priority', 100),
  mutable('run_at', undefined),
  constant('idempotency_key', null),
  mutable('attempt', 0),
  constant('max_attempts', 3),
  mutable('leased_by', null),
  mutable('lease_until', null),
  mutable('lease_ms', null),
  mutable('last_error', null),
  mutable('result', null),
  fixed('created_at'),
  mutable('deleted_at', null),
  constant('queue', 'default'),
  constant('tenant', null),
  constant('instance_id', null),
  constant('root_id', null),
  constant('node', null),
  constant('fire', 0),
  constant('item', -1),
  constant('role', 'work'),
  constant('scope', ''),
  mutable('epoch', 0),
  mutable('session_id', null),
  mutable('deliveries', 0),
  mutable('leased_at', null),
  mutable('started_at', null),
  mutable('first_started_at', null),
  mutable('finished_at', null),
  mutable('settled_at', null),
  mutable('done_seq', null),
  mutable('report_id', null),
  mutable('deferred', false),
  mutable('unknown_outcome', false),
  constant('timeout_ms', null),
  constant('timeout_per', 'attempt'),
  mutable('timeout_at', null),
  constant('expires_at', null),
  constant('retry', null),
  mutable('error', null),
  constant('limit_key', null),
  mutable('unique_key', null),
  mutable('dead_letter', false),
  mutable('cancel_requested_at', null),
  constant('meta', null),
  constant('inbox', false),
]

export const RUN_TABLE: Table<RunRow> = {
  name: 'workflow_run',
  columns: RUN_COLUMNS,
  cells: runCells,
  stamped: true,
}
