/** Rows as /v1 and `--json` show them: one shape for both, names in snake_case, times as RFC 3339. */
import type { GateView, InstanceView } from '../engine/api.ts'
import { type Vote, votesOf } from '../engine/fold/votes.ts'
import type { Faults } from '../engine/transaction/faults.ts'
import { placeholder } from '../http/json-text.ts'
import { shownStored } from '../kernel/json-limits.ts'
import { unscopedName } from '../kernel/scoped-names.ts'
import type { GateRow, InstanceRow, RunRow, StoredEvent } from '../model/rows.ts'
import { isOmitted } from '../model/shown.ts'
import type { InstanceState } from '../net/marking.ts'

export const STATES: readonly InstanceState[] = [
  'idle',
  'queued',
  'running',
  'waiting',
  'cancelling',
  'compensating',
  'completed',
  'failed',
  'cancelled',
  'compensated',
]

export type Wire = { readonly [key: string]: unknown }

/** Rows one by one: for one that cannot be shown there is an entry with its id and the code `unreadable`. */
export function wireEach<R extends { readonly id: string | number }>(
  faults: Faults,
  rows: readonly R[],
  wire: (row: R) => Wire,
): readonly Wire[] {
  return rows.map((row) => {
    try {
      return wire(row)
    } catch (error) {
      faults.note('unreadable_row', String(row.id), error)
      return { id: row.id, ...placeholder(error) }
    }
  })
}

export function instanceWire(row: InstanceRow): Wire {
  return {
    id: row.id,
    name: row.name,
    dialect: row.dialect,
    state: row.state,
    outcome: row.outcome,
    phase: row.phase,
    reason: row.reason,
    root_id: row.rootId,
    parent_id: row.parentId,
    parent_node: row.parentNode,
    retry_of: row.retryOf,
    tenant: row.tenant,
    start_key: unscopedName(row.startKey),
    net: row.netHash,
    open: row.open,
    waiting_gates: row.gates,
    held_tokens: row.held,
    succeeded: row.succeeded,
    failed: row.failed,
    created_at: time(row.createdAt),
    started_at: time(row.startedAt),
    ended_at: time(row.endedAt),
    deadline_at: time(row.deadlineAt),
  }
}

export function runWire(row: RunRow): Wire {
  return {
    id: row.id,
    type: row.type,
    queue: row.queue,
    status: row.status,
    instance_id: row.instanceId,
    node: row.node,
    item: row.item < 0 ? null : row.item,
    role: row.role,
    attempt: row.attempt,
    max_attempts: row.maxAttempts,
    priority: row.priority,
    deferred: row.deferred,
    unknown: row.unknown,
    dead_letter: row.deadLetter,
    run_at: time(row.runAt),
    created_at: time(row.createdAt),
    started_at: time(row.startedAt),
    finished_at: time(row.finishedAt),
    leased_by: unscopedName(row.leasedBy),
    error: json(row.error) ?? (row.lastError === null ? null : { code: 'error', message: row.lastError }),
    result: shown(row.result, `/v1/runs/${row.id}`),
  }
}

export function gateWire(row: GateRow): Wire {
  const href = `/v1/gates/${row.id}`
  return {
    id: row.id,
    instance_id: row.instanceId,
    node: row.node,
    state: row.state,
    options: shown(row.options, href),
    args: shown(row.args, href),
    due_at: time(row.dueAt),
    on_timeout: row.onTimeout,
    answer: shown(row.answer, href),
    answered_by: row.answeredBy,
    reason: row.reason,
    votes: isOmitted(row.votes) ? shown(row.votes, href) : votesOf(row).map(voteWire),
    escalated: row.escalated,
    escalates_at: row.state === 'open' ? time(row.escalateAt) : null,
    created_at: time(row.createdAt),
    answered_at: time(row.answeredAt),
  }
}

function voteWire({ by, roles, at, approved, answer = null, reason, link }: Vote): Wire {
  return { by, roles, at: time(at), approved, answer, reason, link }
}

/** With how it stands: what it takes, and who is still missing. */
export function gateViewWire({ gate, instance, standing }: GateView): Wire {
  const { options, quorum, seats, approvals, rejections, roles, missing, excluded } = standing
  return {
    ...gateWire(gate),
    title: options.title ?? null,
    description: options.description ?? null,
    form: options.form ?? null,
    instance: { id: instance.id, name: instance.name, state: instance.state, root_id: instance.rootId },
    standing: {
      quorum,
      seats,
      approvals,
      rejections,
      /** Approvals that are still needed, and of whom: those named, anybody with one of the roles, or simply anybody. */
      missing: gate.state === 'open' ? { approvals: quorum - approvals, names: missing, roles } : null,
      excluded,
    },
  }
}

export function eventWire(event: StoredEvent): Wire {
  return {
    seq: event.seq,
    type: event.type,
    at: time(event.at),
    instance_id: event.instanceId,
    run_id: event.runId,
    node: event.node,
    actor: event.actor,
    data: json(event.data),
  }
}

export function viewWire(view: InstanceView): Wire {
  return {
    instance: instanceWire(view.instance),
    error: view.error,
    undo_error: view.undoError,
    runs: view.runs.map(runWire),
    gates: view.gates.map(gateWire),
    children: view.children.map(instanceWire),
  }
}

/** A stored value in a list or a view. One that was left out says how long it is and where it can be read whole. */
export function shown(text: string | null, href: string): unknown {
  const value = json(text)
  if (!isOmitted(text)) return value
  return { $omitted: { ...(value as { readonly $omitted: object }).$omitted, href } }
}

/** null also for a time beyond those that RFC 3339 has. */
export function time(at: number | null): string | null {
  return at === null || Math.abs(at) > LAST ? null : new Date(at).toISOString()
}

const LAST = 8_640_000_000_000_000

/** Stored JSON text as its value; text that is not JSON (written by a foreign client) as the text it is. */
export function json(text: string | null): unknown {
  if (text === null) return null
  try {
    return shownStored(text)
  } catch {
    return text
  }
}
