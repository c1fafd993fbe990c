/** InstanceRow ↔ workflow_instance. */

import type { InstanceRow, RunRole } from '../../../model/rows.ts'
import { instanceCells } from '../../cells.ts'
import type { Cells, Value } from '../driver.ts'
import { packed } from './run.ts'
import { type Column, constant, fixed, mutable, type Table } from './writer.ts'

const USUAL = [
  'id',
  'root_id',
  'net_hash',
  'name',
  'dialect',
  'state',
  'phase',
  'live',
  'open',
  'fires',
  'done_seq',
  'succeeded',
  'event_seq',
  'created_at',
  'started_at',
]

const RARE: readonly (readonly [string, Value])[] = [
  ['parent_id', null],
  ['parent_node', null],
  ['parent_fire', 0],
  ['parent_item', -1],
  ['parent_scope', ''],
  ['parent_role', 'work'],
  ['depth', 0],
  ['tenant', null],
  ['start_key', null],
  ['retry_of', null],
  ['outcome', null],
  ['reason', null],
  ['held', 0],
  ['gates', 0],
  ['failed', 0],
  ['unhandled', 0],
  ['finals_failed', 0],
  ['more', 0],
  ['ended_at', null],
  ['deadline_at', null],
  ['slot_key', null],
  ['queued_at', null],
]

/** What to select, in the order `instanceOf` reads it. */
export const INSTANCE_CELLS = `${USUAL.join(', ')}, ${packed(RARE)}`

const UNPACKED: Cells = RARE.map(([, initial]) => initial)

export function instanceOf(cells: Cells): InstanceRow {
  const rare = cells[15] === null ? UNPACKED : (JSON.parse(cells[15] as string) as Cells)
  return {
    id: cells[0] as string,
    rootId: cells[1] as string,
    parentId: rare[0] as string | null,
    parentNode: rare[1] as string | null,
    parentFire: rare[2] as number,
    parentItem: rare[3] as number,
    parentScope: rare[4] as string,
    parentRole: rare[5] as RunRole,
    depth: rare[6] as number,
    netHash: cells[2] as string,
    name: cells[3] as string,
    dialect: cells[4] as string,
    tenant: rare[7] as string | null,
    startKey: rare[8] as string | null,
    retryOf: rare[9] as string | null,
    state: cells[5] as InstanceRow['state'],
    phase: cells[6] as InstanceRow['phase'],
    outcome: rare[10] as InstanceRow['outcome'],
    reason: rare[11] as InstanceRow['reason'],
    live: cells[7] as number,
    held: rare[12] as number,
    open: cells[8] as number,
    gates: rare[13] as number,
    fires: cells[9] as number,
    doneSeq: cells[10] as number,
    succeeded: cells[11] as number,
    failed: rare[14] as number,
    unhandled: rare[15] as number,
    finalsFailed: rare[16] as number,
    more: rare[17] === 1,
    eventSeq: cells[12] as number,
    createdAt: cells[13] as number,
    startedAt: cells[14] as number | null,
    endedAt: rare[18] as number | null,
    deadlineAt: rare[19] as number | null,
    slotKey: rare[20] as string | null,
    queuedAt: rare[21] as number | null,
  }
}

/** In the order of rows.ts. */
export const INSTANCE_COLUMNS: readonly Column[] = [
  fixed('id'),
  fixed('root_id'),
  constant('parent_id', null),
  constant('parent_node', null),
  constant('parent_fire', 0),
  constant('parent_item', -1),
  constant('parent_scope', ''),
  constant('parent_role', 'work'),
  constant('depth', 0),
  fixed('net_hash'),
  fixed('name'),
  fixed('dialect'),
  constant('tenant', null),
  constant('start_key', null),
  constant('retry_of', null),
  mutable('state', undefined),
  mutable('phase', undefined),
  mutable('outcome', null),
  mutable('reason', null),
  mutable('live', 0),
  mutable('held', 0),
  mutable('open', 0),
  mutable('gates', 0),
  mutable('fires', 0),
  mutable('done_seq', 0),
  mutable('succeeded', 0),
  mutable('failed', 0),
  mutable('unhandled', 0),
  mutable('finals_failed', 0),
  mutable('more', false),
  mutable('event_seq', 0),
  fixed('created_at'),
  mutable('started_at', null),
  mutable('ended_at', null),
  mutable('deadline_at', null),
  constant('slot_key', null),
  mutable('queued_at', null),
]

export const INSTANCE_TABLE: Table<InstanceRow> = {
  name: 'workflow_instance',
  columns: INSTANCE_COLUMNS,
  cells: instanceCells,
  stamped: false,
}
