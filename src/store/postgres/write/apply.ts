/** A Delta as statements: one per table and kind, in the global lock order. */
import type { NewCommand } from '../../../model/commands.ts'
import type { EventRow } from '../../../model/events/events.ts'
import type { ParkedRow } from '../../../model/pauses/pauses.ts'
import type { FairTurnRow } from '../../../model/queues/fair.ts'
import type { InstanceRow, RunRow, SlotRow, TermRow, UniqueRow } from '../../../model/rows.ts'
import type { Delta } from '../../../model/transaction.ts'
import * as column from '../columns.ts'
import { inserter, textArray, updater, upserter, uuidArray } from '../connection/batch.ts'
import { type Call, statement } from '../connection/statement.ts'
import type { Loading } from '../load/loading.ts'
import { REMOVE_RUNS } from '../sweep/prune.ts'
import { bulkCalls } from '../tables/bulk.ts'
import { debounceCalls } from '../tables/debounce.ts'
import { pushFires, REMOVE_FIRES } from '../tables/fires.ts'

/** A trigger protects the steps of a running workflow; the engine first detaches the ones it removes. */
const DETACH_REMOVED = statement(
  `UPDATE workflow.workflow_run SET status = CASE WHEN status IN ('pending', 'leased') THEN 'cancelled' ELSE status END,
     instance_id = NULL, settled_at = coalesce(settled_at, now()), engine_turn = NOT engine_turn
   WHERE id = ANY ($1::uuid[])`,
)

const insertNets = inserter(column.NET, 'ON CONFLICT (hash) DO NOTHING')
const insertInstances = inserter(column.INSTANCE)
const insertRuns = inserter(column.RUN, '', 'engine_turn')
const insertNames = inserter(column.NAME)
const insertItems = upserter(column.ITEM, ['instance_id', 'node', 'fire', 'first'])
const insertGates = inserter(column.GATE)
const insertEvents = inserter(column.EVENT, '', 'engine')
const insertSlots = inserter(column.SLOT)
const putSlots = upserter(column.SLOT, ['instance_id', 'key'])
const putQueues = upserter(column.QUEUE, ['name'])
const putLimits = upserter(column.LIMIT, ['key'])
const putFairTurns = upserter(column.FAIR_TURN, ['queue', 'priority', 'scope'])
const putUniques = upserter(column.UNIQUE, ['key'])
const insertUniques = inserter(column.UNIQUE)
const putWorkers = upserter(column.WORKER, ['id'])
const putSchedules = upserter(column.SCHEDULE, ['name'])
const putDefinitions = upserter(column.DEFINITION, ['id'])
const insertFailures = inserter(column.FAILURE)
const insertTerms = inserter(column.TERM, 'ON CONFLICT (id, term) DO NOTHING')
const putCommands = upserter(column.COMMAND, ['run_id'])
const putPauses = upserter(column.PAUSE, ['kind', 'key'])
const putParked = upserter(column.PARKED, ['owner', 'id'])

const updateInstances = updater({
  table: column.INSTANCE,
})
const updateRuns = updater({
  table: column.RUN,
  also: 'updated_at = now(), engine_turn = NOT r.engine_turn',
})
const updateGates = updater({
  table: column.GATE,
})

/** Slots have no version of their own: writing one gives its instance a new version, or recent.ts would not notice. */
const TOUCH_INSTANCES = statement(
  `UPDATE workflow.workflow_instance i SET event_seq = i.event_seq WHERE i.id = ANY ($1::uuid[])`,
)
const REMOVE_SLOTS = statement(
  `DELETE FROM workflow.workflow_slot s USING unnest($1::uuid[], $2::text[]) x(instance_id, key)
   WHERE s.instance_id = x.instance_id AND s.key = x.key`,
)
const REMOVE_UNIQUES = statement('DELETE FROM workflow.workflow_unique u WHERE u.key = ANY ($1::text[])')
const REMOVE_SCHEDULES = statement('DELETE FROM workflow.workflow_cron c WHERE c.name = ANY ($1::text[])')
const RETIRE_DEFINITIONS = statement(
  `UPDATE workflow.workflow_definition d SET retired_at = workflow.clock() WHERE d.id = ANY ($1::uuid[]) AND d.retired_at IS NULL`,
)
const RESTORE_DEFINITIONS = statement(
  'UPDATE workflow.workflow_definition d SET retired_at = NULL WHERE d.id = ANY ($1::uuid[])',
)
const TAG_DEFINITION = statement('UPDATE workflow.workflow_definition d SET tags = $2::json WHERE d.id = $1::uuid')
/**
 * Locked in the order of their ids, as everywhere; the condition on status is written so that only the place index
 * fits.
 */
