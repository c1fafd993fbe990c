/** Gates: what they ask, the votes, and what is still missing. */
import { type GateView, type Vote, votesOf } from '../model/gates.ts'
import type { GateRow } from '../model/rows.ts'
import { isOmitted } from '../model/shown.ts'
import { shown, time, type Wire } from './value.ts'

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
