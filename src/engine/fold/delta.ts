/** What a transaction writes: the rows that its fold has changed. */

import type { BulkDelta } from '../../model/bulk/work.ts'
import { eventRow } from '../../model/events/events.ts'
import type { InstanceRow, SlotRow } from '../../model/rows.ts'
import type { Delta } from '../../model/transaction.ts'
import { freezeItems } from './instance/item-chunks.ts'
import type { BulkChanges, Member, WorkingSet } from './working-set.ts'

export function deltaOf(change: WorkingSet): Delta {
  const insert: InstanceRow[] = []
  const update: InstanceRow[] = []
  const put: SlotRow[] = []
  const remove: { instanceId: string; key: string }[] = []
  for (const member of change.members.values()) {
    if (member.isNew) freezeLiterals(change, member)
    if (member.seq !== member.row.eventSeq) {
      // A row that fire returned belongs to this transaction; a loaded row must not be changed.
      if (member.row === change.loaded.instances.get(member.row.id)) member.row = { ...member.row }
      ;(member.row as { eventSeq: number }).eventSeq = member.seq
    }
    if (member.isNew) insert.push(member.row)
    else if (member.dirty) update.push(member.row)
    for (const [key, value] of member.slots) {
      if (value !== null) put.push({ instanceId: member.row.id, key, value: JSON.stringify(value) })
      else if (!member.isNew) remove.push({ instanceId: member.row.id, key })
    }
  }
  return {
    instances: { insert, update },
    slots: { put, remove },
    runs: {
      insert: [...change.newRuns.values()],
      update: [...change.runs.values()],
      ...(change.removedRuns.size === 0 ? {} : { remove: [...change.removedRuns] }),
    },
    gates: { insert: [...change.newGates.values()], update: [...change.gates.values()] },
    items: change.chunks,
    signal: [...change.signalled],
    nets: [...change.netRows.values()],
    names: change.names,
    queues: [...change.queues.values()],
    limits: change.admission.changed(),
    ...(change.fairTurns.length === 0 ? {} : { fairTurns: change.fairTurns }),
    schedules: { put: [...change.schedules.values()] },
    ...(change.fires.length === 0 ? {} : { fires: change.fires }),
    ...(change.debounces.size === 0 ? {} : { debounces: debouncesOf(change) }),
    workers: { put: [...change.workers.values()] },
    uniques: { put: [...change.uniques.values()] },
    ...pausesOf(change),
    ...(change.commands.size === 0 ? {} : { commands: { put: [...change.commands.values()] } }),
    ...(change.terms.size === 0 ? {} : { terms: [...change.terms.values()] }),
    ...(change.bulk === null ? {} : { bulk: bulkDelta(change.bulk) }),
    ...(change.failures.length === 0 ? {} : { failures: change.failures }),
    events: change.events.map(eventRow),
  }
}

function bulkDelta({ operations, items, trees }: BulkChanges): BulkDelta {
  return { operations: [...operations.values()], items: [...items.values()], trees: [...trees] }
}

function pausesOf({ pauses, overPauses, parked }: WorkingSet): Pick<Delta, 'pauses' | 'parked'> {
  if (pauses.size === 0 && overPauses.length === 0 && parked.size === 0) return {}
  return { pauses: { put: [...pauses.values()], remove: overPauses }, parked: [...parked.values()] }
}

function debouncesOf({ debounces }: WorkingSet): NonNullable<Delta['debounces']> {
  return {
    put: [...debounces.values()].filter((row) => row !== null),
    remove: [...debounces].flatMap(([key, row]) => (row === null ? [key] : [])),
  }
}

/** Literal items are stored completely: later portions need them, and so does a retry of this instance. */
function freezeLiterals(change: WorkingSet, member: Member): void {
  for (const [key, { values }] of member.items) {
    if (!key.endsWith('/0')) continue
    freezeItems(change, member, key.slice(0, -2), 0, 0, values)
  }
}