const SIGNAL = statement(
  `UPDATE workflow.workflow_run r SET cancel_requested_at = (SELECT workflow.clock()), engine_turn = NOT r.engine_turn
   WHERE r.id = ANY (ARRAY (
     SELECT l.id FROM workflow.workflow_run l
     WHERE l.instance_id = ANY ($1::uuid[]) AND l.status || '' = 'leased' AND l.cancel_requested_at IS NULL
     ORDER BY l.id FOR UPDATE))`,
)
const REMOVE_PAUSES = statement(
  `DELETE FROM workflow.workflow_pause p USING unnest($1::text[], $2::text[]) x(kind, key)
   WHERE p.kind = x.kind AND p.key = x.key`,
)
const REFUSE_KEPT_KEYS = statement('SELECT workflow.refuse_kept_keys($1::text[])')

export interface Versions {
  readonly instances: ReadonlyMap<string, string>
  readonly runs: ReadonlyMap<string, string>
  /** Output: ids whose version their update checks. */
  readonly checked: Set<string>
}

function byText<R>(of: (row: R) => string): (a: R, b: R) => number {
  return (a, b) => {
    const x = of(a)
    const y = of(b)
    return x < y ? -1 : x > y ? 1 : 0
  }
}

type WithId = { readonly id: string }

const idOf = (row: WithId): string => row.id
const keyOf = (row: { readonly key: string }): string => row.key
const nameOf = (row: { readonly name: string }): string => row.name
const hashOf = (row: { readonly hash: string }): string => row.hash
const runIdOf = (row: { readonly runId: string }): string => row.runId
const termOf = (row: TermRow): string => `${row.id}/${row.term}`
const parkedOf = (row: ParkedRow): string => `${row.owner}/${row.id}`
const slotOf = (row: SlotRow): string => `${row.instanceId}/${row.key}`

const byId = byText(idOf)
const byKey = byText(keyOf)
const byName = byText(nameOf)
const byHash = byText(hashOf)
const byRunId = byText(runIdOf)
const bySlot = byText(slotOf)
const byTerm = byText(termOf)
const byParked = byText(parkedOf)
const byQueue = byText<FairTurnRow>(({ queue, priority }) => `${priority} ${queue}`)
const byValue = byText<string>((text) => text)

/** Rows without the key come last; two batches that insert the same keys then meet them in the same order. */
function byOptionalKey<R extends { readonly id: string }>(of: (row: R) => string | null): (a: R, b: R) => number {
  return (a, b) => {
    const x = of(a)
    const y = of(b)
    if (x === y) return byId(a, b)
    if (x === null) return 1
    if (y === null) return -1
    return x < y ? -1 : 1
  }
}

const byStartKey = byOptionalKey<InstanceRow>((row) => row.startKey)
const byIdempotencyKey = byOptionalKey<RunRow>((row) => row.idempotencyKey)

/** An array sorted for writing, unless it is too short to matter. */
function sorted<R>(rows: readonly R[], order: (a: R, b: R) => number): readonly R[] {
  return rows.length < 2 ? rows : [...rows].sort(order)
}

/** The last of several writes of one key in a delta, sorted: one statement may not write a row twice. */
function latest<R>(rows: readonly R[], key: (row: R) => string, order: (a: R, b: R) => number): readonly R[] {
  if (rows.length < 2) return rows
  const last = new Map<string, R>()
  for (const row of rows) last.set(key(row), row)
  return sorted(last.size === rows.length ? rows : [...last.values()], order)
}

function given<R>(rows: readonly R[] | undefined): rows is readonly R[] {
  return rows !== undefined && rows.length > 0
}

