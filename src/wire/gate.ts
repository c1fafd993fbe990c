/** Gates: their requirements, the votes, and the missing votes. */
import { type Vote as CastVote, type GateView, votesOf } from '../model/gates.ts'
import type { GateRow } from '../model/rows.ts'
import { isOmitted } from '../model/shown.ts'
import {
  anything,
  flag,
  list,
  time as moment,
  named,
  nullable,
  object,
  oneOf,
  text,
  uuid,
  type Value,
  whole,
  word,
} from './schema.ts'
import { rows, shown, time } from './value.ts'

export const GATE_STATES = ['open', 'approved', 'rejected', 'closed'] as const

const Vote = named(
  'GateVote',
  object({
    by: nullable(text()),
    roles: list(text()),
    at: moment(),
    approved: flag(),
    answer: anything('null: none.'),
    reason: nullable(text()),
    link: nullable(uuid('The link it was sent by.')),
  }),
)

const VOTES = list(Vote, 'Oldest first.')
const Omitted = object({ $omitted: object({ bytes: whole(), href: text('Where the value is shown whole.') }) })

const GATE = {
  id: uuid(),
  instance_id: uuid(),
  node: text(),
  state: word(GATE_STATES),
  options: anything('As in the definition.'),
  args: anything('A description of the decision.'),
  due_at: nullable(moment('The decision if there is no vote before the deadline.')),
  on_timeout: word(['approve', 'reject']),
  answer: anything('The result of the deciding approval.'),
  answered_by: nullable(text()),
  reason: nullable(text()),
  votes: oneOf([VOTES, Omitted]),
  escalated: whole('Stages of its escalation that have begun.'),
  escalates_at: nullable(moment('When the next one begins.')),
  created_at: moment(),
  answered_at: nullable(moment()),
}

export const Gate = named('Gate', object(GATE))

export function gateWire(row: GateRow): Value<typeof Gate> {
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
    votes: isOmitted(row.votes) ? (shown(row.votes, href) as Value<typeof Omitted>) : votesOf(row).map(voteWire),
    escalated: row.escalated,
    escalates_at: row.state === 'open' ? time(row.escalateAt) : null,
    created_at: time(row.createdAt),
    answered_at: time(row.answeredAt),
  }
}

function voteWire({ by, roles, at, approved, answer = null, reason, link }: CastVote): Value<typeof Vote> {
  return { by, roles, at: time(at), approved, answer, reason, link }
}

export const GateDetail = named(
  'GateView',
  object({
    ...GATE,
    title: nullable(text()),
    description: nullable(text()),
    form: anything('JSON Schema of the answer; null: none.'),
    instance: object({ id: uuid(), name: text(), state: text(), root_id: uuid() }),
    standing: object({
      quorum: whole('Approvals needed.'),
      seats: whole('The number of possible votes.'),
      approvals: whole(),
      rejections: whole(),
      missing: nullable(
        object(
          {
            approvals: whole('Still needed.'),
            names: nullable(list(text(), 'Named voters who have not voted.')),
            roles: nullable(list(text(), 'Any of these roles permits a vote.')),
          },
          'Approvals that are still needed, and from whom: named voters, voters with one of the roles, or any voter. null: it is decided.',
        ),
      ),
      excluded: list(text(), 'Initiators, who may not decide.'),
    }),
  }),
)

export const GateList = named(
  'GateList',
  object({ gates: rows(Gate), next_before: nullable(uuid('Send it as `before`.')) }),
)

/** With its progress: the required and the missing votes. */
export function gateViewWire({ gate, instance, standing }: GateView): Value<typeof GateDetail> {
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
      missing: gate.state === 'open' ? { approvals: quorum - approvals, names: missing, roles } : null,
      excluded,
    },
  }
}
