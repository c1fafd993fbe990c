/** InstanceRow ↔ workflow_instance. */
import type { InstanceRow, RunRole } from '../../rows.ts'
import type { Cells, Value } from '../driver.ts'
import { packed } from './run.ts'
import type { Column } from './writer.ts'

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

function fixed(name: string, of: (instance: InstanceRow) => Value): Column<InstanceRow> {
  return { name, of, initial: undefined, mutable: false }
}

function constant(name: string, initial: Value, of: (instance: InstanceRow) => Value): Column<InstanceRow> {
  return { name, of, initial, mutable: false }
}

function mutable(name: string, initial: Value | undefined, of: (instance: InstanceRow) => Value): Column<InstanceRow> {
  return { name, of, initial, mutable: true }
}

export const INSTANCE_COLUMNS: readonly Column<InstanceRow>[] = [
  fixed('id', (instance) => instance.id),
  fixed('root_id', (instance) => instance.rootId),
  constant('parent_id', null, (instance) => instance.parentId),
  constant('parent_node', null, (instance) => instance.parentNode),
  constant('parent_fire', 0, (instance) => instance.parentFire),
  constant('parent_item', -1, (instance) => instance.parentItem),
  constant('parent_scope', '', (instance) => instance.parentScope),
  constant('parent_role', 'work', (instance) => instance.parentRole),
  constant('depth', 0, (instance) => instance.depth),
  fixed('net_hash', (instance) => instance.netHash),
  fixed('name', (instance) => instance.name),
  fixed('dialect', (instance) => instance.dialect),
  constant('tenant', null, (instance) => instance.tenant),
  constant('start_key', null, (instance) => instance.startKey),
  constant('retry_of', null, (instance) => instance.retryOf),
  mutable('state', undefined, (instance) => instance.state),
  mutable('phase', undefined, (instance) => instance.phase),
  mutable('outcome', null, (instance) => instance.outcome),
  mutable('reason', null, (instance) => instance.reason),
  mutable('live', 0, (instance) => instance.live),
  mutable('held', 0, (instance) => instance.held),
  mutable('open', 0, (instance) => instance.open),
  mutable('gates', 0, (instance) => instance.gates),
  mutable('fires', 0, (instance) => instance.fires),
  mutable('done_seq', 0, (instance) => instance.doneSeq),
  mutable('succeeded', 0, (instance) => instance.succeeded),
  mutable('failed', 0, (instance) => instance.failed),
  mutable('unhandled', 0, (instance) => instance.unhandled),
  mutable('finals_failed', 0, (instance) => instance.finalsFailed),
  mutable('more', 0, (instance) => (instance.more ? 1 : 0)),
  mutable('event_seq', 0, (instance) => instance.eventSeq),
  fixed('created_at', (instance) => instance.createdAt),
  mutable('started_at', null, (instance) => instance.startedAt),
  mutable('ended_at', null, (instance) => instance.endedAt),
  mutable('deadline_at', null, (instance) => instance.deadlineAt),
  constant('slot_key', null, (instance) => instance.slotKey),
  mutable('queued_at', null, (instance) => instance.queuedAt),
]