/** `versions`: for rows that are only remembered, not locked; their updates apply only if they still have these. */
export function writeCalls(delta: Delta, loaded: Loading, versions: Versions | null = null): Call[] {
  const calls: Call[] = []
  if (given(delta.nets)) calls.push(insertNets(latest(delta.nets, hashOf, byHash)))
  pushInstances(delta, loaded, versions, calls)
  const { runs, slots, gates } = delta
  if (given(runs?.remove)) pushRemovedRuns(runs.remove, calls)
  if (given(runs?.update)) {
    const call = updateRuns(latest(runs.update, idOf, byId), loaded.heldRuns, versions?.runs ?? null)
    if (call !== null) pushUpdate(call, runs.update, versions, calls)
  }
  // Before the inserts: an undo or a final that follows from the stop must not be stopped with it.
  if (given(delta.signal)) calls.push({ statement: SIGNAL, values: [uuidArray(delta.signal)] })
  if (given(runs?.insert)) pushRuns(runs.insert, calls)
  if (given(slots?.remove)) {
    const values = [uuidArray(slots.remove.map((s) => s.instanceId)), textArray(slots.remove.map(keyOf))]
    calls.push({ statement: REMOVE_SLOTS, values })
  }
  if (given(slots?.put)) pushSlots(slots.put, delta.instances?.insert ?? [], calls)
  if (given(delta.items)) calls.push(insertItems(delta.items))
  if (given(gates?.insert)) calls.push(insertGates(sorted(gates.insert, byId)))
  if (given(gates?.update)) {
    const call = updateGates(latest(gates.update, idOf, byId), loaded.gates, null)
    if (call !== null) calls.push(call)
  }
  pushPauses(delta, calls)
  pushRules(delta, loaded, calls)
  pushRecords(delta, calls)
  if (given(delta.failures)) calls.push(insertFailures(delta.failures))
  if (given(delta.terms)) calls.push(insertTerms(sorted(delta.terms, byTerm)))
  if (delta.debounces !== undefined) calls.push(...debounceCalls(delta.debounces, loaded.debounces))
  if (delta.bulk !== undefined) calls.push(...bulkCalls(delta.bulk))
  if (given(delta.events)) calls.push(insertEvents(delta.events as readonly EventRow[]))
  return calls
}

function pushInstances(delta: Delta, loaded: Loading, versions: Versions | null, calls: Call[]): void {
  const { instances } = delta
  if (given(instances?.insert)) calls.push(insertInstances(sorted(instances.insert, byStartKey)))
  let updated = false
  if (given(instances?.update)) {
    const rows = latest(instances.update, idOf, byId)
    const call = updateInstances(rows, loaded.instances, versions?.instances ?? null)
    updated = call !== null
    if (call !== null) pushUpdate(call, instances.update, versions, calls)
  }
  const untouched = untouchedInstances(delta, updated)
  if (untouched.length > 0) calls.push({ statement: TOUCH_INSTANCES, values: [uuidArray(untouched)] })
}

function pushUpdate(call: Call, rows: readonly WithId[], versions: Versions | null, calls: Call[]): void {
  calls.push(call)
  if (versions !== null) for (const { id } of rows) versions.checked.add(id)
}

function pushRemovedRuns(ids: readonly string[], calls: Call[]): void {
  const values = [uuidArray(sorted(ids, byValue))]
  for (const known of [DETACH_REMOVED, ...REMOVE_RUNS]) calls.push({ statement: known, values })
}

function pushPauses({ pauses, parked }: Delta, calls: Call[]): void {
  if (given(pauses?.put)) calls.push(putPauses(pauses.put))
  if (given(pauses?.remove)) {
    const values = [textArray(pauses.remove.map(({ kind }) => kind)), textArray(pauses.remove.map(keyOf))]
    calls.push({ statement: REMOVE_PAUSES, values })
  }
  if (given(parked)) calls.push(putParked(latest(parked, parkedOf, byParked)))
}

