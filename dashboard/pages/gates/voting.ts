/** Who may vote at a gate, and its votes as seats: as the server decides it, for display and for the list of "mine". */
import type { Answer } from '../../api/answer.ts'

export type GateDetail = Answer<'GET /v1/gates/:id'>['gate']
export type Vote = Extract<GateDetail['votes'], readonly unknown[]>[number]
/** What lists of gates have, too. */
export type VotableGate = Pick<GateDetail, 'state' | 'options' | 'votes' | 'escalated' | 'due_at'>

export interface Voter {
  readonly subject: string | null
  readonly roles: readonly string[]
}

interface Stage {
  readonly after: number
  readonly roles?: readonly string[]
}

export interface Terms {
  readonly title: string | null
  readonly quorum: number
  /** How many votes are possible. */
  readonly seats: number
  /** Any of these roles, those of begun escalations included; null: no role is needed. */
  readonly roles: readonly string[] | null
  readonly escalatedRoles: readonly string[]
  readonly names: readonly string[] | null
  readonly stages: readonly Stage[]
}

interface Options {
  readonly title?: unknown
  readonly quorum?: number
  readonly of?: readonly string[] | number
  readonly roles?: readonly string[]
  readonly escalate?: readonly Stage[]
}

export function termsOf({ options: given, escalated }: Pick<VotableGate, 'options' | 'escalated'>): Terms {
  const options: Options = typeof given === 'object' && given !== null ? given : {}
  const { title, quorum = 1, of, escalate: stages = [] } = options
  const names = Array.isArray(of) ? (of as readonly string[]) : null
  const escalatedRoles = stages.slice(0, escalated).flatMap(({ roles = [] }) => roles)
  const open = options.roles === undefined
  return {
    title: typeof title === 'string' ? title : null,
    quorum,
    seats: Math.max(names?.length ?? (typeof of === 'number' ? of : quorum), quorum),
    roles: open && names === null ? null : [...new Set([...(options.roles ?? []), ...escalatedRoles])],
    escalatedRoles,
    names,
    stages,
  }
}

export function votesOf({ votes }: Pick<VotableGate, 'votes'>): readonly Vote[] {
  return Array.isArray(votes) ? (votes as readonly Vote[]) : []
}

/** null: this person may vote, as far as is known here. The server decides; it also knows who started the workflow. */
export function whyNoVote(gate: VotableGate, { subject, roles }: Voter): string | null {
  if (gate.state !== 'open') return `the gate is already ${gate.state}`
  const before =
    subject === null ? undefined : votesOf(gate).find(({ by }) => by !== null && bare(by) === bare(subject))
  if (before !== undefined) return `you have ${before.approved ? 'approved' : 'rejected'} it`
  const terms = termsOf(gate)
  if (terms.escalatedRoles.some((role) => roles.includes(role))) return null
  if (terms.names !== null && (subject === null || !terms.names.includes(subject))) {
    return `only ${listOf(terms.names)} may vote`
  }
  const needed = requiredRoles(gate)
  if (needed.length === 0 || needed.some((role) => roles.includes(role))) return null
  const have = roles.length === 0 ? 'you have none' : `you have ${listOf(roles)}`
  return `needs ${needed.length === 1 ? 'the role' : 'one of the roles'} ${listOf(terms.roles ?? needed)}; ${have}`
}

/** A name that was not proven counts as the same person. */
function bare(name: string): string {
  return name.replace(/ \(unverified\)$/, '')
}

function requiredRoles({ options }: Pick<VotableGate, 'options'>): readonly string[] {
  return ((options ?? {}) as Options).roles ?? []
}

function listOf(names: readonly string[]): string {
  const shown = names.slice(0, 5).join(', ')
  return names.length > 5 ? `${shown} and ${names.length - 5} more` : shown
}

export interface Seat {
  /** null: it is empty. */
  readonly vote: Vote | null
  /** Who may take an empty one. */
  readonly forWhom: string
}

const MOST_SEATS = 50

/** Filled ones first; at most 50. */
export function seatsOf(gate: VotableGate): readonly Seat[] {
  const votes = votesOf(gate)
  const terms = termsOf(gate)
  const filled = votes.map((vote): Seat => ({ vote, forWhom: '' }))
  if (gate.state !== 'open') return filled.slice(0, MOST_SEATS)
  const missing = terms.names?.filter((name) => !votes.some(({ by }) => by === name)) ?? null
  const forWhom = terms.roles === null || terms.roles.length === 0 ? 'anyone' : terms.roles.join(' or ')
  const empty = Array.from(
    { length: Math.min(MOST_SEATS, Math.max(0, terms.seats - votes.length)) },
    (_, i): Seat => ({ vote: null, forWhom: missing === null ? forWhom : (missing[i] ?? forWhom) }),
  )
  return [...filled, ...empty].slice(0, MOST_SEATS)
}

export interface StageView {
  readonly number: number
  readonly at: number
  readonly roles: readonly string[]
  readonly hasBegun: boolean
}

/** When each stage begins, as planned when the gate opened; the next one is known exactly. */
export function stagesOf(
  gate: Pick<GateDetail, 'options' | 'escalated' | 'escalates_at' | 'created_at'>,
): readonly StageView[] {
  const { stages } = termsOf(gate)
  const next = stages[gate.escalated]
  // While its workflow was paused, the times of a gate stood still: later stages move with the next one.
  const opened =
    gate.escalates_at === null || next === undefined
      ? Date.parse(gate.created_at)
      : Date.parse(gate.escalates_at) - next.after
  return stages.map(({ after, roles = [] }, i) => ({
    number: i + 1,
    at: opened + after,
    roles,
    hasBegun: i < gate.escalated,
  }))
}