/** What admission consults: names in use, queues, limits and unique keys. */
function pushRules({ names, queues, limits, fairTurns, uniques }: Delta, loaded: Loading, calls: Call[]): void {
  if (given(names)) calls.push(insertNames(sorted(names, byName)))
  if (given(queues)) calls.push(putQueues(latest(queues, nameOf, byName)))
  if (given(limits)) calls.push(putLimits(latest(limits, keyOf, byKey)))
  if (given(fairTurns)) calls.push(putFairTurns(sorted(fairTurns, byQueue)))
  if (given(uniques?.remove)) {
    calls.push({ statement: REMOVE_UNIQUES, values: [textArray(sorted(uniques.remove, byValue))] })
  }
  if (given(uniques?.put)) pushUniques(uniques.put, loaded, calls)
}

/** Sessions, definitions, commands, schedules and what they did. */
function pushRecords({ workers, definitions, commands, schedules, fires }: Delta, calls: Call[]): void {
  if (given(workers?.put)) calls.push(putWorkers(latest(workers.put, idOf, byId)))
  const { put, retire, restore, tag = [] } = definitions ?? {}
  if (given(put)) calls.push(putDefinitions(put))
  if (given(retire)) calls.push({ statement: RETIRE_DEFINITIONS, values: [uuidArray(retire)] })
  if (given(restore)) calls.push({ statement: RESTORE_DEFINITIONS, values: [uuidArray(restore)] })
  for (const { id, tags } of tag) calls.push({ statement: TAG_DEFINITION, values: [id, tags] })
  if (given(commands?.put)) calls.push(putCommands(newCommands(commands.put)))
  if (given(schedules?.remove)) {
    const values = [textArray(schedules.remove)]
    calls.push({ statement: REMOVE_SCHEDULES, values }, { statement: REMOVE_FIRES, values })
  }
  if (given(schedules?.put)) calls.push(putSchedules(latest(schedules.put, nameOf, byName)))
  if (given(fires)) pushFires(fires, calls)
}

/** Due at once; a command for a run is new even if the run had one before. */
function newCommands(put: readonly NewCommand[]): Parameters<typeof putCommands>[0] {
  const last = latest(put, runIdOf, byRunId)
  return last.map((row) => ({ ...row, publishedAt: null, publishes: 0, dueAt: row.createdAt }))
}

/** A key that was free when it was looked up must still be: if it was taken meanwhile, this insert fails. */
function pushUniques(rows: readonly UniqueRow[], loaded: Loading, calls: Call[]): void {
  const last = latest(rows, keyOf, byKey)
  const fresh = last.filter((row) => !loaded.uniques.has(row.key))
  const known = last.filter((row) => loaded.uniques.has(row.key))
  if (fresh.length > 0) calls.push(insertUniques(fresh))
  if (known.length > 0) calls.push(putUniques(known))
}

/** Instances whose slots change while their rows are not written. */
function untouchedInstances({ instances, slots }: Delta, updated: boolean): readonly string[] {
  if (!given(slots?.put) && !given(slots?.remove)) return []
  const touched = new Set(instances?.insert?.map((row) => row.id))
  if (updated) for (const row of instances?.update ?? []) touched.add(row.id)
  const untouched = new Set<string>()
  for (const { instanceId } of slots?.put ?? []) if (!touched.has(instanceId)) untouched.add(instanceId)
  for (const { instanceId } of slots?.remove ?? []) if (!touched.has(instanceId)) untouched.add(instanceId)
  return [...untouched].sort()
}

/** A new instance has none yet; looking for them first takes twice as long. */
function pushSlots(rows: readonly SlotRow[], born: readonly InstanceRow[], calls: Call[]): void {
  const last = latest(rows, slotOf, bySlot)
  const ids = new Set(born.map((row) => row.id))
  const fresh = last.filter((s) => ids.has(s.instanceId))
  const known = last.filter((s) => !ids.has(s.instanceId))
  if (fresh.length > 0) calls.push(insertSlots(fresh))
  if (known.length > 0) calls.push(putSlots(known))
}

function pushRuns(rows: readonly RunRow[], calls: Call[]): void {
  calls.push(insertRuns(sorted(rows, byIdempotencyKey)))
  const keys = rows.flatMap((row) => (row.idempotencyKey === null ? [] : [row.idempotencyKey]))
  if (keys.length > 0) calls.push({ statement: REFUSE_KEPT_KEYS, values: [textArray(keys)] })
}
